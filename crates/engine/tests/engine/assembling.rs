//! Tests the creation and the opening of arrays: what is accepted, refused or left out, with the
//! names in the messages.

use std::fs::{self, OpenOptions};
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::common::on_disk;
use crate::common::rig::{
    LENGTH, MEMBERS, Reference, create, member_paths, members_of, open, open_request, request, serve,
    serve_open,
};
use parlour_array::organization::{NAMED, NamedOrganization, Organization};
use parlour_array::{AssemblyError, CreationError};
use parlour_engine::control::Request;
use parlour_engine::{CreateError, MemberError, OpenError, OpenRequest, examine};
use parlour_units::Bytes;

fn named(name: &str) -> &'static NamedOrganization {
    Organization::named(name).expect("it is in the table")
}

/// A stopped array with data.
fn stopped(directory: &Path, organization: &str) -> (Vec<PathBuf>, Reference) {
    let members = member_paths(directory, MEMBERS);
    create(named(organization), &members);
    let served = serve(&members);
    let mut reference = Reference::new(&served, 5);
    reference.exercise(&served, 5);
    served.stop();
    (members, reference)
}

/// A hash of each member's content.
fn contents(members: &[PathBuf]) -> Vec<u64> {
    let content = |path: &PathBuf| {
        let mut hasher = DefaultHasher::new();
        hasher.write(&fs::read(path).expect("it can be read"));
        hasher.finish()
    };
    members.iter().map(content).collect()
}

/// The time of the last write to each member.
fn times(members: &[PathBuf]) -> Vec<(i64, i64)> {
    let time = |path: &PathBuf| {
        let found = fs::metadata(path).expect("it is there");
        (found.mtime(), found.mtime_nsec())
    };
    members.iter().map(time).collect()
}

fn notes(members: &[PathBuf]) -> Vec<String> {
    open(members).expect("it opens").notes().iter().map(ToString::to_string).collect()
}

fn assert_noted(members: &[PathBuf], words: &[&str]) {
    let notes = notes(members);
    let found = notes.iter().any(|note| words.iter().all(|word| note.contains(word)));
    assert!(found, "no note says {words:?}: {notes:#?}");
}

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(path).expect("it is there");
    file.write_all_at(bytes, at).expect("it can be written");
}

fn set_length(path: &Path, length: u64) {
    let file = OpenOptions::new().write(true).open(path).expect("it is there");
    file.set_len(length).expect("its length can be set");
}

#[test]
fn new_files_are_known_to_be_in_sync_and_stay_sparse() {
    let directory = on_disk();
    let members = member_paths(directory.path(), MEMBERS);
    let report = create(named("raid5"), &members);
    assert!(report.zeroed && report.notes.is_empty(), "{report:?}");
    let used: u64 = fs::metadata(&members[0]).expect("it is there").blocks() * 512;
    assert!(used < LENGTH / 2, "{used} bytes are used of a member without data");
    let served = serve(&members);
    served.assert_consistent();
    served.stop();
}

#[test]
fn members_with_something_on_them_are_synchronized_while_they_serve() {
    for name in ["raid1", "raid5", "parity-logging"] {
        let directory = on_disk();
        let members = member_paths(directory.path(), MEMBERS);
        for (index, path) in members.iter().enumerate() {
            let mut noise = vec![0; LENGTH as usize];
            crate::common::Numbers::new(index as u64).fill(&mut noise);
            fs::write(path, noise).expect("it can be written");
        }
        let report = create(named(name), &members);
        assert!(!report.zeroed);
        let served = serve(&members);
        served.until_redundant();
        served.assert_consistent();
        served.stop();
    }
}

