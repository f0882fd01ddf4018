//! Properties of all arrays: monotonicity, bounds, limits; mixes; and refused parameters.

use parlour_model::disk::Disk;
use parlour_model::utilization::coarse::Bandwidths;
use parlour_model::utilization::load::{AIRLINE, Access, Way};
use parlour_model::utilization::reintegration::Targets;
use parlour_model::utilization::{
    Array, Logging, Model, Organization, Reading, Refused, Sublogs, Update, Work,
};
use proptest::prelude::*;

#[track_caller]
fn near(computed: f64, expected: f64, tolerance: f64) {
    assert!((computed - expected).abs() <= tolerance * expected.abs(), "{computed} is not {expected}");
}

fn model(array: Array) -> Model {
    array.model().expect("it can be")
}

fn organizations() -> [Organization; 6] {
    [
        Organization::Nonredundant,
        Organization::Mirrored,
        Organization::Raid4,
        Organization::Raid5,
        Organization::Floating,
        Organization::ParityLogging(Logging::default()),
    ]
}

fn disks() -> impl Strategy<Value = Disk> {
    let times = (2.0..20.0, 1.0..10.0, 0.1..2.0, 0.5..3.0);
    (times, 2u32..30, 1_000u32..5_000, 1.0..200.0).prop_map(|(times, tracks, cylinders, units)| {
        let (seek, rotation, head_switch, single_cylinder_seek) = times;
        let (tracks, cylinders) = (tracks.into(), cylinders.into());
        Disk { seek, rotation, head_switch, single_cylinder_seek, tracks, cylinders, units, unit: 2.0 }
    })
}

fn loggings() -> impl Strategy<Value = Logging> {
    let sublogs = prop_oneof![Just(Sublogs::Unstriped), (1u32..6).prop_map(Sublogs::Striped)];
    (sublogs, 0.3..4.0, 1u32..40, 1u32..3, any::<bool>()).prop_map(
        |(sublogs, ratio, regions, segment, zero_latency)| Logging {
            sublogs,
            ratio,
            regions,
            segment,
            zero_latency,
            reading: Reading::Corrected,
        },
    )
}

fn arrays() -> impl Strategy<Value = Array> {
    let organization = (0usize..6, loggings()).prop_map(|(row, logging)| match organizations()[row] {
        Organization::ParityLogging(_) => Organization::ParityLogging(logging),
        other => other,
    });
    let update = prop_oneof![Just(Update::OneAccess), Just(Update::TwoAccesses)];
    (disks(), 24u32..60, organization, 1u32..4, any::<bool>(), update).prop_map(
        |(disk, disks, organization, failures, preread, update)| {
            let failures = if organization == Organization::Nonredundant { 0 } else { failures };
            Array { disk, disks, organization, failures, preread, update }
        },
    )
}

/// Any parameters.
fn nonsense() -> impl Strategy<Value = Array> {
    let number = || prop_oneof![any::<f64>(), Just(0.0), Just(1.0), 0.0..1e3];
    let disk = proptest::array::uniform8(number()).prop_map(|values| {
        let [seek, rotation, head_switch, single_cylinder_seek, tracks, cylinders, units, unit] = values;
        Disk { seek, rotation, head_switch, single_cylinder_seek, tracks, cylinders, units, unit }
    });
    let disk = prop_oneof![disk, Just(Disk::IBM_0661)];
    let count = || prop_oneof![any::<u32>(), 0u32..30];
    let logging = (count(), number(), count(), count()).prop_map(|(sublogs, ratio, regions, segment)| {
        Logging { sublogs: Sublogs::Striped(sublogs), ratio, regions, segment, ..Logging::default() }
    });
    (disk, count(), 0usize..6, logging, count()).prop_map(|(disk, disks, row, logging, failures)| {
        let organization = match organizations()[row] {
            Organization::ParityLogging(_) => Organization::ParityLogging(logging),
            other => other,
        };
        Array { disk, disks, organization, failures, preread: true, update: Update::OneAccess }
    })
}

fn parts(work: Work) -> [f64; 6] {
    [work.data, work.check, work.log_write, work.log_read, work.parity_read, work.parity_write]
}

