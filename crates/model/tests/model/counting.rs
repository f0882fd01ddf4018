//! Compares the formulas of parity logging with a controller that does the accesses one by one and
//! adds their times; with enumeration; and with integrals.

use parlour_model::disk::Disk;
use parlour_model::utilization::reintegration::{Targets, long_seek, longest_stroke};
use parlour_model::utilization::{
    Array, Logging, Model, Organization, Reading, Sublogs, Update, Work, regions,
};

/// Small, with parameters that have no common factors with those of others.
const DISK: Disk = Disk {
    seek: 11.0,
    rotation: 7.0,
    head_switch: 1.3,
    single_cylinder_seek: 1.9,
    tracks: 4.0,
    cylinders: 60.0,
    units: 6.0,
    unit: 2.0,
};

#[track_caller]
fn near(computed: f64, expected: f64, tolerance: f64) {
    assert!((computed - expected).abs() <= tolerance * expected.abs(), "{computed} is not {expected}");
}

fn model(array: Array) -> Model {
    array.model().expect("it can be")
}

fn array(disks: u32, cylinders: f64, failures: u32, logging: Logging) -> Array {
    let organization = Organization::ParityLogging(logging);
    let disk = Disk { cylinders, ..DISK };
    Array { disk, disks, organization, failures, preread: true, update: Update::OneAccess }
}

/// The time of a random access to `tracks` from a cylinder's beginning on, track by track.
fn walk(tracks: u32) -> f64 {
    let time = |track: u32| match track {
        0 => DISK.seek + DISK.rotation,
        first if first.is_multiple_of(DISK.tracks as u32) => DISK.single_cylinder_seek,
        _ => DISK.head_switch,
    };
    (0..tracks).map(|track| time(track) + 2.0 * DISK.rotation).sum()
}

/// The controller of a region.
struct Controller {
    /// The tracks of a log write.
    segment: u32,
    /// The tracks of each sublog.
    sublogs: Vec<u32>,
    /// The tracks of parity on each disk that has some.
    parity: Vec<u32>,
    failures: u32,
}

impl Controller {
    /// Writes units until the logs were full `cycles` times. Returns the mean cost of each unit.
    fn cycles(&self, cycles: u32) -> Work {
        let mut work = Work::default();
        let (mut written, mut done) = (0u32, 0);
        let (mut buffered, mut used) = (0, vec![0; self.sublogs.len()]);
        let mut sublog = 0;
        while done < cycles {
            written += 1;
            work.data += DISK.seek + DISK.rotation + 2.0 * DISK.rotation / DISK.units + 2.0 * DISK.rotation;
            buffered += 1;
            if buffered < self.segment * DISK.units as u32 {
                continue;
            }
            buffered = 0;
            for _copy in 0..self.failures {
                work.log_write += walk(self.segment);
            }
            used[sublog] += self.segment;
            sublog = (sublog + 1) % self.sublogs.len();
            if used == self.sublogs {
                work.log_read += self.sublogs.iter().map(|tracks| walk(*tracks)).sum::<f64>();
                for _set in 0..self.failures {
                    let parity: f64 = self.parity.iter().map(|tracks| walk(*tracks)).sum();
                    work.parity_read += parity;
                    work.parity_write += parity;
                }
                used.fill(0);
                done += 1;
            }
        }
        let part = |sum| sum / f64::from(written);
        Work {
            data: part(work.data),
            check: 0.0,
            log_write: part(work.log_write),
            log_read: part(work.log_read),
            parity_read: part(work.parity_read),
            parity_write: part(work.parity_write),
        }
    }
}

#[track_caller]
fn same(computed: Work, counted: Work) {
    near(computed.data, counted.data, 1e-12);
    near(computed.log_write, counted.log_write, 1e-12);
    near(computed.log_read, counted.log_read, 1e-12);
    near(computed.parity_read, counted.parity_read, 1e-12);
    near(computed.parity_write, counted.parity_write, 1e-12);
    assert_eq!(computed.check, 0.0);
}

