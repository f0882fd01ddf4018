//! The hosts: their requests that are under way, and what the answers mean for the oracle.

use std::collections::{BTreeMap, VecDeque};

use parlour_array::RequestError;
use parlour_units::{Duration, Instant};

use crate::content::{SectorBytes, Value};
use crate::oracle::{Oracle, Written};
use crate::random::mix;
use crate::request::{Ask, Range};
use crate::violation::Violation;
use crate::world::{Answer, World};

/// The longest time of a request in virtual time, with any faults of members.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// A request that is not answered yet.
#[derive(Debug)]
struct Open {
    ask: Ask,
    range: Range,
    /// The tick with which the oracle identifies it.
    name: u64,
    since: Instant,
    event: u64,
    /// A member that failed had to be kept since then.
    beside_kept: bool,
}

impl Open {
    fn told(&self) -> String {
        format!("request #{} ({} {} at {})", self.event, self.ask, self.range.length, self.range.at)
    }
}

/// A request that waits for memory for its payload.
#[derive(Debug)]
pub(crate) struct Waiting {
    event: u64,
    ask: Ask,
    range: Range,
}

/// A request that was answered with an error.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) ask: Ask,
    pub(crate) range: Range,
    pub(crate) error: RequestError,
    /// A member that failed had to be kept meanwhile.
    pub(crate) beside_kept: bool,
    told: String,
}

impl Failed {
    /// The violation, if the error is none that the array may answer.
    pub(crate) fn violation(&self) -> Violation {
        Violation::Error { request: self.told.clone(), error: self.error.to_string() }
    }
}

/// The hosts, described in the module's documentation.
#[derive(Debug)]
pub(crate) struct Hosts {
    oracle: Oracle,
    open: BTreeMap<u64, Open>,
    waiting: VecDeque<Waiting>,
    next_tag: u64,
    requests: u64,
    /// A digest of all answers and their times.
    digest: u64,
}

/// Requests.
impl Hosts {
    pub(crate) fn new(oracle: Oracle, seed: u64) -> Hosts {
        Hosts {
            oracle,
            open: BTreeMap::new(),
            waiting: VecDeque::new(),
            next_tag: 0,
            requests: 0,
            digest: seed,
        }
    }

    /// A new request, and its tag. It is to be offered to the array next.
    pub(crate) fn request(&mut self, event: u64, ask: Ask, range: Range) -> (u64, Waiting) {
        self.requests += 1;
        (self.tag(), Waiting { event, ask, range })
    }

    /// A new tag.
    pub(crate) fn tag(&mut self) -> u64 {
        self.next_tag += 1;
        self.next_tag - 1
    }

    /// Submits a request, or queues it until there is memory. Returns whether it was submitted.
    pub(crate) fn offer(&mut self, world: &mut World, tag: u64, request: Waiting) -> Result<bool, Violation> {
        let Waiting { event, ask, range } = request;
        let operation = ask.operation();
        if !world.reserve(tag, operation, range.length) {
            self.waiting.push_back(request);
            return Ok(false);
        }
        let value = Value::written(event);
        let name = match ask {
            Ask::Read => self.oracle.read_begins(),
            Ask::Write { .. } => self.oracle.write_begins(range, value),
            Ask::Zero { .. } | Ask::Trim => self.oracle.write_begins(range, Value::ZERO),
            Ask::Flush => self.oracle.flush_begins(),
        };
        self.open.insert(tag, Open { ask, range, name, since: world.now(), event, beside_kept: false });
        world.submit(tag, operation, range, value)?;
        Ok(true)
    }

    /// Takes the requests that wait for memory.
    pub(crate) fn take_waiting(&mut self) -> VecDeque<Waiting> {
        std::mem::take(&mut self.waiting)
    }

    /// The array was closed: nothing will be answered.
    pub(crate) fn forget(&mut self) {
        self.open.clear();
        self.waiting.clear();
    }

    /// The number of requests so far.
    pub(crate) fn requests(&self) -> u64 {
        self.requests
    }

