//! Properties of all arrays: the paper's formulas by hand, monotonicity, bounds, limits; mixes; and
//! refused parameters.

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

/// The parts of the cost of a write, as the paper prints its formulas: `t_w`, `t_rmw`, `t_Ktrack`,
/// `t_CL` and `t_CP` of §3, the floating write of §4, and the copies and check units of §9.
fn by_hand(array: &Array, units: f64) -> [f64; 6] {
    let Disk {
        seek: s, rotation: r, head_switch: h, single_cylinder_seek: m, tracks: t, cylinders: v, ..
    } = array.disk;
    let (d, n, f) = (array.disk.units, f64::from(array.disks), f64::from(array.failures));
    let write = s + (1.0 + 2.0 * units / d) * r;
    let in_place = match array.update {
        Update::OneAccess => s + (3.0 + 2.0 * units / d) * r,
        Update::TwoAccesses => 2.0 * write,
    };
    let floating = s + (1.0 + 5.52 / d) * r + h;
    let of_data = |preread| if array.preread { preread } else { write };
    let logging = match array.organization {
        Organization::Nonredundant => return [write, 0.0, 0.0, 0.0, 0.0, 0.0],
        Organization::Mirrored => return [write, f * write, 0.0, 0.0, 0.0, 0.0],
        Organization::Raid4 | Organization::Raid5 => {
            return [of_data(in_place), f * in_place, 0.0, 0.0, 0.0, 0.0];
        }
        Organization::Floating => return [of_data(floating), f * floating, 0.0, 0.0, 0.0, 0.0],
        Organization::ParityLogging(logging) => logging,
    };
    let (k, l, a) = (f64::from(logging.segment), f64::from(logging.sublogs.count()), logging.ratio);
    let c_p = n * v / (f64::from(logging.regions) * (n - f * l + f * a));
    let c_l = a * c_p;
    let wait = if logging.zero_latency { 0.0 } else { r };
    let t_ktrack = s + wait + 2.0 * k * r + (k - 1.0) * h;
    // With a seek to the next cylinder after each cylinder of a disk's part but its last.
    let long = |disks: f64, cylinders: f64| {
        disks * (s + r) + cylinders * (2.0 * r * t + (t - 1.0) * h) + f64::max(cylinders - disks, 0.0) * m
    };
    let t_cp = long(if logging.sublogs == Sublogs::Unstriped { n - 1.0 } else { n }, c_p);
    let logged = units / (d * t * c_l);
    let parity = f * t_cp * logged;
    [of_data(in_place), 0.0, f * t_ktrack * units / (k * d), long(l, c_l) * logged, parity, parity]
}

