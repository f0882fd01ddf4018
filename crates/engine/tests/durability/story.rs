//! The stories: sequences of actions by hosts and administrators while the journal is recorded.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use parlour_array::organization::{Consistency, Organization};
use parlour_array::{LogCreation, Operation, RequestError};
use parlour_engine::control::{Repairing, Request as Command};
use parlour_engine::{Choice, OpenArray, OpenError, OpenRequest, ServeOptions};
use parlour_units::{Bytes, Sectors};
use serde_json::Value as Json;

use crate::common::Numbers;
use crate::common::host::Reply;
use crate::common::rig::{Served, open_request, request, serve_watched};
use crate::content::{self, SECTOR, Value, ZEROES};
use crate::journal::{Journal, Kind, Slow};

/// An array for stories.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) row: &'static str,
    pub(crate) consistency: Consistency,
    pub(crate) members: usize,
    /// The length of each member, in MiB.
    pub(crate) length: u64,
    pub(crate) sublogs: u16,
}

const fn setup(row: &'static str, consistency: Consistency, members: usize, length: u64) -> Setup {
    Setup { row, consistency, members, length, sublogs: 1 }
}

pub(crate) const RAID1: Setup = setup("raid1", Consistency::Bitmap, 3, 3);
pub(crate) const RAID5: Setup = setup("raid5", Consistency::Bitmap, 4, 3);
pub(crate) const RESYNCED: Setup = setup("parity-logging", Consistency::Bitmap, 4, 4);
pub(crate) const LOGGED: Setup = setup("parity-logging", Consistency::Journal, 4, 4);
pub(crate) const TWO_SUBLOGS: Setup =
    Setup { sublogs: 2, ..setup("parity-logging", Consistency::Journal, 5, 4) };

/// The stripe unit in sectors.
pub(crate) const UNIT: usize = 8;

/// A story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Story {
    /// Hosts write, pause, write again, and the array is stopped.
    Peace,
    /// A member is lost and replaced while hosts write.
    Loss,
    /// A member is lost and replaced while hosts wait, after they have written to one region.
    QuietLoss,
}

impl Setup {
    pub(crate) fn is_logged(self) -> bool {
        self.consistency == Consistency::Journal
    }

    /// Whether each member has a unit of each stripe. With a parity log, some members hold only a
    /// log.
    pub(crate) fn stripes_span_all_members(self) -> bool {
        self.row != "parity-logging"
    }

    /// The number of data sectors in a stripe.
    pub(crate) fn stripe(self) -> usize {
        let check_units = if self.row == "raid5" { 1 } else { 1 + usize::from(self.sublogs) };
        let data_units = if self.row == "raid1" { 1 } else { self.members - check_units };
        data_units * UNIT
    }

    pub(crate) fn create(self, members: &[PathBuf]) {
        let row = Organization::named(self.row).expect("it is in the table");
        let log = LogCreation {
            segment: Some(Sectors::new(16)),
            regions: Some(2 * self.members as u32),
            sublogs: (self.row == "parity-logging").then_some(self.sublogs),
            ..LogCreation::default()
        };
        let wish = parlour_engine::CreateRequest {
            journals: Vec::new(),
            unit: Sectors::new(UNIT as u64).bytes(),
            block: Some(Bytes::new(512)),
            log,
            consistency: self.consistency,
            size: Some(Bytes::mib(self.length)),
            ..request(row, members)
        };
        parlour_engine::create(&wish).expect("the array can be created");
    }

    /// Opens the array with limits so small that a short session exercises all its functions.
    pub(crate) fn open(self, members: &[PathBuf], io: Choice, force: bool) -> Result<OpenArray, OpenError> {
        let mut request = OpenRequest { io, force, ..open_request(members) };
        let tuning = &mut request.tuning;
        tuning.clean_after = parlour_units::Duration::from_millis(10);
        tuning.log_memory = Sectors::new(16 * 6);
        tuning.reintegration_memory = Sectors::new(96);
        tuning.live_records = 200;
        tuning.checkpoint = Sectors::new(64);
        tuning.maintenance_depth = 4;
        parlour_engine::open(&request)
    }
}

/// An empty journal for an opened array that will be served with the backend `io`.
pub(crate) fn journal_of(open: &OpenArray, io: Choice, slow: Slow) -> Arc<Journal> {
    Arc::new(Journal::new(io, slow, open.geometry().commit_log().0.bytes()))
}

/// Serves `open` while `journal` is recorded.
pub(crate) fn serve(open: OpenArray, journal: &Arc<Journal>) -> Served {
    let options = ServeOptions { witness: Some(Arc::clone(journal) as _), ..ServeOptions::default() };
    serve_watched(open, options, Some(Arc::clone(journal) as _))
}