proptest! {
    #[test]
    fn work_is_positive_and_rates_follow_from_it(array in arrays(), utilization in 0.01..1.0) {
        let model = model(array);
        let work = model.small_write();
        prop_assert!(parts(work).iter().all(|part| part.is_finite() && *part >= 0.0));
        near(work.total(), parts(work).iter().sum(), 1e-12);
        near(work.overhead(), work.total() - work.data, 1e-9);
        let rate = model.throughput(utilization);
        near(model.throughput(1.0) * utilization, rate, 1e-12);
        near(model.utilization(rate), utilization, 1e-12);
        near(model.throughput_per_disk(utilization) * f64::from(array.disks), rate, 1e-12);
        // The utilization of the busiest disk is at least the mean of all.
        prop_assert!(rate <= utilization * 1e3 * f64::from(array.disks) / work.total() * (1.0 + 1e-12));
        prop_assert!(model.unloaded_response() >= array.disk.access(1.0) * (1.0 - 1e-12));
    }

    #[test]
    fn knowing_old_data_saves_work_where_there_is_parity(array in arrays()) {
        let work = |preread| model(Array { preread, ..array }).small_write();
        let (blind, known) = (work(true), work(false));
        prop_assert_eq!(known.overhead(), blind.overhead());
        let copies = matches!(array.organization, Organization::Nonredundant | Organization::Mirrored);
        prop_assert_eq!(known.data < blind.data, !copies);
        near(known.data, array.disk.access(1.0), 1e-12);
    }

    #[test]
    fn surviving_more_costs_more(array in arrays()) {
        prop_assume!(array.failures > 0);
        let more = Array { failures: array.failures + 1, disks: array.disks + 12, ..array };
        let array = Array { disks: more.disks, ..array };
        let (less, more) = (model(array), model(more));
        prop_assert!(more.small_write().total() > less.small_write().total());
        prop_assert!(more.space_overhead() > less.space_overhead());
        prop_assert!(more.user_capacity() > 0.0 && less.space_overhead() > 0.0);
        prop_assert!(more.memory() >= less.memory());
    }

    #[test]
    fn longer_seeks_cost_more_and_raid_4_is_never_faster_than_raid_5(array in arrays()) {
        let slower = Disk { seek: array.disk.seek * 1.02, ..array.disk };
        let slower = model(Array { disk: slower, ..array });
        prop_assert!(slower.small_write().total() > model(array).small_write().total());
        prop_assume!(array.failures > 0);
        let rate = |organization| model(Array { organization, ..array }).throughput(1.0);
        prop_assert!(rate(Organization::Raid4) <= rate(Organization::Raid5) * (1.0 + 1e-12));
    }

    #[test]
    fn longer_segments_and_zero_latency_make_log_writes_cheaper(disk in disks(), logging in loggings()) {
        let work = |logging| {
            let organization = Organization::ParityLogging(logging);
            model(Array { disk, disks: 40, ..Array::example(organization) }).small_write()
        };
        let longer = Logging { segment: logging.segment + 1, ..logging };
        prop_assume!(f64::from(longer.segment) <= disk.tracks);
        prop_assert!(work(longer).log_write < work(logging).log_write);
        let (waits, begins) = (Logging { zero_latency: false, ..logging }, Logging { zero_latency: true, ..logging });
        // Figure 17(a): the wait is R for each segment's K·D writes.
        let wait = disk.rotation / (f64::from(logging.segment) * disk.units);
        near(work(waits).log_write, work(begins).log_write + wait, 1e-9);
        prop_assert_eq!(work(waits).log_read, work(begins).log_read);
    }

    #[test]
    fn a_longer_log_is_reintegrated_less_often_for_more_space(disk in disks(), logging in loggings()) {
        let with = |ratio| {
            let organization = Organization::ParityLogging(Logging { ratio, ..logging });
            model(Array { disk, disks: 40, ..Array::example(organization) })
        };
        let (shorter, longer) = (with(logging.ratio), with(1.1 * logging.ratio));
        prop_assert!(longer.small_write().parity_read < shorter.small_write().parity_read);
        prop_assert!(longer.space_overhead() > shorter.space_overhead());
        let period = |model: &Model| model.reintegration_period(1.0).expect("it logs");
        prop_assert!(period(&longer) > period(&shorter));
    }

    #[test]
    fn whatever_is_described_is_refused_or_has_a_model(array in nonsense()) {
        if let Ok(model) = array.model() {
            let _ = (model.small_write(), model.throughput(1.0), model.space_overhead(), model.memory());
            let _ = (model.write(3.0), model.read(f64::NAN), model.mean_work(&AIRLINE), model.balance());
            if let Some(logging) = model.logging() {
                let _ = (logging.sublog_read(), logging.buffer_tracks(), logging.whole_tracks(100));
            }
        }
    }
}