#[test]
fn a_striped_log_costs_what_a_controller_counts() {
    // Six disks of 50 cylinders, of which parity and log are 60 each, in one region: 30 of each
    // sublog's disk, 10 of each disk's parity.
    for segment in [1, 2, 3] {
        let with = Logging { sublogs: Sublogs::Striped(2), regions: 1, segment, ..Logging::default() };
        let controller = Controller { segment, sublogs: vec![120; 2], parity: vec![40; 6], failures: 1 };
        same(model(array(6, 50.0, 1, with)).small_write(), controller.cycles(3));
    }
}

#[test]
fn a_log_that_is_longer_than_the_parity_costs_what_a_controller_counts() {
    // Two regions, of 18 cylinders of parity and 54 of log each: 3 of each disk's parity, 18 of
    // each sublog.
    let with = Logging { sublogs: Sublogs::Striped(3), ratio: 3.0, regions: 2, ..Logging::default() };
    let controller = Controller { segment: 1, sublogs: vec![72; 3], parity: vec![12; 6], failures: 1 };
    same(model(array(6, 36.0, 1, with)).small_write(), controller.cycles(2));
}

#[test]
fn an_unstriped_log_costs_what_a_controller_counts() {
    let with = Logging { regions: 1, segment: 2, ..Logging::default() };
    let controller = Controller { segment: 2, sublogs: vec![200], parity: vec![40; 5], failures: 1 };
    same(model(array(6, 50.0, 1, with)).small_write(), controller.cycles(3));
}

#[test]
fn surviving_two_failures_costs_what_a_controller_counts() {
    // Eight disks of 60 cylinders: two copies of a log on two disks each, two sets of check units;
    // 80 cylinders each.
    let with = Logging { sublogs: Sublogs::Striped(2), regions: 1, ..Logging::default() };
    let controller = Controller { segment: 1, sublogs: vec![160; 2], parity: vec![40; 8], failures: 2 };
    same(model(array(8, 60.0, 2, with)).small_write(), controller.cycles(2));
}

#[test]
fn less_than_a_cylinder_a_disk_takes_no_seek_within_it() {
    // Parity and log of a region are 6 cylinders, of which twelve disks have halves.
    let with = Logging { sublogs: Sublogs::Striped(1), regions: 10, ..Logging::default() };
    let array = array(12, 60.0, 1, with);
    let halves = 12.0 * (DISK.seek + DISK.rotation) + 6.0 * DISK.cylinder_pass();
    near(model(array).logging().expect("it logs").parity_access(), halves, 1e-12);
    let printed = Array {
        organization: Organization::ParityLogging(Logging { reading: Reading::Unclamped, ..with }),
        ..array
    };
    let less = halves - 6.0 * DISK.single_cylinder_seek;
    near(model(printed).logging().expect("it logs").parity_access(), less, 1e-12);
}

#[test]
fn the_readings_of_the_print_are_what_they_are_said_to_be() {
    let costs = |reading| {
        let with = Logging { sublogs: Sublogs::Striped(2), reading, regions: 1, ..Logging::default() };
        let model = model(array(6, 50.0, 1, with));
        let logging = model.logging().expect("it logs");
        (logging.log_read(), logging.parity_access())
    };
    // 60 cylinders each; six disks of ten, two of thirty.
    let (pass, seek) = (4.0 * 14.0 + 3.0 * 1.3, 18.0);
    let parity = 6.0 * seek + 60.0 * pass + 54.0 * 1.9;
    let log = 2.0 * seek + 60.0 * pass + 58.0 * 1.9;
    let more = 60.0 * 2.0 * 1.3;
    let one_access = seek + 60.0 * pass + more + 59.0 * 1.9;
    let printed = [
        (Reading::Corrected, log, parity),
        (Reading::Unclamped, log, parity),
        (Reading::Simplified, log, parity + more),
        (Reading::Figure13, one_access, one_access),
    ];
    for (reading, log, parity) in printed {
        near(costs(reading).0, log, 1e-12);
        near(costs(reading).1, parity, 1e-12);
    }
}

