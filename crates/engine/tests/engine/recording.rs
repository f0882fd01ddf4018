//! Records the engine's calls to the array, replays them into a fresh array, and checks that the
//! answers are the same.

use std::sync::PoisonError;

use crate::common::rig::{LENGTH, MEMBERS, Reference, create, member_paths, members_of, open, serve_open};
use crate::common::{on_disk, on_memory};
use parlour_array::organization::{Code, NAMED};
use parlour_array::record::{Entry, FirstDifference, replay};
use parlour_engine::control::Request;
use parlour_engine::recorder::{Recorder, read_recording};

#[test]
fn recorded_inputs_give_identical_effects() {
    for (seed, named) in NAMED.iter().enumerate() {
        eprintln!("{}", named.name);
        let directory = on_memory().unwrap_or_else(on_disk);
        let members = members_of(named, directory.path());
        create(named, &members);
        let mut reference = None;
        for round in 0..2 {
            let (recorder, recording) = Recorder::memory();
            let served = serve_open(open(&members).expect("it opens"), Some(recorder));
            let reference = reference.get_or_insert_with(|| Reference::new(&served, 31 + seed as u64));
            reference.exercise(&served, 5);
            if named.organization.code != Code::None && round == 0 {
                let path = directory.path().join("spare");
                std::fs::File::create_new(&path).and_then(|file| file.set_len(LENGTH)).expect("a file");
                served
                    .command(&Request::Add { path, force: false, journal: false })
                    .expect("a spare is added");
                served.command(&Request::Fail { member: 3, force: false }).expect("a member is failed");
                served.until_redundant();
                served.assert_consistent();
            }
            served.stop();
            let recording = recording.lock().unwrap_or_else(PoisonError::into_inner);
            let effects = recording
                .entries
                .iter()
                .filter(|entry| matches!(entry, Entry::Answered(text) if text.starts_with("Effect")));
            assert!(effects.count() > 100, "something was recorded");
            replay(&recording).expect("the answers are the same");
            if named.organization.code != Code::None {
                break;
            }
        }
    }
}

#[test]
fn a_recording_in_a_file_replays_and_a_changed_one_does_not() {
    let directory = on_disk();
    let members = member_paths(directory.path(), MEMBERS);
    create(&NAMED[7], &members);
    let path = directory.path().join("recording");
    let recorder = Recorder::file(&path).expect("a file");
    let served = serve_open(open(&members).expect("it opens"), Some(recorder));
    let mut reference = Reference::new(&served, 41);
    reference.exercise(&served, 5);
    served.stop();
    let mut recording = read_recording(&path).expect("it can be read");
    replay(&recording).expect("the answers are the same");
    let changed = recording
        .entries
        .iter()
        .position(|entry| matches!(entry, Entry::Answered(text) if text.contains("Write")));
    let changed = changed.expect("something was written");
    recording.entries[changed] = Entry::Answered("Effect something else".into());
    let difference = replay(&recording).expect_err("it differs");
    assert!(matches!(difference, FirstDifference::Answer { entry, .. } if entry == changed), "{difference}");
}