#[test]
fn a_log_without_end_costs_no_parity() {
    let with = |ratio| {
        let logging = Logging { ratio, sublogs: Sublogs::Striped(1), regions: 1, ..Logging::default() };
        model(Array::example(Organization::ParityLogging(logging)))
    };
    let work = with(1e9).small_write();
    assert!(work.parity_read < 2e-4, "{work:?}");
    // Reading it takes a pass of each unit, with its share of the switches.
    let disk = Disk::IBM_0661;
    near(work.log_read, (2.0 * disk.rotation + disk.track_switch()) / disk.units, 0.001);
    near(with(1e9).space_overhead(), 1.0, 1e-6);
    near(Bandwidths::LORE.maintenance(1e12), Bandwidths::LORE.least_maintenance(), 1e-9);
}

#[test]
fn figure_17_longer_segments_approach_the_speed_of_cylinders() {
    let disk = Disk::IBM_0661;
    let log_write = |segment| {
        let logging = Logging { segment, ..Logging::default() };
        model(Array::example(Organization::ParityLogging(logging))).small_write().log_write
    };
    // A whole cylinder: the time of one random access to it.
    near(log_write(14), disk.cylinder_run(1.0) / (14.0 * 12.0), 1e-12);
    near(log_write(2), (12.5 + 5.0 * 6.95 + 1.16) / 24.0, 1e-12);
}

#[test]
fn figure_18_seeks_matter_less_where_there_is_more_rotation() {
    let normalized = |seek: f64, organization| {
        let disk = Disk { seek, ..Disk::IBM_0661 };
        let rate = |organization| model(Array { disk, ..Array::example(organization) }).throughput(1.0);
        rate(organization) / rate(Organization::Nonredundant)
    };
    let logging = Organization::ParityLogging(Logging::default());
    for scale in 2..20 {
        let (fast, slow) = (1.25 * f64::from(scale), 1.25 * f64::from(scale + 1));
        near(normalized(fast, Organization::Mirrored), 0.5, 1e-12);
        assert!(normalized(fast, Organization::Raid5) < normalized(slow, Organization::Raid5));
        assert!(normalized(fast, logging) < normalized(slow, logging));
    }
    // The advantage of parity logging over RAID 5 shrinks with the seeks (§5.3).
    let advantage = |seek| normalized(seek, logging) / normalized(seek, Organization::Raid5);
    assert!(advantage(2.5) < advantage(12.5) && advantage(12.5) < advantage(25.0));
}

#[test]
fn one_check_disk_of_raid_4_limits_the_array() {
    let array = Array::example(Organization::Raid4);
    near(model(array).throughput(1.0), 1e3 / Disk::IBM_0661.read_modify_write(1.0), 1e-12);
    near(model(Array { failures: 3, ..array }).throughput(1.0), 3e3 / (3.0 * 34.508_333), 1e-6);
    // Two disks are equally busy.
    let two = Array { disks: 2, ..array };
    let mirrored_parity = Array { organization: Organization::Raid5, ..two };
    near(model(two).throughput(1.0), model(mirrored_parity).throughput(1.0), 1e-12);
    // Reads use only the data disks.
    let reads = [Access { way: Way::Read, share: 1.0, size: 2.0 }];
    let rate = model(array).mix_throughput(&reads, 1.0).expect("it is short");
    near(rate, 21.0 * 1e3 / Disk::IBM_0661.access(1.0), 1e-12);
}

#[test]
fn figure_27_the_airline_mix_by_hand() {
    let work = |organization, preread| {
        let model = model(Array { preread, ..Array::example(organization) });
        model.mean_work(&AIRLINE).expect("all accesses are within a track").total()
    };
    // Of 100 accesses 82 read 408 KB and 18 write 113 KB; a KB passes in 13.9/24 ms.
    let pass = 13.9 / 24.0;
    let access = 19.45 + 5.21 * pass;
    let writes = 0.18 * 19.45 + 1.13 * pass;
    near(work(Organization::Nonredundant, true), access, 1e-12);
    near(work(Organization::Mirrored, true), access + writes, 1e-12);
    near(work(Organization::Raid5, true), access + writes + 2.0 * 0.18 * 13.9, 1e-12);
    near(work(Organization::Raid5, false), access + writes + 0.18 * 13.9, 1e-12);
    let logging = Organization::ParityLogging(Logging::default());
    let overhead = model(Array::example(logging)).small_write().overhead();
    near(work(logging, true), access + 0.18 * 13.9 + 0.565 * overhead, 1e-12);
    near(work(logging, false), access + 0.565 * overhead, 1e-12);
    // Parity logging is substantially better than RAID 5, and as good as mirroring if old data is
    // known.
    assert!(work(Organization::Raid5, true) > 1.09 * work(logging, true));
    near(work(logging, false), work(Organization::Mirrored, false), 0.01);
    let model = model(Array::example(logging));
    let rate = model.mix_throughput(&AIRLINE, 0.9).expect("all accesses are within a track");
    near(rate, 0.9 * 22.0 * 1e3 / work(logging, true), 1e-12);
}