#[test]
fn foreign_content_is_refused_and_nothing_is_changed() {
    let directory = on_disk();
    let members = member_paths(directory.path(), MEMBERS);
    for path in &members[..2] {
        fs::File::create_new(path).and_then(|file| file.set_len(LENGTH)).expect("a file");
    }
    overwrite(&members[1], 0, b"XFSB");
    let before = contents(&members[..2]);
    let error = parlour_engine::create(&request(named("raid5"), &members)).expect_err("it is refused");
    assert!(matches!(&error, CreateError::Foreign { path, .. } if *path == members[1]), "{error}");
    assert!(error.to_string().contains("XFS file system"), "{error}");
    assert_eq!(contents(&members[..2]), before);
    assert!(!members[2].exists() && !members[3].exists(), "what was made is removed again");
    let forced = parlour_engine::CreateRequest { force: true, ..request(named("raid5"), &members) };
    parlour_engine::create(&forced).expect("it is made");
    let found = parlour_engine::Member::open(&members[1], parlour_engine::Mode::ReadOnly)
        .and_then(|member| member.probe_foreign())
        .expect("it can be read");
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn members_of_an_array_are_not_taken_for_another() {
    let directory = on_disk();
    let (members, _) = stopped(directory.path(), "raid5");
    let before = contents(&members);
    let error = parlour_engine::create(&request(named("raid1"), &members)).expect_err("it is refused");
    assert!(error.to_string().contains("a member of the array 'test'"), "{error}");
    assert_eq!(contents(&members), before);
}

#[test]
fn what_is_impossible_is_refused_with_its_reason() {
    let directory = on_disk();
    let members = member_paths(directory.path(), MEMBERS);
    let refused = |change: &dyn Fn(&mut parlour_engine::CreateRequest)| {
        let mut wish = request(named("parity-logging"), &members);
        change(&mut wish);
        let error = parlour_engine::create(&wish).expect_err("it is refused");
        assert!(members.iter().all(|path| !path.exists()), "nothing is left behind");
        error
    };
    let few = refused(&|wish| wish.members.truncate(2));
    assert!(matches!(few, CreateError::Geometry(CreationError::TooFewMembers { .. })), "{few}");
    let unit = refused(&|wish| wish.unit = Bytes::new(1000));
    assert!(matches!(unit, CreateError::Unit(_)), "{unit}");
    let large = refused(&|wish| wish.unit = Bytes::gib(1));
    assert!(matches!(large, CreateError::Geometry(CreationError::UnitTooLarge { .. })), "{large}");
    let sublogs = refused(&|wish| wish.log.sublogs = Some(3));
    assert!(matches!(sublogs, CreateError::Geometry(CreationError::TooManySublogs { .. })), "{sublogs}");
    let twice = refused(&|wish| wish.members[1] = wish.members[0].clone());
    assert!(matches!(twice, CreateError::Repeated { .. }), "{twice}");
    let missing = refused(&|wish| wish.size = None);
    assert!(matches!(missing, CreateError::Member(MemberError::Missing { .. })), "{missing}");
    let name = refused(&|wish| wish.name = "n".repeat(65));
    assert!(matches!(name, CreateError::Name(_)), "{name}");
}

#[test]
fn the_smallest_of_unequal_members_counts() {
    let directory = on_disk();
    let members = member_paths(directory.path(), MEMBERS);
    for (index, path) in members.iter().enumerate() {
        let length = LENGTH + (index as u64) * (3 << 20);
        fs::File::create_new(path).and_then(|file| file.set_len(length)).expect("a file");
    }
    let report = create(named("raid5"), &members);
    assert!(report.notes[0].contains("the smallest counts"), "{:?}", report.notes);
    let equal = on_disk();
    let same = create(named("raid5"), &member_paths(equal.path(), MEMBERS));
    assert_eq!(report.geometry.capacity(), same.geometry.capacity());
    assert_noted(&members, &["unequal", "member0"]);
}

#[test]
fn a_second_server_is_refused() {
    let directory = on_disk();
    let (members, _) = stopped(directory.path(), "raid5");
    let served = serve(&members);
    let error = open(&members).expect_err("it is refused");
    assert!(
        matches!(&error, OpenError::Member(MemberError::InUse { path }) if *path == members[0]),
        "{error}"
    );
    served.stop();
    open(&members).expect("it opens when the other has stopped");
}

#[test]
fn reading_only_writes_nothing() {
    for name in ["raid1", "raid5", "parity-logging"] {
        let directory = on_disk();
        let (members, reference) = stopped(directory.path(), name);
        let before = (contents(&members), times(&members));
        let request = OpenRequest { read_only: true, ..open_request(&members) };
        let served = serve_open(parlour_engine::open(&request).expect("it opens"), None);
        reference.verify(&served);
        assert_eq!(served.host.write(0, &[1; 512]), Err(parlour_array::RequestError::ReadOnly));
        let error = served.command(&Request::Fail { member: 0, force: false }).expect_err("it is refused");
        assert!(error.to_string().contains("read-only"), "{error}");
        served.stop();
        assert_eq!((contents(&members), times(&members)), before, "{name}");
        let served = serve(&members);
        reference.verify(&served);
        served.stop();
    }
}

#[test]
fn a_stale_member_is_named_and_not_believed() {
    let directory = on_disk();
    let (members, mut reference) = stopped(directory.path(), "raid5");
    let served = serve(&[members[0].clone(), members[2].clone(), members[3].clone()]);
    reference.exercise(&served, 5);
    served.stop();
    assert_noted(&members, &["member1", "stale"]);
    let served = serve(&members);
    reference.verify(&served);
    served.stop();
}

#[test]
fn members_that_went_different_ways_are_refused() {
    let directory = on_disk();
    let (members, _) = stopped(directory.path(), "raid1");
    serve(&members[..2]).stop();
    serve(&members[2..]).stop();
    let error = open(&members).expect_err("it is refused");
    assert!(error.to_string().contains("each used without the other"), "{error}");
}

#[test]
fn a_foreign_member_is_named_and_left_out() {
    let (directory, other) = (on_disk(), on_disk());
    let (mut members, reference) = stopped(directory.path(), "raid5");
    let (others, _) = stopped(other.path(), "raid5");
    members[2] = others[2].clone();
    assert_noted(&members, &["belongs to another array", "'test'"]);
    assert_noted(&members, &["member 2 is missing"]);
    let served = serve(&members);
    reference.verify(&served);
    served.stop();
}

#[test]
fn a_copy_of_a_member_is_refused() {
    let directory = on_disk();
    let (mut members, _) = stopped(directory.path(), "raid5");
    let copy = directory.path().join("copy");
    fs::copy(&members[0], &copy).expect("it can be copied");
    members.push(copy);
    let error = open(&members).expect_err("it is refused");
    assert!(error.to_string().contains("both the same member"), "{error}");
}

#[test]
fn a_truncated_member_is_named_and_left_out() {
    for length in [LENGTH - (2 << 20), 100_000, 0] {
        let directory = on_disk();
        let (members, reference) = stopped(directory.path(), "raid5");
        set_length(&members[3], length);
        let words = if length == 0 { "empty" } else { "truncated" };
        assert_noted(&members, &["member3", words]);
        let served = serve(&members);
        reference.verify(&served);
        served.stop();
    }
}

#[test]
fn one_sound_superblock_is_enough_and_none_is_named() {
    let directory = on_disk();
    let (members, reference) = stopped(directory.path(), "raid5");
    overwrite(&members[0], 20, b"garbage");
    assert!(notes(&members).is_empty(), "{:?}", notes(&members));
    let shown = examine(&members[0]).expect("it can be examined");
    assert!(shown.superblocks[0].error.as_ref().is_some_and(|error| error.contains("checksum")), "{shown:?}");
    overwrite(&members[0], LENGTH - (1 << 20) + 20, b"garbage");
    assert_noted(&members, &["member0", "checksum does not fit"]);
    let served = serve(&members);
    reference.verify(&served);
    served.stop();
}

#[test]
fn garbage_on_every_member_is_refused_with_each_name() {
    let directory = on_disk();
    let members = member_paths(directory.path(), 3);
    for path in &members {
        fs::write(path, vec![0x5a; LENGTH as usize]).expect("it can be written");
    }
    let before = contents(&members);
    let error = open(&members).expect_err("it is refused");
    assert!(matches!(error, OpenError::Assembly { source: AssemblyError::NoMembers(_), .. }), "{error}");
    let text = error.to_string();
    assert!(members.iter().all(|path| text.contains(&path.display().to_string())), "{text}");
    assert_eq!(contents(&members), before);
}

#[test]
fn too_many_missing_members_are_refused_and_the_paths_named() {
    for named in &NAMED {
        let directory = on_disk();
        let members = members_of(named, directory.path());
        let report = create(named, &members);
        let missing = members.len() - 1;
        if usize::from(report.geometry.fault_tolerance()) >= missing {
            continue;
        }
        for path in &members[..missing] {
            fs::remove_file(path).expect("it is there");
        }
        let error = open(&members).expect_err("it is refused");
        let text = error.to_string();
        assert!(text.contains("too many members are missing"), "{}: {text}", named.name);
        assert!(text.contains("member0: no such file"), "{}: {text}", named.name);
    }
}

#[test]
fn unclean_and_degraded_is_refused_without_force() {
    for name in ["raid5", "parity-logging"] {
        let directory = on_disk();
        let members = member_paths(directory.path(), MEMBERS);
        create(named(name), &members);
        let served = serve(&members);
        let mut reference = Reference::new(&served, 11);
        reference.exercise(&served, 3);
        served.kill();
        fs::remove_file(&members[0]).expect("it is there");
        let before = contents(&members[1..]);
        let error = open(&members).expect_err("it is refused");
        assert!(error.to_string().contains("--force"), "{error}");
        assert_eq!(contents(&members[1..]), before);
        let request = OpenRequest { force: true, ..open_request(&members) };
        let served = serve_open(parlour_engine::open(&request).expect("it opens"), None);
        served.host.read(0, 4096).expect("it serves");
        served.stop();
    }
}

#[test]
fn the_bitmap_is_examined() {
    let directory = on_disk();
    let members = member_paths(directory.path(), MEMBERS);
    create(named("raid5"), &members);
    let clean = examine(&members[0]).expect("it can be examined");
    assert!(clean.bitmaps.iter().all(|map| map.dirty == 0 && map.resync == 0), "{clean:?}");
    assert_eq!(clean.organization, "raid5");
    let served = serve(&members);
    served.host.write(0, &[1; 4096]).expect("it is written");
    served.kill();
    let dirty = examine(&members[0]).expect("it can be examined");
    let newest = dirty.bitmaps.iter().max_by_key(|map| map.sequence).expect("there is a map");
    assert!(newest.dirty > 0 && !dirty.superblocks[0].clean, "{dirty:?}");
    serde_json::to_string(&dirty).expect("it can be written as JSON");
    let none = directory.path().join("none");
    fs::write(&none, vec![0; 4 << 20]).expect("a file");
    let error = examine(&none).expect_err("it is no member");
    assert!(error.to_string().contains("no superblock"), "{error}");
}
