//! Tests with members that do not answer: they are excluded after a timeout, or as soon as an
//! administrator fails them, and all other work continues.

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration as Span;

use crate::common::on_disk;
use crate::common::rig::{
    MEMBERS, Reference, Served, create, member_paths, open_request, request, serve_watched,
};
use parlour_array::Operation;
use parlour_array::organization::{Consistency, NamedOrganization, Organization};
use parlour_engine::control::Request;
use parlour_engine::{Change, Choice, OpenRequest, ServeOptions, Witness};
use parlour_units::Duration;

/// Blocks changes of one member, like a system whose device does not answer.
#[derive(Debug, Default)]
struct Obstacle {
    blocked: Mutex<Option<PathBuf>>,
    /// Whether a thread has been blocked since the obstacle was set up.
    met: Mutex<bool>,
    met_by: Condvar,
    changed: Condvar,
}

impl Obstacle {
    fn block(&self, member: &Path) {
        *self.met.lock().expect("no test panics here") = false;
        *self.blocked.lock().expect("no test panics here") = Some(member.into());
    }

    /// Waits until a thread is blocked.
    fn await_somebody(&self) {
        let met = self.met.lock().expect("no test panics here");
        let patience = Span::from_secs(60);
        let (met, _) =
            self.met_by.wait_timeout_while(met, patience, |met| !*met).expect("no test panics here");
        assert!(*met, "the member is not accessed");
    }

    fn clear(&self) {
        *self.blocked.lock().expect("no test panics here") = None;
        self.changed.notify_all();
    }
}

impl Witness for Obstacle {
    fn asked(&self, member: &Path, _change: Change) -> u64 {
        let mut blocked = self.blocked.lock().expect("no test panics here");
        while blocked.as_deref() == Some(member) {
            *self.met.lock().expect("no test panics here") = true;
            self.met_by.notify_all();
            blocked = self.changed.wait(blocked).expect("no test panics here");
        }
        0
    }

    fn answered(&self, _number: u64, _done: Option<u64>) {}
}

/// So long that only a command can end the wait.
const FOR_EVER: Duration = Duration::from_secs(100_000);
/// A short timeout, but longer than a busy machine delays an access.
const SOON: Duration = Duration::from_secs(2);

const NAMES: [&str; 4] = ["raid1", "raid5", "raid10", "parity-logging"];

fn named(name: &str) -> &'static NamedOrganization {
    Organization::named(name).expect("it is in the table")
}

/// An array whose members are behind an obstacle.
struct Rig {
    _directory: tempfile::TempDir,
    members: Vec<PathBuf>,
    obstacle: Arc<Obstacle>,
}

impl Rig {
    fn new(name: &str) -> Rig {
        let directory = on_disk();
        let members = member_paths(directory.path(), MEMBERS);
        if name == "parity-logging" {
            let mut request = request(named(name), &members);
            request.consistency = Consistency::Journal;
            parlour_engine::create(&request).expect("the array can be created");
        } else {
            create(named(name), &members);
        }
        Rig { _directory: directory, members, obstacle: Arc::default() }
    }

    fn serve(&self, access_timeout: Duration) -> Served {
        // In the thread backend, the blocked witness delays the access to the member.
        let request = OpenRequest { io: Choice::Threads, ..open_request(&self.members) };
        let open = parlour_engine::open(&request).expect("the array can be opened");
        let options = ServeOptions {
            access_timeout,
            witness: Some(Arc::clone(&self.obstacle) as _),
            look_every: Duration::from_millis(50),
            ..ServeOptions::default()
        };
        serve_watched(open, options, None)
    }

    fn hang(&self) {
        self.obstacle.block(&self.members[1]);
    }
}

fn is_failed(served: &Served) -> bool {
    served.status()["members"][1]["state"] == "failed"
}

/// A fresh member replaces the one that hung, and the content is right.
fn replace(rig: &Rig, served: &Served, reference: &Reference) {
    let path = rig.members[0].with_file_name("fresh");
    std::fs::File::create_new(&path)
        .and_then(|file| file.set_len(crate::common::rig::LENGTH))
        .expect("a fresh file");
    served.command(&Request::Replace { member: 1, path, force: false }).expect("it is taken");
    served.until_redundant();
    served.assert_consistent();
    reference.verify(served);
}