    /// A digest of all answers and their times.
    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }

    /// Whether requests are under way.
    pub(crate) fn are_busy(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether every request is answered.
    pub(crate) fn rest(&self) -> bool {
        self.open.is_empty() && self.waiting.is_empty()
    }

    /// Whether this request is answered, and no other waits for memory.
    pub(crate) fn have(&self, tag: u64) -> bool {
        !self.open.contains_key(&tag) && self.waiting.is_empty()
    }

    /// The ranges of writes that are under way.
    pub(crate) fn open_writes(&self) -> impl Iterator<Item = Range> + '_ {
        self.open.values().filter(|open| open.ask.changes()).map(|open| open.range)
    }

    /// The first request that is under way, for people.
    pub(crate) fn first_open(&self) -> Option<String> {
        self.open.values().next().map(Open::told)
    }

    /// A few requests that are under way, for people.
    pub(crate) fn some_open(&self) -> Vec<String> {
        self.open.values().take(3).map(Open::told).collect()
    }

    /// Checks that the oldest request does not wait for too long.
    pub(crate) fn are_patient(&self, now: Instant) -> Result<(), Violation> {
        match self.open.values().next().filter(|open| now.since(open.since) > PATIENCE) {
            Some(open) => Err(Violation::Unanswered(open.told())),
            None => Ok(()),
        }
    }
}

/// Answers.
impl Hosts {
    /// Processes an answer, perhaps of `one_copy` to which the others are not yet equal. Returns
    /// the request if it has failed.
    pub(crate) fn answered(
        &mut self,
        world: &mut World,
        Answer { tag, result, sectors }: Answer,
        one_copy: bool,
    ) -> Result<Option<Failed>, Violation> {
        let Some(open) = self.open.remove(&tag) else {
            return Err(Violation::seam(format!("request {tag} is answered, and was not asked")));
        };
        let now = world.now().nanoseconds();
        self.digest = mix(self.digest ^ mix(tag ^ now << 16)) ^ u64::from(result.is_ok());
        world.note(|| format!("host: {} is answered: {result:?}", open.told()));
        let Open { ask, range, beside_kept, .. } = open;
        if let Some(sectors) = self.learn(&open, result.is_ok(), sectors, one_copy)? {
            world.reuse(sectors);
        }
        Ok(result.err().map(|error| Failed { ask, range, error, beside_kept, told: open.told() }))
    }

    /// A member that failed has to be kept: what requests under way were to write on it is lacking.
    pub(crate) fn member_kept(&mut self) {
        self.open.values_mut().for_each(|open| open.beside_kept = true);
    }

    /// Tells the oracle. Returns the memory of what was read.
    fn learn(
        &mut self,
        open: &Open,
        done: bool,
        sectors: Vec<SectorBytes>,
        one_copy: bool,
    ) -> Result<Option<Vec<SectorBytes>>, Violation> {
        let Open { ask, range, name, .. } = *open;
        match ask {
            Ask::Read if done => {
                self.oracle.read_ends(range, name, &sectors, one_copy)?;
                return Ok(Some(sectors));
            }
            Ask::Read => self.oracle.read_fails(name),
            Ask::Write { durable } | Ask::Zero { durable, .. } => {
                let written = match (done, durable) {
                    (false, _) => Written::Perhaps,
                    (true, false) => Written::Done,
                    (true, true) => Written::Durably,
                };
                self.oracle.write_ends(range, name, written);
            }
            Ask::Trim => self.oracle.write_ends(range, name, Written::Perhaps),
            Ask::Flush if done => self.oracle.flush_ends(name),
            Ask::Flush => {}
        }
        Ok(None)
    }

    pub(crate) fn oracle(&self) -> &Oracle {
        &self.oracle
    }

    /// The oracle, to be told what happens to the array.
    pub(crate) fn oracle_mut(&mut self) -> &mut Oracle {
        &mut self.oracle
    }
}
