//! Tests with members that fail, are failed by an administrator, removed or replaced, and with
//! spares, while hosts continue to work.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::rig::{LENGTH, MEMBERS, Reference, Served, create, member_paths, members_of, serve};
use crate::common::{TinyFileSystem, on_disk, on_memory};
use parlour_array::RequestError;
use parlour_array::organization::{Code, NAMED, NamedOrganization, Organization};
use parlour_engine::control::Request;

fn named(name: &str) -> &'static NamedOrganization {
    Organization::named(name).expect("it is in the table")
}

fn redundant() -> impl Iterator<Item = &'static NamedOrganization> {
    NAMED.iter().filter(|named| named.organization.code != Code::None)
}

fn new_file(directory: &Path, name: &str, length: u64) -> PathBuf {
    let path = directory.join(name);
    fs::File::create_new(&path).and_then(|file| file.set_len(length)).expect("a new file");
    path
}

fn refused(served: &Served, request: &Request) -> String {
    served.command(request).expect_err("it is refused").to_string()
}

#[test]
fn a_spare_takes_over_by_itself_and_the_failed_member_is_closed() {
    for named in redundant() {
        eprintln!("{}", named.name);
        let directory = on_memory().unwrap_or_else(on_disk);
        let mut members = members_of(named, directory.path());
        create(named, &members);
        let served = serve(&members);
        let mut reference = Reference::new(&served, 21);
        reference.exercise(&served, 10);
        let spare = new_file(directory.path(), "spare", LENGTH);
        served
            .command(&Request::Add { path: spare.clone(), force: false, journal: false })
            .expect("the spare is added");
        assert_eq!(served.status()["spares"].as_array().map(Vec::len), Some(1));
        served.command(&Request::Fail { member: 2, force: false }).expect("the member is failed");
        reference.exercise(&served, 10);
        served.until_redundant();
        assert!(served.heard("member 2") && served.heard("as was asked"), "{}", served.story());
        assert!(served.heard("takes the place") && served.heard("is rebuilt"), "{}", served.story());
        reference.verify(&served);
        served.assert_consistent();
        // The server has closed the failed member: another process can open it.
        parlour_engine::Member::open(&members[2], parlour_engine::Mode::ReadWrite).expect("it is free");
        served.stop();
        members.push(spare);
        let notes: Vec<String> = crate::common::rig::open(&members)
            .expect("it opens")
            .notes()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert!(notes.iter().all(|note| note.contains("member2")), "{notes:?}");
        let served = serve(&members);
        reference.verify(&served);
        served.stop();
    }
}

#[test]
fn a_member_whose_file_is_truncated_fails_and_people_notice_nothing() {
    for named in redundant() {
        eprintln!("{}", named.name);
        let directory = on_memory().unwrap_or_else(on_disk);
        let members = members_of(named, directory.path());
        create(named, &members);
        let served = serve(&members);
        let mut reference = Reference::new(&served, 22);
        reference.exercise(&served, 10);
        let file = fs::OpenOptions::new().write(true).open(&members[1]).expect("it is there");
        file.set_len(0).expect("it can be truncated");
        reference.exercise(&served, 20);
        reference.verify(&served);
        assert!(served.heard("member 1") && served.heard("truncated"), "{}", served.story());
        file.set_len(LENGTH).expect("it can be made long again");
        let again = Request::Replace { member: 1, path: members[1].clone(), force: false };
        served.command(&again).expect("it comes back, empty");
        reference.exercise(&served, 5);
        served.until_redundant();
        reference.verify(&served);
        served.assert_consistent();
        served.stop();
    }
}

#[test]
fn commands_that_make_no_sense_are_refused_with_the_reason() {
    let directory = on_disk();
    let members = member_paths(directory.path(), MEMBERS);
    create(named("raid5"), &members);
    let served = serve(&members);
    assert!(refused(&served, &Request::Fail { member: 9, force: false }).contains("no member 9"));
    assert!(refused(&served, &Request::Remove { member: 0 }).contains("fail it first"));
    assert!(refused(&served, &Request::Rebuild).contains("nothing to rebuild"));
    let small = new_file(directory.path(), "small", 4 << 20);
    assert!(
        refused(&served, &Request::Add { path: small, force: false, journal: false }).contains("too small")
    );
    let add = |path: &Path| Request::Add { path: path.into(), force: false, journal: false };
    assert!(refused(&served, &add(&members[0])).contains("in use"));
    assert!(refused(&served, &add(&directory.path().join("none"))).contains("no such file"));
    let swap = new_file(directory.path(), "swap", LENGTH);
    std::os::unix::fs::FileExt::write_all_at(
        &fs::OpenOptions::new().write(true).open(&swap).expect("it is there"),
        b"SWAPSPACE2",
        4086,
    )
    .expect("it can be written");
    assert!(refused(&served, &add(&swap)).contains("swap space"));
    served.command(&Request::Fail { member: 0, force: false }).expect("one can fail");
    assert!(refused(&served, &Request::Fail { member: 0, force: false }).contains("failed already"));
    assert!(refused(&served, &Request::Fail { member: 1, force: false }).contains("lose data"));
    // The member may return, but only to its own slot.
    let replace = |member, force| Request::Replace { member, path: members[0].clone(), force };
    assert!(refused(&served, &replace(1, false)).contains("a member of the array 'test'"));
    served.command(&Request::Remove { member: 0 }).expect("it is let go of");
    assert_eq!(served.command(&replace(0, false)).expect("it comes back")["back"], true);
    served.until_redundant();
    // A former member is not overwritten without force.
    let other = new_file(directory.path(), "other", LENGTH);
    served
        .command(&Request::Replace { member: 0, path: other, force: false })
        .expect("another takes its place");
    assert!(refused(&served, &replace(0, false)).contains("a member of the array 'test'"));
    assert_eq!(served.command(&replace(0, true)).expect("told, it is")["back"], false);
    served.until_redundant();
    served.assert_consistent();
    served.stop();
}

#[test]
fn a_full_disk_makes_the_array_read_only_and_fails_no_member() {
    for name in ["raid0", "raid5", "raid10", "parity-logging"] {
        let Some(tiny) = TinyFileSystem::new("12m") else {
            eprintln!("skipped: a file system cannot be mounted here");
            return;
        };
        let directory = on_disk();
        let mut members = member_paths(directory.path(), MEMBERS);
        members[2] = tiny.0.path().join("member2");
        create(named(name), &members);
        let served = serve(&members);
        let payload = vec![7; 64 << 10];
        let mut written = 0;
        let refusal = loop {
            match served.host.write(written, &payload) {
                Ok(()) => written += payload.len() as u64,
                Err(refusal) => break refusal,
            }
            assert!(written < served.capacity, "{name}: the disk is full before the array is");
        };
        assert_eq!(refusal, RequestError::NoSpace, "{name}");
        assert!(served.heard("no space left"), "{}", served.story());
        let status = served.status();
        assert_eq!(status["mode"], "read-only", "{name}");
        let members_listed = status["members"].as_array().expect("members are listed");
        assert!(members_listed.iter().all(|member| member["state"] == "active"), "{name}: {status:#}");
        for at in (0..written).step_by(payload.len()) {
            assert_eq!(served.host.read(at, payload.len()).as_ref(), Ok(&payload), "{name} at {at}");
        }
        served.stop();
    }
}