#[test]
fn a_write_of_several_units_is_logged_unit_by_unit() {
    let model = model(Array::example(Organization::ParityLogging(Logging::default())));
    let (one, six) = (model.small_write(), model.write(6.0).expect("it is within a track"));
    near(six.overhead(), 6.0 * one.overhead(), 1e-12);
    near(six.data - one.data, 5.0 * 13.9 / 12.0, 1e-12);
    assert_eq!(model.write(1.0), Ok(one));
}

#[test]
fn reintegration_is_shorter_with_more_sublogs_and_no_longer_with_a_common_target() {
    let takes = |sublogs, targets| {
        let logging = Logging { sublogs: Sublogs::Striped(sublogs), ..Logging::default() };
        let model = model(Array::example(Organization::ParityLogging(logging)));
        model.logging().expect("it logs").reintegration(targets, 0.0).total()
    };
    // With more than eight sublogs, regions' parity and logs become so much longer that the time
    // increases again.
    for sublogs in 2..=8 {
        assert!(takes(sublogs, Targets::Common) < takes(sublogs - 1, Targets::Common));
        assert!(takes(sublogs, Targets::Common) < takes(sublogs, Targets::Independent));
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let example = Array::example(Organization::Raid5);
    let told = |array: Array| array.model().expect_err("it cannot be").to_string();
    let logging = |with| Array::example(Organization::ParityLogging(with));
    let default = Logging::default();

    assert_eq!(told(Array { failures: 0, ..example }), "failures: 0 is not possible; it must be 1 or more");
    let none = Array { failures: 1, ..Array::example(Organization::Nonredundant) };
    assert_eq!(told(none), "failures: 1 is not possible; a nonredundant array survives 0");
    assert!(
        told(Array { disks: 1, ..example }).starts_with("disks: 1 are too few; this organization needs 2")
    );
    assert!(
        told(Array { disk: Disk { seek: -1.0, ..example.disk }, ..example }).starts_with("disk.seek: -1")
    );
    let single = Disk { tracks: 1.0, ..example.disk };
    let floating = Array { disk: single, ..Array::example(Organization::Floating) };
    assert!(told(floating).starts_with("disk.tracks: floating"));

    assert!(told(logging(Logging { sublogs: Sublogs::Striped(0), ..default })).starts_with("sublogs: 0"));
    assert!(
        told(logging(Logging { ratio: 0.0, ..default }))
            .starts_with("ratio: 0 is not possible; it must be positive")
    );
    assert!(told(logging(Logging { ratio: f64::NAN, ..default })).starts_with("ratio: NaN"));
    assert!(told(logging(Logging { regions: 0, ..default })).starts_with("regions: 0"));
    assert!(told(logging(Logging { segment: 0, ..default })).starts_with("segment: 0"));
    assert!(told(logging(Logging { segment: 15, ..default })).starts_with("segment: 15"));
    assert!(told(logging(Logging { regions: 100_000, ..default })).contains("so few that a sublog has room"));
    let wide = logging(Logging { sublogs: Sublogs::Striped(21), ..default });
    assert_eq!(told(wide), "disks: 22 are too few; this organization needs 23 or more");
    let twice = Array { failures: 2, ..logging(Logging { sublogs: Sublogs::Striped(10), ..default }) };
    assert_eq!(told(twice), "disks: 22 are too few; this organization needs 23 or more");
}

#[test]
fn accesses_that_are_not_modelled_are_refused() {
    let raid5 = model(Array::example(Organization::Raid5));
    assert_eq!(raid5.write(12.5), Err(Refused::Size { units: 12.5, most: 12.0 }));
    assert_eq!(raid5.read(0.0), Err(Refused::Size { units: 0.0, most: 12.0 }));
    assert!(raid5.read(f64::NAN).is_err() && raid5.read(12.0).is_ok());
    assert_eq!(raid5.mean_work(&[]), Err(Refused::EmptyMix));
    // Not even one unit is within a track.
    let long = Disk { units: 0.5, ..Disk::IBM_0661 };
    let refused = Array { disk: long, ..Array::example(Organization::Raid5) }.model().map(drop);
    assert_eq!(refused, Err(Refused::Size { units: 1.0, most: 0.5 }));
    let floating = model(Array::example(Organization::Floating));
    assert_eq!(floating.mean_work(&AIRLINE), Err(Refused::FloatingSize { units: 0.5 }));
    assert_eq!(floating.write(1.0), Ok(floating.small_write()));
    assert!(floating.read(6.0).is_ok());
}
