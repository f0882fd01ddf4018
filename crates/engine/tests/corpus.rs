//! Runs the array's conformance corpus on real files. The cases and the expected results are those
//! of the in-memory world.

mod common;
#[path = "../../array/tests/corpus/mod.rs"]
mod corpus;

use std::path::PathBuf;

use common::rig::{Served, member_paths, open_request, serve_open};
use corpus::combinations::{Combinations, Half};
use parlour_array::{Creation, Geometry, Operation};
use parlour_engine::CreateRequest;
use parlour_engine::control::{Repairing, Request};
use parlour_units::Bytes;
use serde_json::Value;
use tempfile::TempDir;

struct OnFiles {
    directory: TempDir,
    /// Of each member.
    length: Bytes,
    served: Option<Served>,
    members: Vec<PathBuf>,
    /// The accesses of earlier servers, which the current one does not count.
    before: [u64; 2],
}

impl OnFiles {
    fn new(creation: &Creation) -> OnFiles {
        let directory = common::on_memory().unwrap_or_else(common::on_disk);
        let members = member_paths(directory.path(), usize::from(creation.members));
        let request = CreateRequest {
            journals: Vec::new(),
            organization: creation.organization,
            checks: creation.checks,
            groups: creation.groups,
            width: creation.width,
            domains: creation.domains,
            spares: creation.spares,
            unit: creation.unit.bytes(),
            log: creation.log,
            consistency: creation.consistency,
            members: members.clone(),
            block: None,
            name: "corpus".into(),
            size: Some(creation.member_length.bytes()),
            force: false,
        };
        parlour_engine::create(&request).expect("the array can be created");
        let length = creation.member_length.bytes();
        let mut world = OnFiles { directory, length, served: None, members, before: [0; 2] };
        world.open();
        world
    }

    fn open(&mut self) {
        let open = parlour_engine::open(&open_request(&self.members)).expect("the array can be opened");
        self.served = Some(serve_open(open, None));
    }

    fn served(&self) -> &Served {
        self.served.as_ref().expect("it is served")
    }

    fn counted(&self, slot: Option<u16>) -> [u64; 2] {
        let status = self.served().status();
        let members = status["members"].as_array().expect("members are listed");
        let wanted = |member: &&Value| slot.is_none_or(|slot| member["slot"] == slot);
        members.iter().filter(wanted).fold([0, 0], |[reads, writes], member| {
            let hosts = &member["traffic"][0];
            let number = |key: &str| hosts[key].as_u64().expect("traffic is counted");
            [reads + number("reads"), writes + number("writes")]
        })
    }

    fn forget(&mut self, counted: [u64; 2]) {
        self.before = [self.before[0] + counted[0], self.before[1] + counted[1]];
    }
}

impl corpus::World for OnFiles {
    fn write(&mut self, at: u64, bytes: &[u8]) {
        self.served().host.write(at * 512, bytes).expect("a write succeeds");
    }

    fn zero(&mut self, at: u64, length: u64) {
        let zeroes = Operation::WriteZeroes { may_unmap: false, fast_only: false, durable: false };
        self.served().host.ask(zeroes, (at * 512, length * 512), &[]).expect("zeroes are written");
    }

    fn read(&mut self, at: u64, length: u64) -> Vec<u8> {
        self.served().host.read(at * 512, length as usize * 512).expect("a read succeeds")
    }

    fn flush(&mut self) {
        self.served().host.flush().expect("a flush succeeds");
    }

    fn fail(&mut self, slot: u16) {
        self.served().command(&Request::Fail { member: slot, force: false }).expect("it can be done without");
    }

    fn replace(&mut self, slot: u16) {
        self.forget(self.counted(Some(slot)));
        let new = self.directory.path().join(format!("new{slot}"));
        let file = std::fs::File::create(&new).expect("a new file");
        file.set_len(self.length.get()).expect("it has room");
        let request = Request::Replace { member: slot, path: new.clone(), force: false };
        self.served().command(&request).expect("it can be replaced");
        self.members[usize::from(slot)] = new;
        // (Others may still be missing.)
        self.served().until("the member", |status| status["members"][usize::from(slot)]["state"] == "active");
    }

    fn scrub(&mut self) -> u64 {
        self.served().command(&Request::Scrub { repair: Repairing::Nothing }).expect("a scrub begins");
        let done = |status: &Value| status["scrub"].is_null() && !status["last_scrub"].is_null();
        let status = self.served().until("the scrub's end", done);
        status["last_scrub"]["mismatches"].as_u64().expect("mismatches are counted")
    }

    fn restart(&mut self) {
        self.forget(self.counted(None));
        self.served.take().expect("it is served").stop();
        self.open();
    }

    fn member(&mut self, slot: u16) -> Vec<u8> {
        // A hole in a file reads as zeroes; buffered and direct reads agree when all writes have
        // finished.
        self.served().host.flush().expect("a flush succeeds");
        std::fs::read(&self.members[usize::from(slot)]).expect("the member is a file")
    }

    fn accesses(&mut self) -> [u64; 2] {
        let [reads, writes] = self.counted(None);
        [self.before[0] + reads, self.before[1] + writes]
    }
}

impl Drop for OnFiles {
    fn drop(&mut self) {
        if let Some(served) = self.served.take().filter(|_| !std::thread::panicking()) {
            served.stop();
        }
    }
}

#[cfg(not(feature = "planted-bugs"))]
#[test]
fn the_corpus_holds_on_files() {
    corpus::run_all(OnFiles::new);
}

/// Every combination of choices that is admitted where drives do not say where their heads are.
#[test]
fn one_half_of_all_combinations_of_choices_holds_on_files() {
    Combinations::all(Geometry::create).run(Half::First, OnFiles::new);
}

#[test]
fn the_other_half_of_all_combinations_of_choices_holds_on_files() {
    Combinations::all(Geometry::create).run(Half::Second, OnFiles::new);
}

#[cfg(feature = "planted-bugs")]
#[test]
fn a_change_to_a_layout_or_a_plan_fails_the_corpus_on_files() {
    corpus::run_all_with_bugs(OnFiles::new);
}
