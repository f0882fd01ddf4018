//! Tests of several sources at once, tasks of several requests, traces, and the beginning and the
//! end of a run.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use std::num::NonZeroU16;

use crate::station::{BLOCK, MS, blocks, near, reads, space, station};
use parlour_sim::report::{Ended, Report};
use parlour_sim::run::{Measure, RunError, WarmUp, Watch, run, watched};
use parlour_sim::world::World;
use parlour_units::{Duration, Instant, Sectors};
use parlour_workload::bonnie::{Bonnie, Phase};
use parlour_workload::delay::Delay;
use parlour_workload::files::{FileSet, Files};
use parlour_workload::random::Random;
use parlour_workload::replay::{Again, Beyond, Devices, Replay};
use parlour_workload::source::{Load, Pattern, Source};
use parlour_workload::stream::Back;
use parlour_workload::trace::Format;

const NOTHING: Delay = Delay::Fixed(Duration::ZERO);

fn measure(count: u64) -> Measure {
    let warm_up = WarmUp { requests: 1_000, ..WarmUp::default() };
    Measure { warm_up, least: count, most: count, precision: 0.0, ..Measure::default() }
}

fn open(milliseconds: u64) -> Load {
    Load::Open { gap: Delay::Exponential(MS(milliseconds)) }
}

/// The report for a source on a drive that takes 10 ms for each access and serves two at once.
fn shown(source: impl FnOnce(&World) -> Source, measure: &Measure) -> Result<Report, RunError> {
    let mut world = station(Delay::Fixed(MS(10)), 2, 1);
    // The writes for opening the array are not part of these tests.
    while world.step(Instant::ZERO + MS(1_000)) {}
    let mut sources = [source(&world)];
    run(&mut world, &mut sources, measure, &Random::new(1))
}

/// The sum of two Poisson processes is a Poisson process.
#[test]
fn sources_are_reported_each_for_itself_and_all_together() {
    let mut world = station(Delay::Exponential(MS(10)), 1, 1);
    let writes = Source::new("writes", open(50), Pattern::Stream(blocks(&world, 0.0))).unwrap();
    let mut sources = [reads(&world, "reads", open(40)), writes];
    let report = run(&mut world, &mut sources, &measure(400_000), &Random::new(1)).unwrap();
    let [first, second] = &report.sources[..] else { panic!("there were two") };
    near(report.all().all.requests.mean, 45.0, 0.01);
    near(first.answers.all.requests.mean, 25.0, 0.01);
    near(second.answers.writes.requests.mean, 20.0, 0.01);
    near(second.answers.writes.bytes.mean, 20.0 * 4_096.0, 0.01);
    assert_eq!((first.answers.writes.response.count(), second.answers.reads.response.count()), (0, 0));
    // M/M/1 at 45%, for each source and for both together.
    for answers in [report.all(), &first.answers, &second.answers] {
        near(answers.all.response.mean().mean, 0.010 / 0.55, 0.02);
        near(answers.all.response.quantile(0.9).as_secs_f64(), 0.010 / 0.55 * 10_f64.ln(), 0.03);
    }
    let counts = |report: &Report| report.all().reads.response.count() + report.all().writes.response.count();
    assert_eq!(counts(&report), 400_000);
}

#[test]
fn closed_and_open_loads_go_beside_one_another() {
    let mut world = station(Delay::Exponential(MS(10)), 1, 1);
    let closed = Load::Closed { processes: 3, think: Delay::Exponential(MS(100)) };
    let mut sources = [reads(&world, "closed", closed), reads(&world, "open", open(40))];
    let report = run(&mut world, &mut sources, &measure(200_000), &Random::new(1)).unwrap();
    near(report.sources[1].answers.all.requests.mean, 25.0, 0.02);
    // Little's law for the processes: each is either thinking or waiting.
    let answers = &report.sources[0].answers.all;
    near(answers.requests.mean * (0.1 + answers.response.mean().mean), 3.0, 0.02);
    near(report.members[0].utilization, 0.010 * report.all().all.requests.mean, 0.02);
}

#[test]
fn a_source_draws_the_same_whatever_others_do() {
    let alone = |others: usize| {
        // As many servers as requests are possible, so that no request waits for another.
        let mut world = station(Delay::Fixed(MS(1)), 500, 1);
        let mut sources = vec![reads(&world, "it", open(10))];
        sources.extend((0..others).map(|_| reads(&world, "other", open(7))));
        let limit = Measure {
            longest: Some(Duration::from_secs(100)),
            most: u64::MAX,
            least: u64::MAX,
            ..Measure::default()
        };
        let report = run(&mut world, &mut sources, &limit, &Random::new(1)).unwrap();
        report.sources[0].answers.all.response.count()
    };
    assert_eq!(alone(0), alone(2));
}

