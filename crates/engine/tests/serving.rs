//! End-to-end tests of arrays on files: reads return what was written, whatever happens in between.

mod common;

use std::sync::mpsc::channel;

use common::rig::{
    MEMBERS, Reference, create, member_paths, members_of, open_request, serve, serve_open, serve_watched,
};
use common::{on_disk, on_memory, ways};
use parlour_array::organization::NAMED;
use parlour_array::{Operation, RequestError, Tuning};
use parlour_engine::ServeOptions;
use parlour_engine::control::Request;
use parlour_units::{Duration, Sectors};

#[test]
fn every_organization_serves_stops_and_comes_back_in_any_order() {
    for (seed, named) in NAMED.iter().enumerate() {
        eprintln!("{}", named.name);
        let directory = on_memory().unwrap_or_else(on_disk);
        let mut members = members_of(named, directory.path());
        create(named, &members);
        let served = serve(&members);
        let mut reference = Reference::new(&served, 1_000 + seed as u64);
        reference.exercise(&served, 40);
        reference.verify(&served);
        served.stop();
        members.reverse();
        let served = serve(&members);
        reference.verify(&served);
        reference.exercise(&served, 10);
        reference.verify(&served);
        if named.organization.code != parlour_array::organization::Code::None {
            served.assert_consistent();
        }
        served.stop();
    }
}

#[test]
fn every_way_to_access_members_serves() {
    for way in ways() {
        for named in NAMED.iter().filter(|named| !named.name.starts_with("raid0")) {
            eprintln!("{way:?} {}", named.name);
            let directory = on_disk();
            let members = members_of(named, directory.path());
            create(named, &members);
            let request = parlour_engine::OpenRequest { io: way, ..open_request(&members) };
            let served = serve_open(parlour_engine::open(&request).expect("it opens"), None);
            let mut reference = Reference::new(&served, 7);
            reference.exercise(&served, 10);
            reference.verify(&served);
            served.stop();
        }
    }
}

#[test]
fn a_killed_server_loses_nothing_and_resyncs() {
    for (seed, named) in NAMED.iter().enumerate() {
        eprintln!("{}", named.name);
        let directory = on_memory().unwrap_or_else(on_disk);
        let members = members_of(named, directory.path());
        create(named, &members);
        let served = serve(&members);
        let mut reference = Reference::new(&served, 2_000 + seed as u64);
        reference.exercise(&served, 20);
        served.kill();
        let served = serve(&members);
        reference.verify(&served);
        served.until_redundant();
        reference.exercise(&served, 5);
        reference.verify(&served);
        if named.organization.code != parlour_array::organization::Code::None {
            served.assert_consistent();
        }
        served.stop();
    }
}

#[test]
fn a_missing_member_is_done_without_replaced_and_rebuilt() {
    for (seed, named) in NAMED.iter().enumerate() {
        if named.organization.code == parlour_array::organization::Code::None {
            continue;
        }
        eprintln!("{}", named.name);
        let directory = on_memory().unwrap_or_else(on_disk);
        let members = members_of(named, directory.path());
        create(named, &members);
        let served = serve(&members);
        let mut reference = Reference::new(&served, 3_000 + seed as u64);
        reference.exercise(&served, 20);
        served.stop();
        std::fs::remove_file(&members[1]).expect("it is there");
        let served = serve(&members);
        reference.verify(&served);
        reference.exercise(&served, 20);
        reference.verify(&served);
        let path = directory.path().join("new");
        std::fs::File::create_new(&path)
            .and_then(|file| file.set_len(common::rig::LENGTH))
            .expect("a new file");
        served
            .command(&Request::Replace { member: 1, path: path.clone(), force: false })
            .expect("the member is replaced");
        reference.exercise(&served, 10);
        served.until_redundant();
        reference.verify(&served);
        served.assert_consistent();
        served.stop();
        let members = [path, members[2].clone(), members[0].clone(), members[3].clone()];
        let served = serve(&members);
        reference.verify(&served);
        served.stop();
    }
}

/// Regression test: 128 long requests for zeroes kept a server from stopping for more than a
/// minute.
#[test]
fn a_stop_refuses_what_is_not_begun_when_the_grace_is_over() {
    let named = NAMED.iter().find(|named| named.name == "raid5").expect("it is in the table");
    let directory = on_memory().unwrap_or_else(on_disk);
    let members = member_paths(directory.path(), MEMBERS);
    create(named, &members);
    let open = parlour_engine::open(&open_request(&members)).expect("it opens");
    let options = ServeOptions { grace: Duration::ZERO, ..ServeOptions::default() };
    let served = serve_watched(open, options, None);
    let zeroes = Operation::WriteZeroes { may_unmap: false, fast_only: false, durable: false };
    let (reply, answers) = channel();
    for tag in 0..1_000 {
        served.host.post(tag, zeroes, (0, served.capacity), &[], &reply);
    }
    drop(reply);
    // When the server answers this, it has received the requests.
    served.status();
    served.stop();
    let refused = answers.iter().filter(|(_, answer)| *answer == Err(RequestError::Stopping)).count();
    assert!(refused > 900, "{refused}");
    // The requests under way were completed: the array was shut down cleanly.
    let served = serve(&members);
    served.assert_consistent();
    assert!(served.status()["notes"].as_array().expect("notes").is_empty());
    served.stop();
}

#[test]
fn long_requests_are_served_whole_though_they_go_to_the_array_in_slices() {
    let named = NAMED.iter().find(|named| named.name == "raid5").expect("it is in the table");
    let directory = on_memory().unwrap_or_else(on_disk);
    let members = member_paths(directory.path(), MEMBERS);
    create(named, &members);
    let tuning = Tuning { host_memory: Sectors::new(64 << 11), ..Tuning::default() };
    let request = parlour_engine::OpenRequest { tuning, ..open_request(&members) };
    let served = serve_open(parlour_engine::open(&request).expect("it opens"), None);
    let length = 20 << 20;
    let bytes: Vec<u8> = (0..length).map(|at| (at / 512 * 31 + at % 251) as u8).collect();
    served.host.write(512, &bytes).expect("it is written");
    assert!(served.host.read(512, length).expect("it is read") == bytes);
    served.stop();
}
