//! Random lives of arrays: an array is written, stopped and killed, loses a member while hosts work
//! (it is failed, or its file is truncated), gets a new member, and must always hold what was
//! written.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::spawn;
use std::time::Duration;

use crate::common::host::HostWatch;
use crate::common::rig::{
    BURST, LENGTH, MEMBERS, Reference, Served, members_of, open_request, request, serve_watched,
};
use crate::common::{Numbers, on_disk, on_memory, ways};
use parlour_array::organization::{Code, NAMED, NamedOrganization};
use parlour_array::{LogPool, RequestError};
use parlour_engine::control::{Request, call};
use parlour_engine::{OpenRequest, ServeOptions};
use parlour_units::{Bytes, Sectors};
use tempfile::TempDir;

const SEEDS: std::ops::Range<u64> = 1..13;
const STEPS: usize = 10;
/// The bursts of requests during which a member is lost.
const BURSTS: usize = 10;

/// Counts hosts' requests, and tells when there were enough.
#[derive(Default)]
struct Count {
    begun: Mutex<u64>,
    more: Condvar,
}

impl Count {
    fn begun(&self) -> u64 {
        *self.begun.lock().expect("no test panics here")
    }

    /// Waits until this many requests have been submitted to the array.
    fn wait_for(&self, enough: u64) {
        let begun = self.begun.lock().expect("no test panics here");
        let patience = Duration::from_secs(60);
        let (begun, _) = self
            .more
            .wait_timeout_while(begun, patience, |begun| *begun < enough)
            .expect("no test panics here");
        assert!(*begun >= enough, "only {begun} of {enough} requests have begun");
    }
}

impl HostWatch for Count {
    fn begins(&self, _tag: usize) {
        *self.begun.lock().expect("no test panics here") += 1;
        self.more.notify_all();
    }

    fn ends(&self, _tag: usize, _answer: &Result<Vec<u8>, RequestError>) {}
}

struct Life {
    directory: TempDir,
    members: Vec<PathBuf>,
    numbers: Numbers,
    count: Arc<Count>,
    /// Whether every member is present.
    whole: bool,
    joining_members: u32,
}

#[test]
fn what_was_written_is_read_through_whole_lives() {
    let redundant: Vec<&NamedOrganization> =
        NAMED.iter().filter(|named| named.organization.code != Code::None).collect();
    for seed in SEEDS {
        let mut life = Life::begin(seed, redundant[seed as usize % redundant.len()]);
        let mut served = life.serve();
        let mut reference = Reference::new(&served, seed);
        for step in 0..STEPS {
            eprintln!("seed {seed} step {step}");
            served = life.step(served, &mut reference);
            reference.verify(&served);
        }
        served = life.mend(served, &mut reference);
        served.until_redundant();
        served.assert_consistent();
        reference.verify(&served);
        served.stop();
    }
}

impl Life {
    fn begin(seed: u64, named: &NamedOrganization) -> Life {
        let mut numbers = Numbers::new(seed);
        let disk = numbers.below(4) == 0;
        let directory = on_memory().filter(|_| !disk).unwrap_or_else(on_disk);
        let members = members_of(named, directory.path());
        let mut wish = request(named, &members);
        wish.unit = Bytes::kib([4, 16, 24, 64, 512][numbers.below(5) as usize]);
        wish.log.ratio = Some([0.1, 0.5, 1.0][numbers.below(3) as usize]);
        eprintln!("seed {seed}: {} with units of {}, {:?}", named.name, wish.unit, wish.log);
        parlour_engine::create(&wish).expect("it can be created");
        Life { directory, members, numbers, count: Arc::default(), whole: true, joining_members: 0 }
    }

    /// Serves with so little memory that some requests have to wait at times.
    fn serve(&mut self) -> Served {
        let mut request: OpenRequest = open_request(&self.members);
        let tuning = &mut request.tuning;
        let numbers = &mut self.numbers;
        let mut sometimes = |value: u64| (numbers.below(3) == 0).then_some(Sectors::new(value));
        tuning.log_memory = sometimes(512).unwrap_or(tuning.log_memory);
        tuning.reintegration_memory = sometimes(1_024).unwrap_or(tuning.reintegration_memory);
        tuning.scratch_memory = sometimes(8_192).unwrap_or(tuning.scratch_memory);
        tuning.slice = sometimes(16).unwrap_or(tuning.slice);
        tuning.preread_cache = sometimes(2_048).unwrap_or(tuning.preread_cache);
        tuning.log_pool = sometimes(1).map_or(tuning.log_pool, |_| LogPool::Static);
        tuning.live_records = sometimes(200).map_or(tuning.live_records, Sectors::get);
        let ways = ways();
        request.io = ways[self.numbers.below(ways.len() as u64) as usize];
        let open = parlour_engine::open(&request).expect("it opens");
        serve_watched(open, ServeOptions::default(), Some(Arc::clone(&self.count) as _))
    }

    fn step(&mut self, served: Served, reference: &mut Reference) -> Served {
        match self.numbers.below(6) {
            0 if self.whole => {
                reference.exercise(&served, 5);
                served.kill();
                self.serve()
            }
            1 => {
                served.stop();
                self.serve()
            }
            2 if self.whole => {
                served.until_redundant();
                self.lose_a_member(&served, reference);
                served
            }
            3 => self.mend(served, reference),
            _ => {
                reference.exercise(&served, 10);
                served
            }
        }
    }

    /// A member is lost while hosts write.
    fn lose_a_member(&mut self, served: &Served, reference: &mut Reference) {
        let victim = self.numbers.below(MEMBERS as u64) as u16;
        let when = self.count.begun() + self.numbers.below((BURSTS * BURST) as u64);
        let truncate = self.numbers.below(2) == 0;
        let (control, path) = (served.control.clone(), self.members[usize::from(victim)].clone());
        let count = Arc::clone(&self.count);
        let loss = spawn(move || {
            count.wait_for(when);
            if truncate {
                let file = OpenOptions::new().write(true).open(path).expect("it is there");
                file.set_len(0).expect("it can be truncated");
            } else {
                call(&control, &Request::Fail { member: victim, force: false }).expect("it is failed");
            }
        });
        reference.exercise(served, BURSTS);
        loss.join().expect("it is lost");
        reference.exercise(served, 5);
        // A truncated member that was not accessed since is failed by a command.
        if served.status()["members"][usize::from(victim)]["state"] == "active" {
            served.command(&Request::Fail { member: victim, force: false }).expect("it is failed");
        }
        self.whole = false;
    }

    /// A new member replaces the lost one; sometimes the server stops in between.
    fn mend(&mut self, served: Served, reference: &mut Reference) -> Served {
        if self.whole {
            return served;
        }
        let status = served.status();
        let members = status["members"].as_array().expect("members are listed");
        let slot = members.iter().position(|member| member["state"] == "failed").expect("one is failed");
        self.joining_members += 1;
        let path = new_file(self.directory.path(), self.joining_members);
        let replace = Request::Replace { member: slot as u16, path: path.clone(), force: false };
        served.command(&replace).expect("it is replaced");
        self.members[slot] = path;
        reference.exercise(&served, 5);
        let again = self.numbers.below(2) == 0;
        let served = if again {
            served.stop();
            self.serve()
        } else {
            served
        };
        served.until_redundant();
        served.assert_consistent();
        self.whole = true;
        served
    }
}

fn new_file(directory: &Path, number: u32) -> PathBuf {
    let path = directory.join(format!("joining{number}"));
    File::create_new(&path).and_then(|file| file.set_len(LENGTH)).expect("a new file");
    path
}
