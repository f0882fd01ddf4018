//! Runs the exhaustive check: every cut of small scripts, on an array of each kind.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the crate has no threads, its tests do"
)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use parlour_array::organization::{Checks, Consistency, LayoutChoice, Organization};
use parlour_fault::exhaustive::{Outcome, SCENARIOS, Scenario, Subject, Tally, Trial, exhaust};

fn subject(name: &str, consistency: Consistency, members: u16) -> Subject {
    let organization = *Organization::named(name).expect("a name of the table");
    Subject::new(organization, consistency, members)
}

/// An array with a journal in which small writes are acknowledged.
fn write_back(name: &str, members: u16) -> Subject {
    Subject { write_back: true, ..subject(name, Consistency::Journal, members) }
}

/// The same with so many check units.
fn with_checks(checks: u16, mut subject: Subject) -> Subject {
    subject.organization.checks = Checks::Number(checks);
    subject
}

/// RAID 5 with another layout, whose room for logs or for floating units stays unused.
fn in_place(name: &'static str, layout: LayoutChoice, members: u16) -> Subject {
    let mut subject = subject("raid5", Consistency::Bitmap, members);
    subject.organization.organization.layout = layout;
    subject.organization.name = name;
    subject
}

/// A scenario, and the array that it is for.
type Item = (&'static Scenario, Subject);

/// Each of `subjects` with all scenarios that suit it.
fn all_that_suit(subjects: &[Subject]) -> Vec<Item> {
    let suits = |subject: &Subject| {
        let subject = *subject;
        let suiting = SCENARIOS.iter().filter(move |one| one.suits(&subject));
        let items: Vec<Item> = suiting.map(|one| (one, subject)).collect();
        assert!(!items.is_empty(), "no scenario suits {subject:?}");
        items
    };
    subjects.iter().flat_map(suits).collect()
}

/// `subject` with the scenarios of these names, all of which suit it.
fn chosen(subject: Subject, names: &[&str]) -> Vec<Item> {
    let named = |name: &&str| {
        let scenario = SCENARIOS.iter().find(|one| one.name == *name).expect("a name of the table");
        assert!(scenario.suits(&subject), "{name} does not suit {subject:?}");
        (scenario, subject)
    };
    names.iter().map(named).collect()
}

/// Parity logging that survives two losses, with the scenarios in which it matters where copies of
/// its logs stand. (Each of 6 members, and each 2 of them, are lost at each cut: all scenarios
/// would take half an hour.)
fn logs_with_copies() -> Vec<Item> {
    let subject = with_checks(2, subject("parity-logging", Consistency::Journal, 6));
    let names = [
        "a member of the log dies while it is written",
        "full segments",
        "a reintegration while it is written",
        "a member of the log is rebuilt",
    ];
    chosen(subject, &names)
}

/// Arrays in place that survive several losses. Each set of as many members as may be lost is lost
/// at each cut, so all scenarios would take hours. One array is tried with all whose recovery is
/// not cut again and whose blocks are sectors (tears within blocks are tried with one check unit),
/// and the others with those in which much is written, or a member dies.
fn several_losses() -> Vec<Item> {
    let written_back = all_that_suit(&[write_back("raid6", 4)]);
    let written_back = written_back
        .into_iter()
        .filter(|(scenario, _)| !scenario.cuts_recoveries() && !scenario.has_long_blocks());
    let of_two = [
        "two overlapping writes and a flush",
        "a write across stripes",
        "writes while a member is missing",
        "a member dies while it is written",
    ];
    let of_more = ["two blocks of one stripe", "a member dies while it is written"];
    let raid6 = |consistency| subject("raid6", consistency, 4);
    let of_three = with_checks(3, subject("raid6", Consistency::Journal, 5));
    let grid = |consistency| subject("raid-2d", consistency, 7);
    [
        written_back.collect(),
        chosen(raid6(Consistency::Bitmap), &of_two),
        chosen(raid6(Consistency::Journal), &of_two),
        chosen(of_three, &of_more),
        chosen(grid(Consistency::Bitmap), &of_more),
        chosen(grid(Consistency::Journal), &of_more),
    ]
    .concat()
}

/// RAID 5 in stripes of three units over five members, with a distributed spare.
fn with_spare() -> Vec<Item> {
    let names = [
        "a write across stripes",
        "a member is replaced while it is written",
        "a rebuild",
        "units are rebuilt into spare room",
        "units come home from spare room",
        "a member dies after units were rebuilt into spare room",
        "a member dies while units come home from spare room",
    ];
    let spare = |consistency| Subject { width: Some(3), spares: 1, ..subject("raid5", consistency, 5) };
    let both = [Consistency::Bitmap, Consistency::Journal];
    both.into_iter().flat_map(|consistency| chosen(spare(consistency), &names)).collect()
}

fn is_logged(subject: &Subject) -> bool {
    subject.organization.organization.is_logged()
}

/// Tries all `items`, on all cores.
fn exhaust_all(items: &[Item]) -> Vec<(&'static Scenario, Subject, Outcome)> {
    // The last scenarios take longest, so they begin first.
    let (left, outcomes) = (AtomicUsize::new(items.len()), Mutex::new(Vec::new()));
    let work = || {
        while let Ok(left) =
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
        {
            let (scenario, subject) = items[left - 1];
            let outcome = exhaust(scenario, &subject, 0);
            outcomes.lock().expect("no thread has panicked").push((scenario, subject, outcome));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    outcomes.into_inner().expect("no thread has panicked")
}

fn print_table(outcomes: &[(&Scenario, Subject, Outcome)]) -> Tally {
    let mut sum = Tally::default();
    let line = |name: &str, tally: &Tally| {
        let Tally { cuts, second_cuts, choices, untried, losses, cases, interruptions, .. } = tally;
        println!(
            "{name:<82} {cuts:>5} {second_cuts:>6} {choices:>7} {untried:>9} {losses:>8} {cases:>7} {interruptions:>7}"
        );
    };
    println!(
        "{:<82} {:>5} {:>6} {:>7} {:>9} {:>8} {:>7} {:>7}",
        "", "cuts", "again", "choices", "untried", "losses", "cases", "members"
    );
    for (scenario, subject, Outcome { tally, .. }) in outcomes {
        let write_back = if subject.write_back { ", write-back" } else { "" };
        let checks = match subject.organization.checks {
            Checks::Number(checks) if checks > 1 => format!(" with {checks} check units"),
            Checks::Number(_) | Checks::Others | Checks::Grid => String::new(),
        };
        let name = subject.organization.name;
        let spare = if subject.spares > 0 { " with a distributed spare" } else { "" };
        let array = format!("{name} {}{write_back}{checks}{spare}", subject.consistency.name());
        line(&format!("{array}: {}", scenario.name), tally);
        sum.add(tally);
    }
    line("all", &sum);
    sum
}

#[test]
fn no_cut_breaks_a_promise() {
    let subjects = [
        subject("raid5", Consistency::Bitmap, 3),
        subject("raid1", Consistency::Bitmap, 3),
        subject("parity-logging", Consistency::Bitmap, 4),
        subject("parity-logging", Consistency::Journal, 4),
        subject("raid5", Consistency::Journal, 3),
        write_back("parity-logging", 4),
        write_back("raid5", 3),
        in_place("in place in regions", LayoutChoice::Regions, 4),
        in_place("in place in cylinders", LayoutChoice::Cylinders, 3),
    ];
    let items = [all_that_suit(&subjects), logs_with_copies(), several_losses(), with_spare()].concat();
    let outcomes = exhaust_all(&items);
    let tally = print_table(&outcomes);
    let failures: Vec<String> =
        outcomes.iter().flat_map(|(_, _, outcome)| &outcome.failures).map(ToString::to_string).collect();
    let mut stories = outcomes.iter().flat_map(|(_, _, outcome)| &outcome.failures);
    let story = stories.next().map(|failure| failure.trace.join("\n")).unwrap_or_default();
    assert!(failures.is_empty(), "{} cases:\n{}\nThe first:\n{story}", tally.broken, failures.join("\n"));
    assert_eq!(tally.broken, 0);
    for (Scenario { name, .. }, subject, Outcome { tally, .. }) in outcomes {
        assert!(tally.cuts > 1 && tally.cases > tally.cuts, "{name}: nothing was cut");
        assert!(
            tally.reintegrations > 0 || !name.contains("reintegration") || !is_logged(&subject),
            "{name}: nothing was reintegrated"
        );
    }
    assert!(tally.redone > 0, "nothing was redone");
}

#[test]
fn a_case_is_tried_alone_by_its_name_if_there_is_such_a_case() {
    let array = "parity-logging:4:journal";
    let named = |name: String| -> Trial { name.parse().expect("a case's name") };
    let trial = |case: &str| named(format!("{array}:0:durable writes:{case}"));
    for case in ["", "dies@1~0", "replaced@3~3"] {
        assert_eq!(trial(case).try_alone().map(|failure| failure.is_none()), Ok(true), "{case}");
    }
    let several = named("parity-logging/2:5:journal:0:durable writes:dies@1~0".to_owned());
    assert_eq!(several.to_string(), "parity-logging/2:5:journal:0:durable writes:dies@1~0");
    assert_eq!(several.try_alone().map(|failure| failure.is_none()), Ok(true));
    let written_back = format!("{array}+write-back:0:durable writes:dies@1~0");
    assert_eq!(named(written_back.clone()).to_string(), written_back);
    assert_eq!(named(written_back).try_alone().map(|failure| failure.is_none()), Ok(true));
    assert!(trial("cut@1000000()").try_alone().is_err());
}
