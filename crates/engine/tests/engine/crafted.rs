//! Tests with crafted members: small sparse files whose superblocks have correct checksums, and
//! lengths that no member of this size can have. The server once aborted because it ran out of
//! memory. It must refuse them, and name the invalid field.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::common::on_disk;
use crate::common::rig::{LENGTH, member_paths, open, request};
use parlour_array::organization::{Consistency, Organization};
use parlour_array::{Geometry, SUPERBLOCK_BYTES, StoredGeometry, Superblock};
use parlour_engine::{CreateRequest, examine};
use parlour_units::{Bytes, Sectors};

/// The members of a new array, with a changed geometry in each superblock.
fn crafted(directory: &std::path::Path, change: impl Fn(&mut StoredGeometry)) -> Vec<PathBuf> {
    let members = member_paths(directory, 4);
    let named = Organization::named("parity-logging").expect("a known organization");
    let logged = CreateRequest { consistency: Consistency::Journal, ..request(named, &members) };
    parlour_engine::create(&logged).expect("the array can be created");
    let length = Sectors::from_bytes(Bytes::new(LENGTH)).expect("whole sectors");
    for path in &members {
        let file = OpenOptions::new().read(true).write(true).open(path).expect("it is there");
        for at in Geometry::superblocks_at(length) {
            let mut block = vec![0; SUPERBLOCK_BYTES];
            file.read_exact_at(&mut block, at.bytes()).expect("it can be read");
            let mut superblock = Superblock::decode(&block).expect("it is sound");
            change(&mut superblock.geometry);
            file.write_all_at(&superblock.encode(), at.bytes()).expect("it can be written");
        }
    }
    members
}

fn assert_refused(field: &str, change: impl Fn(&mut StoredGeometry)) {
    let directory = on_disk();
    let members = crafted(directory.path(), change);
    let error = open(&members).expect_err("no array has such members").to_string();
    assert!(error.contains(field), "{field}: {error}");
    let error = examine(&members[0]).expect_err("it is no member").to_string();
    assert!(error.contains(field), "{field}: {error}");
}

#[test]
fn members_with_lengths_beyond_them_are_refused_by_the_fields_names() {
    assert_refused("length of the commit log", |it| it.commit_log = 0xffff_fff8);
    assert_refused("length of the data area, beyond the member", |it| it.data_start += 1 << 40);
    assert_refused("regions", |it| {
        it.regions.as_mut().expect("it has regions").regions = u32::MAX;
    });
    assert_refused("segments of a sublog", |it| {
        it.regions.as_mut().expect("it has regions").sublog_segments = u32::MAX;
    });
}
