use parlour_rivals::mirrors::{Mirrors, Settings};
use parlour_rivals::{Act, Refused, Rival, Way};
use parlour_units::Sectors;

use super::{CYLINDERS, LENGTH, UNIT, measured, one, small_writes, survives};

fn settings(doubly: Option<u64>) -> Settings {
    Settings {
        members: 6,
        length: LENGTH,
        unit: UNIT,
        cylinders: CYLINDERS,
        master_tracks: 6,
        doubly: doubly.map(|units| UNIT * units),
    }
}

fn mirrors(doubly: Option<u64>) -> Box<dyn Rival> {
    Box::new(Mirrors::new(&settings(doubly)).unwrap())
}

#[test]
fn no_two_copies_share_a_place_and_all_is_answered() {
    survives(|| mirrors(None));
    survives(|| mirrors(Some(600)));
}

#[test]
fn with_hardly_any_memory_and_hardly_any_free_place_hosts_wait() {
    survives(|| mirrors(Some(6)));
    // 6 masters of a cylinder, and 8 places for slaves.
    let tight = Settings { unit: Sectors::new(46), length: CYLINDERS.track * 14 * 3, ..settings(Some(300)) };
    survives(|| Box::new(Mirrors::new(&tight).unwrap()));
}

#[test]
fn a_small_write_is_one_in_place_and_one_near_the_heads() {
    let mut rival = mirrors(None);
    let done = small_writes(&mut *rival, 10, 1_000);
    let writes = done.count(0..6, |act| matches!(act, Act::Write { .. }));
    let floats = done.count(0..6, |act| matches!(act, Act::Place { .. }));
    assert_eq!((writes, floats, done.accesses.len()), (1_000, 1_000, 2_000));
    assert_eq!(
        (measured(&*rival, "writes in place"), measured(&*rival, "writes near the heads")),
        (1.0, 1.0)
    );
}

#[test]
fn doubly_distorted_writes_are_three_and_two_of_them_near_the_heads() {
    let mut rival = mirrors(Some(600));
    let done = small_writes(&mut *rival, 10, 3_000);
    let floats = done.count(0..6, |act| matches!(act, Act::Place { .. }));
    assert_eq!(floats, 6_000);
    // A master that is written again before it is in its place goes there once.
    let in_place = done.count(0..6, |act| matches!(act, Act::Write { .. }));
    assert!((2_500..=3_000).contains(&in_place), "{in_place}");
}

#[test]
fn reads_of_neighbours_go_to_masters_in_order() {
    for doubly in [None, Some(600)] {
        let mut rival = mirrors(doubly);
        small_writes(&mut *rival, 10, 3_000);
        // 72 masters of a disk are in one cylinder.
        let done = one(&mut *rival, Way::Read, 0, 72 * 6);
        let reads = done.count(0..6, |act| matches!(act, Act::Read { length, .. } if *length == UNIT * 72));
        assert_eq!((reads, done.accesses.len()), (6, 6));
    }
}

#[test]
fn what_is_not_in_its_place_is_read_from_memory() {
    // Written alone, it goes to its place as soon as its disk has nothing else to do; so ask at
    // once.
    let mut rival = mirrors(Some(600));
    let request = |tag, way| parlour_rivals::Request {
        tag: parlour_rivals::Tag(tag),
        way,
        at: parlour_units::Sector::ZERO,
        length: UNIT,
    };
    rival.submit(request(1, Way::Write));
    let accesses: Vec<_> = std::iter::from_fn(|| rival.poll_access()).collect();
    for access in accesses {
        let place = rival.places(access.id, 3)[0];
        rival.complete(access.id, Some(place));
    }
    assert_eq!(rival.poll_answer(), Some(parlour_rivals::Tag(1)));
    let installs: Vec<_> = std::iter::from_fn(|| rival.poll_access()).collect();
    assert_eq!(installs.len(), 1);
    assert!(!installs[0].awaited && matches!(installs[0].act, Act::Write { .. }));
    rival.submit(request(2, Way::Read));
    assert_eq!((rival.poll_answer(), rival.poll_access()), (Some(parlour_rivals::Tag(2)), None));
    rival.complete(installs[0].id, None);
    rival.submit(request(3, Way::Read));
    assert!(rival.poll_access().is_some(), "it is in its place, and no longer in memory");
    rival.check();
}

#[test]
fn impossible_mirrors_are_refused() {
    let refusal = |settings: Settings| Mirrors::new(&settings).unwrap_err();
    assert!(matches!(refusal(Settings { members: 5, ..settings(None) }), Refused::Members { .. }));
    assert!(matches!(refusal(Settings { master_tracks: 7, ..settings(None) }), Refused::Tracks { .. }));
    assert!(matches!(refusal(Settings { unit: Sectors::new(999), ..settings(None) }), Refused::Unit { .. }));
    assert!(matches!(refusal(Settings { length: Sectors::new(9), ..settings(None) }), Refused::Short { .. }));
    assert!(matches!(refusal(settings(Some(5))), Refused::Memory { .. }));
}
