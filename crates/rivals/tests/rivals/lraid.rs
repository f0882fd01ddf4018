use parlour_rivals::lraid::{LraidX4, Settings};
use parlour_rivals::{Act, Refused, Rival, Way};
use parlour_units::Sectors;

use super::{LENGTH, UNIT, measured, one, small_writes, survives};

fn settings() -> Settings {
    Settings {
        members: 10,
        length: LENGTH,
        unit: UNIT,
        // 160 units of 3360.
        memory: UNIT * 160,
        old_data_known: false,
        combined: true,
    }
}

fn lraid(settings: Settings) -> Box<dyn Rival> {
    Box::new(LraidX4::new(&settings).unwrap())
}

#[test]
fn all_is_answered_and_the_log_is_no_faster_than_the_merge() {
    survives(|| lraid(settings()));
    survives(|| lraid(Settings { combined: false, ..settings() }));
    survives(|| lraid(Settings { old_data_known: true, memory: UNIT * 64, members: 5, ..settings() }));
}

#[test]
fn a_small_write_is_one_access_of_its_data_disk() {
    let mut rival = lraid(settings());
    let mut random = super::Random(3);
    rival.age(&mut |bound| random.below(bound));
    let done = small_writes(&mut *rival, 20, 20_000);
    assert_eq!(done.count(0..6, |act| matches!(act, Act::Modify { .. })), 20_000);
    assert_eq!(done.count(0..6, |act| !matches!(act, Act::Modify { .. })), 0);
    // Updates that meet in memory are one.
    let logged = measured(&*rival, "units logged an update");
    assert!((0.9..=1.0).contains(&logged), "{logged}");
    assert_eq!(measured(&*rival, "updates a written unit"), 1.0);
    // What is logged is merged, 80 units at once are sorted: 10 an append.
    let append = measured(&*rival, "units an append");
    assert!((8.0..=10.0).contains(&append), "{append}");
}

#[test]
fn each_merge_reads_one_parity_disk_in_order_and_writes_the_other() {
    let mut rival = lraid(settings());
    let mut random = super::Random(3);
    rival.age(&mut |bound| random.below(bound));
    let done = small_writes(&mut *rival, 20, 12_000);
    for parity in [6, 7] {
        let of = |read: bool| {
            let own = done.accesses.iter().filter(|(member, ..)| *member == parity);
            let places = own.filter_map(|(_, act, _)| match *act {
                Act::Read { at, length } if read => Some((at.get(), length)),
                Act::Write { at, length } if !read => Some((at.get(), length)),
                _ => None,
            });
            places.collect::<Vec<_>>()
        };
        for accesses in [of(true), of(false)] {
            assert!(accesses.len() > 80, "{}", accesses.len());
            for pair in accesses.windows(2) {
                let follows = pair[0].0 + pair[0].1.get() == pair[1].0;
                assert!(follows || pair[1].0 == 0, "one area after the other: {pair:?}");
            }
        }
    }
}

#[test]
fn whole_stripes_need_no_old_data() {
    let mut rival = lraid(settings());
    let done = one(&mut *rival, Way::Write, 5, 20);
    let modified: Vec<u16> = done
        .accesses
        .iter()
        .filter(|(_, act, _)| matches!(act, Act::Modify { .. }))
        .map(|(disk, ..)| *disk)
        .collect();
    // Units 6 to 23 are three stripes of six; 5 and 24 are parts of others.
    assert_eq!(modified.len(), 2);
    assert!(modified.contains(&5) && modified.contains(&0));
    let three = UNIT * 3;
    assert_eq!(done.count(0..6, |act| matches!(act, Act::Write { length, .. } if *length == three)), 6);
}

#[test]
fn reads_are_those_of_raid_0() {
    let mut rival = lraid(settings());
    let done = one(&mut *rival, Way::Read, 0, 60);
    assert_eq!(done.count(0..6, |act| matches!(act, Act::Read { length, .. } if *length == UNIT * 10)), 6);
    assert_eq!(done.accesses.len(), 6);
}

#[test]
fn impossible_arrays_are_refused() {
    let refusal = |settings: Settings| LraidX4::new(&settings).unwrap_err();
    assert!(matches!(refusal(Settings { members: 4, ..settings() }), Refused::Members { .. }));
    assert!(matches!(refusal(Settings { unit: Sectors::ZERO, ..settings() }), Refused::Unit { .. }));
    assert!(matches!(refusal(Settings { memory: UNIT * 9, ..settings() }), Refused::Memory { .. }));
}
