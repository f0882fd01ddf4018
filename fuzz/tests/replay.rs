//! Runs every kept input through its target, on the stable toolchain and without a fuzzer.

use std::path::{Path, PathBuf};
use std::{fs, panic};

use parlour_fuzz::{TARGETS, Target};

/// The largest size of all corpora together, in bytes.
const MOST: u64 = 500_000;

fn inputs(target: &Target) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let mut inputs: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    inputs.sort();
    inputs
}

/// Runs the inputs of a target in turn. A failure names the input.
fn replay(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target");
    let inputs = inputs(target);
    assert!(!inputs.is_empty(), "{name} has inputs");
    for path in inputs {
        let data = fs::read(&path).expect("an input can be read");
        let outcome = panic::catch_unwind(|| (target.run)(&data));
        assert!(outcome.is_ok(), "{name} fails with {}", path.display());
    }
}

#[test]
fn handshakes_that_were_found_do_no_harm() {
    replay("handshake");
}

#[test]
fn transmissions_that_were_found_do_no_harm() {
    replay("transmission");
}

#[test]
fn clients_that_were_found_do_no_harm() {
    replay("server");
}

#[test]
fn superblocks_that_were_found_do_no_harm() {
    replay("superblock");
}

#[test]
fn bitmaps_that_were_found_do_no_harm() {
    replay("bitmap");
}

#[test]
fn log_segments_that_were_found_do_no_harm() {
    replay("segment");
}

#[test]
fn images_that_were_found_do_no_harm() {
    replay("assembly");
}

#[test]
fn configuration_files_that_were_found_do_no_harm() {
    replay("settings");
}

#[test]
fn what_is_kept_is_small_and_belongs_to_a_target() {
    let sizes = TARGETS.iter().flat_map(inputs).map(|path| fs::metadata(path).expect("it is there").len());
    assert!(sizes.sum::<u64>() <= MOST);
    let folders =
        fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")).expect("there are corpora");
    for folder in folders {
        let name = folder.expect("it can be read").file_name();
        assert!(TARGETS.iter().any(|target| *target.name == name), "{name:?} is no target");
    }
}