/// Errata: §3 prints `L(S + R − M)`, its terms differ by `(L + 1)(S + R − M)`.
#[test]
fn striping_costs_an_access_more_for_each_sublog_and_one() {
    let total = |sublogs, reading| {
        let with = Logging { sublogs, reading, regions: 1, ..Logging::default() };
        let model = model(array(6, 50.0, 1, with));
        let logging = model.logging().expect("it logs");
        // The same region, so that only the striping differs.
        let scale = 50.0 / logging.parity();
        let disk = Disk { cylinders: 50.0 * scale, ..DISK };
        let model = Array { disk, ..*model.array() }.model().expect("it can be");
        let logging = model.logging().expect("it logs");
        near(logging.parity(), 50.0, 1e-12);
        logging.log_read() + 2.0 * logging.parity_access()
    };
    let access = DISK.seek + DISK.rotation - DISK.single_cylinder_seek;
    for reading in [Reading::Corrected, Reading::Unclamped] {
        for sublogs in 1..=4 {
            let more = total(Sublogs::Striped(sublogs), reading) - total(Sublogs::Unstriped, reading);
            near(more, f64::from(sublogs + 1) * access, 1e-9);
        }
    }
}

#[test]
fn regions_fill_the_array_and_their_parity_protects_their_data() {
    for (disks, failures, sublogs, ratio) in
        [(22, 1, 1, 1.0), (22, 1, 6, 0.5), (22, 2, 3, 2.0), (40, 3, 6, 1.5)]
    {
        let with = Logging { sublogs: Sublogs::Striped(sublogs), ratio, regions: 7, ..Logging::default() };
        let model = model(array(disks, 949.0, failures, with));
        let logging = model.logging().expect("it logs");
        let (n, f, l) = (f64::from(disks), f64::from(failures), f64::from(sublogs));
        // Each cylinder of check units corresponds to a stripe over the disks without log of its
        // region.
        let data = (n - f * l - f) * logging.parity();
        let redundant = f * (logging.parity() + logging.log());
        near(7.0 * (data + redundant), n * 949.0, 1e-12);
        near(model.space_overhead(), redundant / (data + redundant), 1e-12);
        near(logging.cycle(), 6.0 * 4.0 * logging.log(), 1e-12);
    }
}

#[test]
fn other_organizations_lose_what_counting_says() {
    let overhead =
        |organization, failures| model(Array { failures, ..Array::example(organization) }).space_overhead();
    for failures in 1..=3 {
        let lost = f64::from(failures);
        near(overhead(Organization::Mirrored, failures), lost / (lost + 1.0), 1e-12);
        near(overhead(Organization::Raid4, failures), lost / 22.0, 1e-12);
        near(overhead(Organization::Raid5, failures), lost / 22.0, 1e-12);
        // 13 tracks of 14 on 22 disks, less the check units.
        let data = 13.0 * (22.0 - lost);
        near(overhead(Organization::Floating, failures), (14.0 * 22.0 - data) / (14.0 * 22.0), 1e-12);
    }
}

#[test]
fn as_many_sublogs_as_balance_make_log_disks_as_busy_as_data_disks() {
    for preread in [true, false] {
        for (failures, segment) in [(1, 1), (1, 4), (2, 1)] {
            let with = Logging { segment, ..Logging::default() };
            let array = Array { disks: 22, preread, ..array(22, 949.0, failures, with) };
            let model = model(array);
            let logging = model.logging().expect("it logs");
            let write = model.small_write().data;
            let sublogs = logging.balanced_sublogs(write);
            let data_disks = 22.0 - f64::from(failures) * sublogs;
            let writes = logging.cycle();
            let segments = writes / (6.0 * f64::from(segment));
            let log = segments * walk(segment) + DISK.cylinder_run(logging.log());
            near(writes * write / data_disks, log / sublogs, 1e-9);
            near(model.balance().expect("it logs"), sublogs / 22.0, 1e-12);
        }
    }
}

#[test]
fn a_region_is_due_after_as_many_writes_as_its_log_takes() {
    let model = model(array(6, 50.0, 1, Logging { regions: 1, ..Logging::default() }));
    // 50 cylinders of 4 tracks of 6 units; the disks have no other load.
    let writes = 50.0 * 4.0 * 6.0;
    let period = model.reintegration_period(1.0).expect("it logs");
    near(period, writes * model.small_write().total() / 6.0, 1e-12);
    near(model.reintegration_period(0.5).expect("it logs"), 2.0 * period, 1e-12);
    assert_eq!(
        Array::example(Organization::Raid5).model().expect("it can be").reintegration_period(1.0),
        None
    );
}