/// What is wrong with an array, by the names that messages begin with.
fn wrong(array: &Array) -> Vec<&'static str> {
    let mut wrong = Vec::new();
    let mut refuse = |name, possible: bool| {
        if !possible {
            wrong.push(name);
        }
    };
    let disk = array.disk;
    let time = |value: f64| value.is_finite() && value >= 0.0;
    let size = |value: f64| value.is_finite() && value > 0.0;
    let count = |value: f64| value.is_finite() && value >= 1.0;
    refuse("disk.seek:", time(disk.seek));
    refuse("disk.head_switch:", time(disk.head_switch));
    refuse("disk.single_cylinder_seek:", time(disk.single_cylinder_seek));
    refuse("disk.rotation:", size(disk.rotation));
    refuse("disk.units:", size(disk.units));
    refuse("disk.unit:", size(disk.unit));
    refuse("disk.tracks:", count(disk.tracks));
    refuse("disk.cylinders:", count(disk.cylinders));
    refuse("an access of 1 data units", disk.units >= 1.0);
    refuse("failures:", (array.failures == 0) == (array.organization == Organization::Nonredundant));
    let (disks, failures) = (u64::from(array.disks), u64::from(array.failures));
    refuse("disks:", disks > failures);
    match array.organization {
        Organization::Floating => refuse("disk.tracks: floating", disk.tracks >= 2.0),
        Organization::ParityLogging(logging) => {
            let (sublogs, ratio) = (u64::from(logging.sublogs.count()), logging.ratio);
            refuse("sublogs:", sublogs > 0);
            refuse("ratio:", size(ratio));
            refuse("regions:", logging.regions > 0);
            refuse("disks:", disks > failures.saturating_mul(sublogs + 1));
            let (segment, failures) = (f64::from(logging.segment), failures as f64);
            refuse("segment:", segment >= 1.0 && segment <= disk.tracks);
            // The tracks of each sublog.
            let shares = disks as f64 - failures * sublogs as f64 + failures * ratio;
            let parity = disks as f64 * disk.cylinders / (f64::from(logging.regions) * shares);
            refuse("regions:", ratio * parity / sublogs as f64 * disk.tracks >= segment);
        }
        _ => {}
    }
    wrong
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
    fn costs_are_those_of_the_papers_formulas(array in arrays(), part in 0.01..1.0) {
        let model = model(array);
        for (found, expected) in parts(model.small_write()).into_iter().zip(by_hand(&array, 1.0)) {
            near(found, expected, 1e-9);
        }
        // Longer accesses, up to a track.
        let units = part * array.disk.units;
        let pass = units * 2.0 * array.disk.rotation / array.disk.units;
        let read = model.read(units).expect("it is within a track");
        near(read.total(), array.disk.seek + array.disk.rotation + pass, 1e-9);
        match model.write(units) {
            Ok(write) => {
                for (found, expected) in parts(write).into_iter().zip(by_hand(&array, units)) {
                    near(found, expected, 1e-9);
                }
            }
            Err(refused) => {
                prop_assert_eq!(array.organization, Organization::Floating);
                prop_assert_eq!(refused, Refused::FloatingSize { units });
            }
        }
    }

    #[test]
    fn the_cost_of_a_mix_lies_between_its_cheapest_and_its_dearest_access(
        array in arrays(), shares in proptest::array::uniform3(0.0..1.0), size in 0.1..1.0,
    ) {
        let unit = array.disk.unit;
        let access = |way, share, units: f64| Access { way, share, size: units * unit };
        let mix = [
            access(Way::Read, shares[0], size),
            access(Way::Write, shares[1], 1.0),
            access(Way::Read, shares[2], 1.0),
        ];
        let model = model(array);
        let costs = [model.read(size), model.write(1.0), model.read(1.0)].map(|work| work.expect("it is short").total());
        let mean = model.mean_work(&mix).expect("all are short").total();
        let by_hand = shares.iter().zip(costs).map(|(share, cost)| share * cost).sum::<f64>() / shares.iter().sum::<f64>();
        near(mean, by_hand, 1e-9);
        prop_assert!(costs.iter().any(|cost| *cost <= mean * (1.0 + 1e-9)));
        prop_assert!(costs.iter().any(|cost| *cost >= mean * (1.0 - 1e-9)));
        let rate = model.mix_throughput(&mix, 0.5).expect("all are short");
        near(2.0 * rate, model.mix_throughput(&mix, 1.0).expect("all are short"), 1e-12);
    }

    #[test]
    fn regions_of_whole_tracks_fit(disk in disks(), logging in loggings(), regions in 1u32..300) {
        let organization = Organization::ParityLogging(logging);
        let model = model(Array { disk, disks: 40, ..Array::example(organization) });
        let logs = model.logging().expect("it logs");
        if let Some(whole) = logs.whole_tracks(regions) {
            prop_assert_eq!((whole.parity.fract(), whole.sublog.fract()), (0.0, 0.0));
            prop_assert!((-1e-9..1.0).contains(&whole.waste), "{whole:?}");
            let sublog = logging.ratio * 40.0 * whole.parity / f64::from(logging.sublogs.count());
            prop_assert!(whole.sublog <= sublog + 1e-6 && sublog < whole.sublog + 1.0, "{whole:?}");
        }
        // The buffer of one region's parity is less than a track longer than the parity.
        let parity = logs.buffer_tracks() - f64::from(logging.segment * logging.regions);
        let exact = logs.parity() * disk.tracks;
        prop_assert!(parity >= exact - 1e-6 && parity < exact + 1.0, "{parity} for {exact}");
    }

    #[test]
    fn what_is_impossible_is_refused_by_the_name_of_something_wrong(array in nonsense()) {
        let wrong = wrong(&array);
        match array.model() {
            Ok(_) => prop_assert!(wrong.is_empty(), "{wrong:?} was not refused"),
            Err(refused) => {
                let refused = refused.to_string();
                prop_assert!(wrong.iter().any(|name| refused.starts_with(name)), "{refused}, not {wrong:?}");
            }
        }
    }

    #[test]
    fn a_disk_with_one_impossible_value_is_refused_by_its_name(
        array in arrays(),
        which in 0usize..8,
        value in prop_oneof![-10.0..1.0, Just(f64::NAN), Just(f64::INFINITY)],
    ) {
        let Disk { seek, rotation, head_switch, single_cylinder_seek, tracks, cylinders, units, unit } = array.disk;
        let mut values = [seek, rotation, head_switch, single_cylinder_seek, tracks, cylinders, units, unit];
        values[which] = value;
        let [seek, rotation, head_switch, single_cylinder_seek, tracks, cylinders, units, unit] = values;
        let disk = Disk { seek, rotation, head_switch, single_cylinder_seek, tracks, cylinders, units, unit };
        let array = Array { disk, ..array };
        let wrong = wrong(&array);
        match (array.model(), wrong.first()) {
            (Ok(_), None) => {}
            (Err(refused), Some(name)) => prop_assert!(refused.to_string().starts_with(name), "{refused}, not {name}"),
            (found, _) => prop_assert!(false, "{wrong:?}: {found:?}"),
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