/// A host whose requests are recorded in the journal.
pub(crate) struct Client<'a> {
    served: &'a Served,
    journal: &'a Arc<Journal>,
    sectors: u64,
    /// The value of the next write.
    value: Value,
    reply: Sender<Reply>,
    answers: Receiver<Reply>,
    in_flight: usize,
    /// Writes go to the first sectors of the array, up to this number.
    pub(crate) span: u64,
}

/// The number of requests under way at once.
const DEPTH: usize = 8;
/// The longest write in sectors.
const LONGEST: u64 = 80;
/// Every answer comes within this time.
const PATIENCE: Duration = Duration::from_secs(30);

impl<'a> Client<'a> {
    pub(crate) fn new(served: &'a Served, journal: &'a Arc<Journal>, first: Value) -> Client<'a> {
        let (reply, answers) = channel();
        let sectors = served.capacity / SECTOR as u64;
        Client { served, journal, sectors, value: first, reply, answers, in_flight: 0, span: sectors }
    }

    /// Writes at random, several requests at once. One in `durable` writes is durable, one in
    /// `flushes` requests is a flush.
    pub(crate) fn write(&mut self, numbers: &mut Numbers, count: usize, durable: u64, flushes: u64) {
        for _ in 0..count {
            while self.in_flight >= DEPTH {
                self.hear();
            }
            if flushes > 0 && numbers.below(flushes) == 0 {
                self.post(Kind::Flush, Operation::Flush, 0, 0, &[]);
                continue;
            }
            let (at, length) = self.range(numbers);
            let durable = durable > 0 && numbers.below(durable) == 0;
            if numbers.below(12) == 0 {
                let zeroes = Operation::WriteZeroes { may_unmap: true, fast_only: false, durable };
                self.post(Kind::Write { value: ZEROES, durable }, zeroes, at, length, &[]);
                continue;
            }
            self.value += 1;
            let mut payload = vec![0; length as usize * SECTOR];
            for (sector, bytes) in (at..).zip(payload.chunks_exact_mut(SECTOR)) {
                content::put(self.value, sector, bytes);
            }
            let kind = Kind::Write { value: self.value, durable };
            self.post(kind, Operation::Write { durable }, at, length, &payload);
        }
    }

    pub(crate) fn flush(&mut self) {
        self.post(Kind::Flush, Operation::Flush, 0, 0, &[]);
    }

    /// Waits for all answers.
    pub(crate) fn drain(&mut self) {
        while self.in_flight > 0 {
            self.hear();
        }
    }

    fn range(&self, numbers: &mut Numbers) -> (u64, u64) {
        let length = match numbers.below(8) {
            0..4 => 1 + numbers.below(8),
            4..6 => 8,
            6 => 1 + numbers.below(32),
            _ => 1 + numbers.below(LONGEST),
        };
        // Mostly in the first part, so that the same stripes are written repeatedly.
        let span = if numbers.below(3) == 0 { self.span } else { self.span / 8 }.max(2 * LONGEST);
        (numbers.below(span - length), length)
    }

    fn post(&mut self, kind: Kind, operation: Operation, at: u64, length: u64, payload: &[u8]) {
        let tag = self.journal.add_request(kind, at, length);
        let bytes = |sectors: u64| sectors * SECTOR as u64;
        self.served.host.post(tag, operation, (bytes(at), bytes(length)), payload, &self.reply);
        self.in_flight += 1;
    }

    fn hear(&mut self) {
        let (_, answer) = self.answers.recv_timeout(PATIENCE).expect("an answer");
        answer.expect("the request succeeds");
        self.in_flight -= 1;
    }

    /// Reads the whole array in order, and returns the value of each sector.
    pub(crate) fn read_all(&mut self) -> Vec<Value> {
        const STEP: u64 = 512;
        let mut found = vec![content::STRANGE; self.sectors as usize];
        let mut at_of = Vec::new();
        for at in (0..self.sectors).step_by(STEP as usize) {
            let length = STEP.min(self.sectors - at);
            let tag = self.journal.add_request(Kind::Read, at, length);
            at_of.push((tag, at));
            let range = (at * SECTOR as u64, length * SECTOR as u64);
            self.served.host.post(tag, Operation::Read, range, &[], &self.reply);
        }
        let mut unread = Vec::new();
        for _ in 0..at_of.len() {
            let (tag, answer) = self.answers.recv_timeout(PATIENCE).expect("an answer");
            let (_, at) = *at_of.iter().find(|(other, _)| *other == tag).expect("it was posted");
            match answer {
                Ok(bytes) => {
                    for (sector, bytes) in (at..).zip(bytes.chunks_exact(SECTOR)) {
                        found[sector as usize] = content::of(sector, bytes);
                    }
                }
                Err(RequestError::Lost) => unread.extend(at..(at + STEP).min(self.sectors)),
                Err(error) => panic!("the read succeeds: {error:?}"),
            }
        }
        for sector in unread {
            found[sector as usize] = self.read_one(sector);
        }
        found
    }

    /// Reads one sector.
    fn read_one(&mut self, sector: u64) -> Value {
        let tag = self.journal.add_request(Kind::Read, sector, 1);
        let range = (sector * SECTOR as u64, SECTOR as u64);
        self.served.host.post(tag, Operation::Read, range, &[], &self.reply);
        let (_, answer) = self.answers.recv_timeout(PATIENCE).expect("an answer");
        match answer {
            Ok(bytes) => content::of(sector, &bytes),
            Err(RequestError::Lost) => content::LOST,
            Err(error) => panic!("the read succeeds: {error:?}"),
        }
    }
}