/// A transaction reads for 10 ms, thinks for 5 ms, and writes for 10 ms.
#[test]
fn a_transaction_takes_as_long_as_its_parts() {
    let report = shown(
        |world| {
            let back = Back { part: 1.0, after: MS(5) };
            let stream = blocks(world, 1.0).written_back(back).unwrap();
            let load = Load::Closed { processes: 2, think: Delay::Fixed(MS(15)) };
            Source::new("transactions", load, Pattern::Stream(stream)).unwrap()
        },
        &measure(10_000),
    );
    let report = report.unwrap();
    let tasks = report.sources[0].tasks.as_ref().unwrap();
    assert_eq!((tasks.times.shortest(), tasks.times.longest()), (MS(25), MS(25)));
    near(tasks.throughput.mean, 2.0 / 0.040, 0.01);
    near(tasks.bytes, 8_192.0, 1e-9);
    near(tasks.rate.mean, 8_192.0 / 0.025, 1e-6);
    assert_eq!(report.all().reads.response.count(), report.all().writes.response.count());
}

/// Reading ahead keeps both units of the drive busy.
#[test]
fn files_are_read_in_lists_and_their_times_measured() {
    let time_of_a_file = |ahead| {
        let mut count = 0;
        let set = FileSet {
            sizes: vec![Sectors::new(80)],
            filled: 0.01,
            lists: 2,
            again: false,
            opening: MS(7),
            looks: 1,
            read: BLOCK,
            ahead,
        };
        let source = |world: &World| {
            let files = Files::new(set, &space(world), &mut Random::new(2)).unwrap();
            count = files.count() as u64;
            let load = Load::Closed { processes: 1, think: NOTHING };
            Source::new("files", load, Pattern::Files(files)).unwrap()
        };
        let all = Measure { most: u64::MAX, least: u64::MAX, ..Measure::default() };
        let report = shown(source, &all).unwrap();
        assert_eq!(report.ended, Ended::Exhausted);
        let tasks = report.sources[0].tasks.as_ref().unwrap();
        // Half of the files are in the other list.
        assert_eq!(tasks.times.count(), count.div_ceil(2));
        tasks.times.longest()
    };
    assert_eq!([time_of_a_file(0), time_of_a_file(1)], [MS(7 + 10 + 100), MS(7 + 10 + 50)]);
}

#[test]
fn bonnies_phases_run() {
    let rate = |phase| {
        let source = |world: &World| {
            let at_once = NonZeroU16::MIN;
            let bonnie = Bonnie {
                file: Sectors::new(32_000),
                block: Sectors::new(32),
                at_once,
                thinks: Duration::ZERO,
            };
            let (load, pattern) = bonnie.phase(phase, &space(world)).unwrap();
            Source::new("bonnie", load, pattern).unwrap()
        };
        let report = shown(source, &Measure { least: 20_000, most: 20_000, ..Measure::default() }).unwrap();
        (report.all().reads.requests.mean + report.all().writes.requests.mean, report.ended)
    };
    for phase in [Phase::Write, Phase::Rewrite, Phase::Read] {
        let (rate, ended) = rate(phase);
        near(rate, 100.0, 1e-6);
        assert_eq!(ended, Ended::Exhausted);
    }
    let (seeks, ended) = rate(Phase::Seeks { processes: 3, written: 0.1 });
    near(seeks, 200.0, 0.001);
    assert_eq!(ended, Ended::Most);
}

fn replay(text: &'static str, load: Load) -> impl FnOnce(&World) -> Source {
    move |world| {
        let again = Again { devices: Devices::Each, beyond: Beyond::Refused };
        let replay = Replay::new(Box::new(text.as_bytes()), Format::Disksim, again, &space(world));
        Source::new("trace", load, Pattern::Replay(replay)).unwrap()
    }
}

#[test]
fn a_trace_comes_as_it_was_recorded_or_so_many_requests_at_once() {
    const TRACE: &str = "1000 0 0 8 1\n1020 0 8 8 0\n1020 0 16 8 1\n1060 0 24 8 1\n";
    let span = |load| {
        let report = shown(replay(TRACE, load), &Measure::default()).unwrap();
        assert_eq!((report.ended, report.all().all.response.count()), (Ended::Exhausted, 4));
        report.span
    };
    assert_eq!(span(Load::Recorded { stretched: 1.0 }), MS(60 + 10));
    assert_eq!(span(Load::Recorded { stretched: 2.0 }), MS(120 + 10));
    assert_eq!(span(Load::Closed { processes: 1, think: NOTHING }), MS(40));
    assert_eq!(span(Load::Closed { processes: 2, think: NOTHING }), MS(20));
}

#[test]
fn a_bad_line_ends_a_run_with_its_number() {
    const TRACE: &str = "0 0 0 8 1\n1 0 8 8\n";
    let error = shown(replay(TRACE, Load::Recorded { stretched: 1.0 }), &Measure::default()).unwrap_err();
    assert_eq!(error.to_string(), "'trace': line 2: 4 fields instead of 5");
    const FAR: &str = "0 0 0 8 1\n1 0 90000000 8 1\n";
    let error =
        shown(replay(FAR, Load::Closed { processes: 1, think: NOTHING }), &Measure::default()).unwrap_err();
    assert!(error.to_string().starts_with("'trace': line 2: 8 sectors from 90000000"), "{error}");
}

