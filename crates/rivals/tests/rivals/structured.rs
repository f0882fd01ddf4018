use parlour_rivals::structured::{LogStructured, Settings};
use parlour_rivals::{Act, Refused, Rival, Way};
use parlour_units::Sectors;

use super::{LENGTH, Random, UNIT, measured, one, small_writes, survives};

/// Segments of 4 rows of 5 units, 840 of them.
fn settings(utilization: f64) -> Settings {
    Settings {
        members: 6,
        length: LENGTH,
        unit: UNIT,
        segment: UNIT * 4,
        utilization,
        memory: UNIT * 100,
        volatile: false,
    }
}

fn structured(settings: Settings) -> Box<dyn Rival> {
    Box::new(LogStructured::new(&settings).unwrap())
}

#[test]
fn every_unit_is_where_the_map_says_and_all_is_answered() {
    survives(|| structured(settings(0.75)));
    survives(|| structured(Settings { volatile: true, ..settings(0.75) }));
    survives(|| structured(Settings { memory: UNIT * 20, ..settings(0.9) }));
}

#[test]
fn writing_costs_what_the_formula_says_of_cleaned_segments() {
    for (utilization, least, most) in [(0.5, 2.2, 3.0), (0.75, 4.4, 6.5), (0.85, 7.0, 16.0)] {
        // 630 segments of 80 units: hardly one is empty before it is cleaned.
        let own = Settings { length: LENGTH * 3, segment: UNIT * 16, ..settings(utilization) };
        let mut rival = structured(own);
        let mut random = Random(1);
        rival.age(&mut |bound| random.below(bound));
        small_writes(&mut *rival, 30, 100_000);
        let (cost, live) =
            (measured(&*rival, "write cost"), measured(&*rival, "live part of cleaned segments"));
        // Rosenblum and Ousterhout, section 3.4, formula 1.
        let formula = 2.0 / (1.0 - live);
        assert!((cost / formula - 1.0).abs() < 0.03, "{utilization}: {cost}, by the formula {formula}");
        assert!((least..most).contains(&cost), "{utilization}: {cost}");
    }
}

#[test]
fn whole_segments_are_whole_stripes() {
    let mut rival = structured(settings(0.5));
    // 20 slots, one of them for the summary.
    let done = one(&mut *rival, Way::Write, 0, 19 * 3);
    assert_eq!(done.count(0..6, |act| matches!(act, Act::Write { length, .. } if *length == UNIT * 4)), 18);
    assert_eq!(done.accesses.len(), 18);
}

#[test]
fn without_memory_that_survives_a_write_is_a_row_on_all_members() {
    let mut rival = structured(Settings { volatile: true, ..settings(0.5) });
    let done = one(&mut *rival, Way::Write, 0, 1);
    assert_eq!(done.count(0..6, |act| matches!(act, Act::Write { length, .. } if *length == UNIT)), 6);
    // Those that wait share rows.
    let done = small_writes(&mut *rival, 40, 4_000);
    assert!(done.accesses.len() < 6 * 4_000 / 4, "{}", done.accesses.len());
}

#[test]
fn units_written_together_are_read_together_and_aged_ones_are_not() {
    let mut rival = structured(settings(0.5));
    one(&mut *rival, Way::Write, 0, 19 * 4);
    let done = one(&mut *rival, Way::Read, 0, 19 * 4);
    assert_eq!(done.accesses.len(), 4 * 5, "each segment on five disks");
    let mut random = Random(1);
    let mut rival = structured(settings(0.5));
    rival.age(&mut |bound| random.below(bound));
    let done = one(&mut *rival, Way::Read, 0, 19 * 4);
    assert!(done.accesses.len() > 60, "{}", done.accesses.len());
}

#[test]
fn impossible_arrays_are_refused() {
    let refusal = |settings: Settings| LogStructured::new(&settings).unwrap_err();
    assert!(matches!(refusal(Settings { members: 2, ..settings(0.5) }), Refused::Members { .. }));
    assert!(matches!(refusal(Settings { unit: Sectors::ZERO, ..settings(0.5) }), Refused::Unit { .. }));
    assert!(matches!(refusal(Settings { memory: UNIT, ..settings(0.5) }), Refused::Memory { .. }));
    assert!(matches!(refusal(settings(0.97)), Refused::Utilization { .. }));
    assert!(matches!(refusal(settings(f64::NAN)), Refused::Utilization { .. }));
    let short = Settings { unit: Sectors::new(1), segment: Sectors::new(1), members: 3, ..settings(0.5) };
    assert!(LogStructured::new(&short).is_ok(), "a unit beside its summary");
}