/// A story that has been run.
pub(crate) struct Told {
    pub(crate) journal: Arc<Journal>,
    /// The number of sectors of the array's capacity.
    pub(crate) sectors: u64,
}

/// Runs a story on a new array.
pub(crate) fn tell(
    setup: Setup,
    story: Story,
    io: Choice,
    slow: Slow,
    numbers: &mut Numbers,
    directory: &Path,
) -> Told {
    let members: Vec<PathBuf> =
        (0..setup.members).map(|number| directory.join(format!("member{number}"))).collect();
    setup.create(&members);
    let open = setup.open(&members, io, false).expect("the array can be opened");
    let journal = journal_of(&open, io, slow);
    assert_eq!(open.geometry().layout().stripe_data().get(), setup.stripe() as u64);
    for member in &members {
        journal.add_file(member, std::fs::read(member).expect("it is a file"));
    }
    let standing: Vec<usize> = (0..setup.members).collect();
    journal.whole(&standing);
    let served = serve(open, &journal);
    let mut client = Client::new(&served, &journal, 0);
    let sectors = client.sectors;
    if story == Story::QuietLoss {
        // About the size of one region.
        client.span = sectors / 8;
    }
    client.write(numbers, 30, 10, 0);
    match story {
        Story::Peace => peace(&mut client, numbers),
        Story::Loss | Story::QuietLoss => {
            let joining = directory.join("joining");
            let busy = if story == Story::Loss { 60 } else { 0 };
            loss(setup, &mut client, numbers, busy, standing, joining);
        }
    }
    client.write(numbers, 30, 0, 0);
    client.drain();
    served.stop();
    Told { journal, sectors }
}

fn peace(client: &mut Client<'_>, numbers: &mut Numbers) {
    for _ in 0..2 {
        client.write(numbers, 60, 12, 25);
        client.drain();
        idle(client.served);
        client.write(numbers, 40, 0, 0);
        client.drain();
        idle(client.served);
    }
    client.write(numbers, 80, 8, 15);
}

/// Waits until no background work is left.
fn idle(served: &Served) {
    // A scrub reintegrates the logs, because it needs their parity.
    if served.status()["log"].is_object() {
        scrub(served);
    }
    let clean = |status: &Json| status["dirty_regions"] == 0;
    served.until("cleanliness", clean);
}

/// Scrubs, and returns the report.
pub(crate) fn scrub(served: &Served) -> Json {
    served.command(&Command::Scrub { repair: Repairing::Nothing }).expect("a scrub begins");
    let over = |status: &Json| status["scrub"].is_null() && !status["last_scrub"].is_null();
    served.until("the end of the scrub", over)["last_scrub"].clone()
}

/// A member is lost and replaced, while hosts issue `busy` writes.
fn loss(
    setup: Setup,
    client: &mut Client<'_>,
    numbers: &mut Numbers,
    busy: usize,
    mut standing: Vec<usize>,
    joining: PathBuf,
) {
    let lost = numbers.below(setup.members as u64) as usize;
    let journal = Arc::clone(client.journal);
    client.write(numbers, 40, 6, 25);
    journal.degraded(&[lost]);
    let (control, slot) = (client.served.control.clone(), lost as u16);
    let fail = std::thread::spawn(move || {
        parlour_engine::control::call(&control, &Command::Fail { member: slot, force: false })
            .expect("it is failed");
    });
    client.write(numbers, busy, 2, 0);
    fail.join().expect("it was failed");
    journal.excluded();
    client.flush();
    client.write(numbers, busy, 6, 20);
    client.drain();
    let length = Bytes::mib(setup.length).get();
    std::fs::File::create_new(&joining).and_then(|file| file.set_len(length)).expect("a new file");
    standing[lost] = journal.add_file(&joining, vec![0; length as usize]);
    journal.degraded(&[lost, standing[lost]]);
    let replace = Command::Replace { member: slot, path: joining, force: false };
    client.served.command(&replace).expect("it is replaced");
    client.write(numbers, busy, 6, 20);
    client.served.until_redundant();
    journal.whole(&standing);
    client.write(numbers, busy, 6, 20);
}