#[test]
fn a_reintegration_is_a_long_seek_and_the_passes_of_the_fullest_disk() {
    for failures in [1, 2] {
        let with = Logging { sublogs: Sublogs::Striped(2), regions: 1, ..Logging::default() };
        let (disks, cylinders) = if failures == 1 { (6, 50.0) } else { (8, 60.0) };
        let model = model(array(disks, cylinders, failures, with));
        let reintegration = model.logging().expect("it logs").reintegration(Targets::Common, 3.0);
        let seek =
            |tracks: u32| walk(tracks) - DISK.seek + long_seek(&DISK, longest_stroke(disks, Targets::Common));
        // Sublogs of 30 and 40 cylinders, and 10 cylinders of each disk for each set of check
        // units.
        let (log, parity) = if failures == 1 { (120, 40) } else { (160, 80) };
        near(reintegration.load, seek(log + parity), 1e-12);
        near(reintegration.write, seek(parity), 1e-12);
        near(reintegration.total(), reintegration.load + reintegration.write + 3.0, 1e-12);
    }
}

#[test]
fn reintegrating_less_than_a_cylinder_a_disk_takes_no_negative_seek() {
    let with = Logging { regions: 100, ..Logging::default() };
    let reading = |reading| {
        let organization = Organization::ParityLogging(Logging { reading, ..with });
        let model = model(Array::example(organization));
        model.logging().expect("it logs").reintegration(Targets::Independent, 0.0)
    };
    let (corrected, printed) = (reading(Reading::Corrected), reading(Reading::Unclamped));
    near(corrected.load, printed.load, 1e-12);
    near(corrected.write - printed.write, (1.0 - 9.49 / 22.0) * 2.0, 1e-9);
}

/// The mean of the longest of `arms` distances between random points of a grid and targets, which
/// are independent or one common point.
fn enumerated(arms: u32, targets: Targets) -> f64 {
    let points = 600;
    let place = |index: usize| (index as f64 + 0.5) / points as f64;
    let longest = |mut distances: Vec<f64>| {
        distances.sort_by(f64::total_cmp);
        let all = distances.len() as f64;
        let within = |count: usize| (count as f64 / all).powi(arms as i32);
        let part = |(index, distance): (usize, &f64)| distance * (within(index + 1) - within(index));
        distances.iter().enumerate().map(part).sum::<f64>()
    };
    let from = |target: usize| (0..points).map(move |arm| (place(arm) - place(target)).abs());
    match targets {
        Targets::Common => {
            (0..points).map(|target| longest(from(target).collect())).sum::<f64>() / points as f64
        }
        Targets::Independent => longest((0..points).flat_map(from).collect()),
    }
}

#[test]
fn the_longest_of_several_seeks_is_what_enumeration_says() {
    for arms in [1, 2, 3, 5, 10, 22, 60] {
        for targets in [Targets::Common, Targets::Independent] {
            near(longest_stroke(arms, targets), enumerated(arms, targets), 0.004);
        }
    }
    near(longest_stroke(1, Targets::Common), 1.0 / 3.0, 1e-12);
    near(longest_stroke(1, Targets::Independent), 1.0 / 3.0, 1e-12);
    // Errata: disks that all go to one region seek over at most three quarters of the stroke.
    near(longest_stroke(1_000_000, Targets::Common), 0.75, 1e-5);
    near(longest_stroke(1_000_000, Targets::Independent), 1.0, 1e-3);
}

#[test]
fn a_mean_stroke_takes_a_mean_seek_and_a_full_one_twice_that() {
    near(long_seek(&DISK, 1.0 / 3.0), 11.0, 1e-12);
    near(long_seek(&DISK, 1.0), 22.0, 1e-12);
}