#[test]
fn writes_go_on_after_a_hung_member_is_given_up_and_it_can_be_replaced() {
    for name in NAMES {
        let rig = Rig::new(name);
        let served = rig.serve(SOON);
        let mut reference = Reference::new(&served, 1);
        reference.exercise(&served, 20);
        rig.hang();
        // Each request and each flush is answered, some only when the member is excluded.
        reference.exercise(&served, 20);
        assert!(is_failed(&served), "{name}");
        assert!(served.heard("it did not answer in time"), "{name}: {}", served.story());
        let status = served.status();
        assert!(status["accesses_given_up"].as_u64() > Some(0), "{name}: {status:#}");
        reference.verify(&served);
        // While the system may still write to it, the member is not taken back.
        replace(&rig, &served, &reference);
        // The system completes the old accesses; they have no effect any more.
        rig.obstacle.clear();
        served.until("the last access", |status| {
            status["accesses_given_up"] == 0 && status["quarantined"] == 0
        });
        reference.verify(&served);
        served.assert_consistent();
        served.stop();
    }
}

#[test]
fn a_hung_member_that_is_failed_is_given_up_at_once() {
    for name in NAMES {
        let rig = Rig::new(name);
        let served = rig.serve(FOR_EVER);
        let mut reference = Reference::new(&served, 2);
        reference.exercise(&served, 20);
        rig.hang();
        let (reply, answers) = channel();
        let length = served.capacity / 4;
        let payload = vec![9; length as usize];
        reference.bytes[..payload.len()].copy_from_slice(&payload);
        served.host.post(0, Operation::Write { durable: true }, (0, length), &payload, &reply);
        rig.obstacle.await_somebody();
        served.command(&Request::Fail { member: 1, force: false }).expect("it can be failed");
        let (_, answer) = answers.recv_timeout(Span::from_secs(60)).expect("an answer");
        answer.expect("the write succeeds");
        reference.exercise(&served, 10);
        reference.verify(&served);
        // The member cannot return while the system may still write to it.
        let path = rig.members[1].clone();
        let refused = served.command(&Request::Replace { member: 1, path, force: false });
        let refused = refused.expect_err("it is in use").to_string();
        assert!(refused.contains("in use"), "{name}: {refused}");
        // The server stops, although the system never answers.
        served.stop();
        rig.obstacle.clear();
    }
}

#[test]
fn a_server_stops_though_a_member_hangs() {
    for name in NAMES {
        let rig = Rig::new(name);
        let served = rig.serve(SOON);
        let mut reference = Reference::new(&served, 3);
        reference.exercise(&served, 10);
        rig.hang();
        served.stop();
        rig.obstacle.clear();
        let served = rig.serve(FOR_EVER);
        assert!(is_failed(&served), "{name}: its exclusion is recorded");
        reference.verify(&served);
        replace(&rig, &served, &reference);
        served.stop();
    }
}

#[test]
fn a_member_that_cannot_be_done_without_is_asked_again_once_it_answers() {
    let rig = Rig::new("raid0");
    let served = rig.serve(SOON);
    let payload = vec![5; 1 << 20];
    served.host.write(0, &payload).expect("all is well");
    rig.hang();
    served.host.write(0, &vec![6; 1 << 20]).expect_err("one member of it does not answer");
    assert!(served.heard("is kept because nothing can take over"), "{}", served.story());
    rig.obstacle.clear();
    served.until("the last access", |status| status["accesses_given_up"] == 0);
    served.host.write(0, &payload).expect("it answers again");
    assert_eq!(served.host.read(0, payload.len()).as_ref(), Ok(&payload));
    served.stop();
}

#[test]
fn a_member_that_answers_again_is_taken_back_by_itself() {
    for name in NAMES {
        let rig = Rig::new(name);
        let served = rig.serve(SOON);
        let mut reference = Reference::new(&served, 4);
        reference.exercise(&served, 20);
        served.until_redundant();
        rig.hang();
        reference.exercise(&served, 10);
        assert!(is_failed(&served), "{name}");
        rig.obstacle.clear();
        served.until_redundant();
        assert!(served.heard("is back as member 1"), "{name}: {}", served.story());
        reference.exercise(&served, 10);
        served.assert_consistent();
        reference.verify(&served);
        served.stop();
    }
}

#[test]
fn a_member_that_was_failed_by_command_stays_out() {
    let rig = Rig::new("raid5");
    let served = rig.serve(FOR_EVER);
    served.command(&Request::Fail { member: 1, force: false }).expect("it can be failed");
    let mut reference = Reference::new(&served, 5);
    // Many times longer than one check of the timeouts takes.
    for _ in 0..40 {
        reference.exercise(&served, 5);
        assert!(is_failed(&served), "{}", served.story());
    }
    served.stop();
}
