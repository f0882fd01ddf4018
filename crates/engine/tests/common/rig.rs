//! A test array on temporary files, served by a thread of the test.

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parlour_array::organization::{Consistency, NamedOrganization};
use parlour_array::{LogCreation, Operation, Tuning};
use parlour_engine::control::{self, Request};
use parlour_engine::recorder::Recorder;
use parlour_engine::{
    Choice, CreateReport, CreateRequest, OpenArray, OpenError, OpenRequest, ServeError, ServeOptions, Server,
    Stopper,
};
use parlour_units::{Bytes, Sectors};
use serde_json::Value;

use super::Numbers;
use super::host::{Host, HostWatch, host};

/// The number of members of most test arrays. It suits every organization in the table.
pub(crate) const MEMBERS: usize = 4;
/// The length of each member, in bytes.
pub(crate) const LENGTH: u64 = 24 << 20;

pub(crate) fn member_paths(directory: &Path, count: usize) -> Vec<PathBuf> {
    (0..count).map(|number| directory.join(format!("member{number}"))).collect()
}

/// The paths of as many members as an array of tests has: more where the organization needs more.
pub(crate) fn members_of(named: &NamedOrganization, directory: &Path) -> Vec<PathBuf> {
    member_paths(directory, MEMBERS.max(named.least_members().into()))
}

pub(crate) fn request(named: &NamedOrganization, members: &[PathBuf]) -> CreateRequest {
    CreateRequest {
        journals: Vec::new(),
        members: members.to_vec(),
        organization: named.organization,
        checks: named.checks.of(members.len() as u16),
        groups: 1,
        width: None,
        domains: None,
        spares: 0,
        unit: Bytes::kib(16),
        block: None,
        log: LogCreation { segment: Some(Sectors::new(64)), ..LogCreation::default() },
        consistency: Consistency::Bitmap,
        name: "test".into(),
        size: Some(Bytes::new(LENGTH)),
        force: false,
    }
}

pub(crate) fn create(named: &NamedOrganization, members: &[PathBuf]) -> CreateReport {
    parlour_engine::create(&request(named, members)).expect("the array can be created")
}

pub(crate) fn open_request(members: &[PathBuf]) -> OpenRequest {
    // A short time, so that regions are marked clean within the duration of a test.
    let tuning = Tuning {
        clean_after: parlour_units::Duration::from_millis(200),
        host_memory: Sectors::new(4_096),
        ..Tuning::default()
    };
    OpenRequest {
        members: members.to_vec(),
        read_only: false,
        force: false,
        tuning,
        io: Choice::Auto,
        access_timeout: parlour_engine::ACCESS_TIMEOUT,
        recorded: true,
    }
}

pub(crate) fn open(members: &[PathBuf]) -> Result<OpenArray, OpenError> {
    parlour_engine::open(&open_request(members))
}

/// An array that is being served.
pub(crate) struct Served {
    pub(crate) host: Host,
    pub(crate) control: PathBuf,
    pub(crate) events: Arc<Mutex<Vec<String>>>,
    pub(crate) capacity: u64,
    stopper: Stopper,
    thread: JoinHandle<Result<(), ServeError>>,
}

pub(crate) fn serve(members: &[PathBuf]) -> Served {
    serve_open(open(members).expect("the array can be opened"), None)
}

pub(crate) fn serve_open(open: OpenArray, recorder: Option<Recorder>) -> Served {
    serve_watched(open, ServeOptions { recorder, ..ServeOptions::default() }, None)
}

/// Serves with `options` and a control socket; `watch` observes hosts' requests.
pub(crate) fn serve_watched(
    open: OpenArray,
    options: ServeOptions,
    watch: Option<Arc<dyn HostWatch>>,
) -> Served {
    let (host, double) = host(watch);
    let (control, capacity) = (open.control_path(), open.geometry().capacity().bytes().get());
    let options = ServeOptions { control: Some(control.clone()), ..options };
    let mut server = Server::new(open, double, options).expect("the array can be served");
    let stopper = server.stopper();
    let events = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&events);
    let thread = std::thread::spawn(move || {
        server.run(&mut |pulse| heard.lock().expect("no test panics here").extend_from_slice(pulse.events))
    });
    Served { host, control, events, capacity, stopper, thread }
}

impl Served {
    /// Stops the server cleanly.
    pub(crate) fn stop(self) {
        self.stopper.request_stop();
        self.thread.join().expect("the server does not panic").expect("the server ends well");
    }

    /// Ends the server without a shutdown, in whatever state it is.
    pub(crate) fn abandon(self) {
        self.host.kill();
        // The server's result does not matter here.
        let _ = self.thread.join();
    }

    /// Ends the server without a shutdown.
    pub(crate) fn kill(self) {
        self.host.kill();
        self.thread.join().expect("the server does not panic").expect_err("it was killed");
    }

    /// Waits for a server that ends by itself. Returns its result, and its events.
    pub(crate) fn ended(self) -> (Result<(), ServeError>, String) {
        let ended = self.thread.join().expect("the server does not panic");
        let story = self.events.lock().expect("no test panics here").join("\n");
        (ended, story)
    }

    /// Waits for a server that another client has stopped.
    pub(crate) fn join(self) {
        self.thread.join().expect("the server does not panic").expect("the server ends well");
    }

    pub(crate) fn command(&self, request: &Request) -> Result<Value, control::ControlError> {
        control::call(&self.control, request).map(|response| response.ok)
    }