#[test]
fn the_cheapest_number_of_regions_is_the_best_of_all() {
    for segment in 1..=4 {
        let cheapest = regions::cheapest(&Disk::IBM_0661, segment);
        let memory = |regions: u32| regions::memory_tracks(&Disk::IBM_0661, segment, regions.into());
        let best =
            (1..2_000).min_by(|one, other| memory(*one).total_cmp(&memory(*other))).expect("there are some");
        assert!((f64::from(best) - cheapest).abs() <= 1.0, "{best} {cheapest}");
        let least = 2.0 * (14.0 * 949.0 * f64::from(segment)).sqrt();
        near(regions::memory_tracks(&Disk::IBM_0661, segment, cheapest), least, 1e-12);
    }
}

#[test]
fn some_number_of_regions_within_a_tenth_of_the_cheapest_wastes_less_than_a_hundredth() {
    let mut worst: f64 = 0.0;
    for ratio in [0.5, 1.0, 2.0] {
        for sublogs in 1..=13 {
            let with = Logging { sublogs: Sublogs::Striped(sublogs), ratio, ..Logging::default() };
            let model = model(Array::example(Organization::ParityLogging(with)));
            let logging = model.logging().expect("it logs");
            let best = logging.best_whole_tracks(0.1).expect("there is room");
            assert!(best.waste >= 0.0 && best.waste < 0.01, "A = {ratio}, L = {sublogs}: {best:?}");
            assert!((104..=126).contains(&best.regions));
            let cheapest = logging.whole_tracks(115).expect("there is room");
            assert!(cheapest.waste >= best.waste);
            worst = worst.max(cheapest.waste);
        }
    }
    // The best of all for two sublogs, found by trying all by hand.
    let with = Logging { sublogs: Sublogs::Striped(2), ..Logging::default() };
    let model = model(Array::example(Organization::ParityLogging(with)));
    let best = model.logging().expect("it logs").best_whole_tracks(0.1).expect("there is room");
    assert_eq!((best.regions, best.parity, best.sublog), (105, 6.0, 66.0));
    // Without optimization, a considerable part of the array may be unused.
    assert!(worst > 0.1, "{worst}");
}

#[test]
fn whole_tracks_are_counted() {
    // Parity of 5 tracks a disk, 110 in a region; a log of 110; and 20 times the parity as data.
    let model = model(Array::example(Organization::ParityLogging(Logging::default())));
    let whole = model.logging().expect("it logs").whole_tracks(115).expect("there is room");
    assert_eq!((whole.parity, whole.sublog), (5.0, 110.0));
    let all = 22.0 * 14.0 * 949.0;
    near(whole.waste, 1.0 - 115.0 * (110.0 + 110.0 + 20.0 * 110.0) / all, 1e-9);
    assert_eq!(model.logging().expect("it logs").whole_tracks(14 * 949), None);
    let last = model.logging().expect("it logs").whole_tracks(14 * 949 / 22).expect("there is room for one");
    assert_eq!((last.parity, last.sublog), (1.0, 22.0));
    // Two failures, logs half as long: two sets of check units of 132 tracks, two logs of 66, and
    // 14 times 132 of data.
    let with = Logging { sublogs: Sublogs::Striped(3), ratio: 0.5, ..Logging::default() };
    let twice = Array { failures: 2, ..Array::example(Organization::ParityLogging(with)) }
        .model()
        .expect("it can be");
    let whole = twice.logging().expect("it logs").whole_tracks(115).expect("there is room");
    assert_eq!((whole.parity, whole.sublog), (6.0, 22.0));
    near(whole.waste, 1.0 - 115.0 * (2.0 * 132.0 + 2.0 * 66.0 + 14.0 * 132.0) / all, 1e-9);
}

#[test]
fn a_read_and_a_write_for_one_that_rewrites_cost_a_seek_more_and_a_rotation_less() {
    // Footnote 4.
    let work =
        |organization, update| model(Array { update, ..Array::example(organization) }).small_write().total();
    let more = |organization| work(organization, Update::TwoAccesses) - work(organization, Update::OneAccess);
    let once = 12.5 - 6.95 + 13.9 / 12.0;
    near(more(Organization::ParityLogging(Logging::default())), once, 1e-9);
    near(more(Organization::Raid5), 2.0 * once, 1e-9);
    near(more(Organization::Raid4), 2.0 * once, 1e-9);
    assert_eq!(more(Organization::Mirrored), 0.0);
    assert_eq!(more(Organization::Floating), 0.0);
}