#[test]
fn runs_begin_and_end_at_the_times_that_are_given() {
    let closed = Load::Closed { processes: 1, think: NOTHING };
    let warm_up = WarmUp { time: MS(105), ..WarmUp::default() };
    let longest = Some(MS(1_000));
    let limits = Measure { warm_up, longest, ..Measure::default() };
    let report = shown(|world| reads(world, "reads", closed), &limits).unwrap();
    assert_eq!((report.warm_up.time, report.warm_up.requests), (MS(105), 10));
    assert_eq!((report.span, report.ended), (MS(1_000), Ended::Time));
    assert_eq!(report.all().all.response.count(), 100);
    // Half of the two servers.
    near(report.members[0].utilization, 0.5, 0.011);
}

#[test]
fn somebody_who_watches_says_when_it_begins_and_ends() {
    struct Until(u64, u64);
    impl Watch for Until {
        fn is_ready(&mut self, world: &mut World) -> bool {
            world.volumes()[0].array().unwrap().status().counters.host_reads >= self.0
        }
        fn is_over(&mut self, world: &mut World) -> bool {
            world.volumes()[0].array().unwrap().status().counters.host_reads >= self.1
        }
    }
    let mut world = station(Delay::Fixed(MS(10)), 1, 1);
    let mut sources = [reads(&world, "reads", Load::Closed { processes: 1, think: NOTHING })];
    let watch = &mut Until(640, 1_280);
    let report = watched(&mut world, &mut sources, &Measure::default(), &Random::new(1), watch).unwrap();
    assert_eq!(report.ended, Ended::Watched);
    assert!((640..640 + 64).contains(&report.warm_up.requests), "{:?}", report.warm_up);
    assert!((576..=704).contains(&report.all().all.response.count()));
}

#[test]
fn a_warm_up_that_cannot_end_is_called_so() {
    let error = |warm_up, load| {
        shown(|world| reads(world, "reads", load), &Measure { warm_up, ..Measure::default() }).unwrap_err()
    };
    let closed = Load::Closed { processes: 1, think: NOTHING };
    let logs = WarmUp { reintegrations: 1, ..WarmUp::default() };
    assert!(matches!(error(logs, closed), RunError::NoLog));
    let short = WarmUp { requests: 1_000, most: 100, ..WarmUp::default() };
    assert!(matches!(error(short, closed), RunError::NotWarm(100)));
    let long = shown(replay("0 0 0 8 1\n", closed), &measure(1)).unwrap_err();
    assert!(matches!(long, RunError::TooShort(1)), "{long}");
    let mut world = station(NOTHING, 1, 1);
    assert!(matches!(run(&mut world, &mut [], &measure(1), &Random::new(1)), Err(RunError::NoSource)));
}

#[test]
fn a_request_beyond_the_array_is_refused_by_name() {
    let mut world = station(Delay::Fixed(MS(1)), 1, 1);
    let large = parlour_workload::space::Space::new(space(&world).length() * 2, BLOCK).unwrap();
    let again = Again { devices: Devices::Each, beyond: Beyond::Refused };
    let trace = Replay::new(Box::new("0 0 1048576 8 1\n".as_bytes()), Format::Disksim, again, &large);
    let load = Load::Closed { processes: 1, think: NOTHING };
    let mut sources = [Source::new("trace", load, Pattern::Replay(trace)).unwrap()];
    let error = run(&mut world, &mut sources, &Measure::default(), &Random::new(1)).unwrap_err();
    assert!(error.to_string().starts_with("'trace': 8 sectors at 1048576: "), "{error}");
}

/// The requests of a burst are answered one after the other, so they wait longer.
#[test]
fn bursts_wait_for_themselves() {
    let mut world = station(Delay::Fixed(MS(1)), 1, 1);
    let bursts = Load::Open { gap: Delay::Bursts { size: 4.0, gap: MS(40) } };
    let mut sources = [reads(&world, "bursts", bursts)];
    let report = run(&mut world, &mut sources, &measure(200_000), &Random::new(1)).unwrap();
    // M[X]/D/1 with geometric bursts of mean 4, and a service time of 1: W = (rho/2 + E[X(X-1)]/(2
    // E[X])) / (1 - rho) + 1.
    let (rho, pairs) = (0.1, 2.0 * 4.0 * 3.0);
    near(report.all().all.response.mean().mean * 1e3, 1.0 + (rho / 2.0 + pairs / 8.0) / (1.0 - rho), 0.02);
}

#[test]
fn histories_have_what_was_under_way() {
    let report =
        shown(|world| reads(world, "reads", Load::Closed { processes: 5, think: NOTHING }), &measure(10_000));
    let history = report.unwrap().history;
    assert!((256..512).contains(&history.points().len()));
    let middle = &history.points()[100..];
    assert!(
        middle.iter().all(|point| (point.under_way, point.waiting, point.log_buffers) == (5, 3, 0)),
        "{middle:?}"
    );
}