    pub(crate) fn status(&self) -> Value {
        self.command(&Request::Status).expect("the server tells its state")
    }

    /// Waits until the status meets the condition.
    pub(crate) fn until(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let status = self.status();
            if holds(&status) {
                return status;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{what} does not come: {status:#}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn until_redundant(&self) {
        self.until("redundancy", |status| {
            let members = status["members"].as_array().expect("members are listed");
            members.iter().all(|member| member["state"] == "active")
                && status["rebuild"].is_null()
                && status["resync"].is_null()
        });
    }

    /// Scrubs, and checks that there are no mismatches.
    pub(crate) fn assert_consistent(&self) {
        let repair = control::Repairing::Nothing;
        self.command(&Request::Scrub { repair }).expect("a scrub begins");
        let status = self
            .until("the scrub's end", |status| status["scrub"].is_null() && !status["last_scrub"].is_null());
        let report = &status["last_scrub"];
        assert_eq!(report["complete"], true, "{report:#}");
        for fault in ["mismatches", "unreadable", "skipped"] {
            assert_eq!(report[fault], 0, "{fault}: {report:#}");
        }
    }

    pub(crate) fn heard(&self, words: &str) -> bool {
        self.story().contains(words)
    }

    /// Returns the events, one per line.
    pub(crate) fn story(&self) -> String {
        // When this command is answered, all earlier events have been reported.
        self.status();
        self.events.lock().expect("no test panics here").join("\n")
    }
}

/// The expected content of the array.
pub(crate) struct Reference {
    pub(crate) bytes: Vec<u8>,
    pub(crate) numbers: Numbers,
}

/// The requests of one burst.
pub(crate) const BURST: usize = 12;
/// The longest request, in sectors.
const LONGEST: u64 = 200;

impl Reference {
    pub(crate) fn new(served: &Served, seed: u64) -> Reference {
        Reference { bytes: vec![0; served.capacity as usize], numbers: Numbers::new(seed) }
    }

    /// Writes, zeroes, reads and flushes at random, several requests at once, and checks the
    /// content of reads.
    pub(crate) fn exercise(&mut self, served: &Served, bursts: usize) {
        for _ in 0..bursts {
            self.burst(served);
        }
        served.host.flush().expect("a flush succeeds");
    }

    fn burst(&mut self, served: &Served) {
        let (reply, answers) = channel();
        let mut ranges: Vec<(u64, u64, bool)> = Vec::new();
        while ranges.len() < BURST {
            let (at, length) = self.range();
            // Requests that are under way at the same time must not overlap.
            if ranges.iter().any(|(other, size, _)| at < other + size && *other < at + length) {
                continue;
            }
            let range = at as usize..(at + length) as usize;
            let kind = self.numbers.below(10);
            if kind < 6 {
                self.numbers.fill(&mut self.bytes[range.clone()]);
                let durable = kind == 0;
                let payload = &self.bytes[range];
                served.host.post(ranges.len(), Operation::Write { durable }, (at, length), payload, &reply);
            } else if kind == 6 {
                self.bytes[range].fill(0);
                let zeroes = Operation::WriteZeroes { may_unmap: true, fast_only: false, durable: false };
                served.host.post(ranges.len(), zeroes, (at, length), &[], &reply);
            } else {
                served.host.post(ranges.len(), Operation::Read, (at, length), &[], &reply);
            }
            ranges.push((at, length, kind > 6));
        }
        drop(reply);
        for _ in 0..ranges.len() {
            let (tag, answer) = answers.recv_timeout(Duration::from_secs(60)).expect("an answer in a minute");
            let (at, length, reads) = ranges[tag];
            let payload = answer.expect("the request succeeds");
            if reads {
                self.compare(at, &payload, length);
            }
        }
    }

    fn range(&mut self) -> (u64, u64) {
        let sectors = self.bytes.len() as u64 / 512;
        let length = match self.numbers.below(4) {
            0 => 8,
            1 => self.numbers.below(16) + 1,
            2 => 32 * (self.numbers.below(6) + 1),
            _ => self.numbers.below(LONGEST) + 1,
        };
        // Mostly in the first part, so that the same stripes are written repeatedly.
        let span = if self.numbers.below(3) == 0 { sectors } else { sectors / 8 };
        (self.numbers.below(span - length) * 512, length * 512)
    }

    fn compare(&self, at: u64, payload: &[u8], length: u64) {
        assert_eq!(payload.len() as u64, length);
        let expected = &self.bytes[at as usize..(at + length) as usize];
        if let Some(first) = payload.iter().zip(expected).position(|(a, b)| a != b) {
            let wrong = payload.chunks(512).zip(expected.chunks(512)).filter(|(a, b)| a != b).count();
            let zero = payload[first..].iter().take(512).all(|byte| *byte == 0);
            panic!(
                "byte {} reads wrong ({wrong} of {} sectors of a read at {at}; zeroes: {zero})",
                at + first as u64,
                length / 512
            );
        }
    }

    /// Reads the whole array and compares its content.
    pub(crate) fn verify(&self, served: &Served) {
        let step = 256 << 10;
        for at in (0..self.bytes.len()).step_by(step) {
            let length = step.min(self.bytes.len() - at);
            let payload = served.host.read(at as u64, length).expect("a read succeeds");
            self.compare(at as u64, &payload, length as u64);
        }
    }
}
