use super::*;
use crate::geometry::{Creation, Cylinder, LogCreation};
use crate::organization::{Consistency, Organization};

const UNIT: Sectors = Sectors::new(128);

fn geometry(name: &str, members: u16) -> Geometry {
    geometry_with(name, members, Consistency::Bitmap)
}

fn geometry_with(name: &str, members: u16, consistency: Consistency) -> Geometry {
    let cylinder = Cylinder { track: 3 * UNIT.get(), tracks: 5 };
    let row = Organization::named(name).unwrap();
    let checks = row.checks.of(members);
    let creation = Creation {
        organization: row.organization,
        checks,
        members,
        groups: 1,
        width: None,
        domains: None,
        spares: 0,
        unit: UNIT,
        block: Sectors::new(8),
        member_length: Sectors::new(1 << 17),
        log: LogCreation::default(),
        consistency,
    };
    Geometry::create_on(&creation, cylinder).unwrap()
}

/// `unit` and `length` in stripe units, which may be fractions.
fn explained(
    geometry: &Geometry,
    operation: ExplainedOperation,
    (unit, length): (f64, f64),
    failed: &[u16],
) -> Explanation {
    let sectors = |units: f64| Sectors::new((units * UNIT.get() as f64) as u64);
    let failed: Vec<Slot> = failed.iter().copied().map(Slot::new).collect();
    let at = Sector::ZERO + sectors(unit);
    explain(geometry, &Tuning::default(), operation, at, sectors(length), &failed).unwrap()
}

fn write(geometry: &Geometry, range: (f64, f64), failed: &[u16]) -> Explanation {
    explained(geometry, ExplainedOperation::Write, range, failed)
}

fn read(geometry: &Geometry, range: (f64, f64), failed: &[u16]) -> Explanation {
    explained(geometry, ExplainedOperation::Read, range, failed)
}

fn strategies(explanation: &Explanation) -> Vec<&str> {
    explanation.plans.iter().map(|plan| plan.strategy.as_str()).collect()
}

fn steps(explanation: &Explanation) -> Vec<String> {
    explanation.plans.iter().flat_map(|plan| plan.phases.iter().flatten()).map(ToString::to_string).collect()
}

#[test]
fn a_small_write_to_parity_takes_four_accesses() {
    let explanation = write(&geometry("raid5", 5), (0.0, 0.0625), &[]);
    assert_eq!(explanation.accesses, 4);
    assert_eq!(strategies(&explanation), ["read-modify-write"]);
    assert_eq!(
        steps(&explanation),
        [
            "read  member 0 at 1 MiB, 4 KiB: old D0",
            "read  member 4 at 1 MiB, 4 KiB: old P0-3",
            "compute new P0-3 = old P0-3 xor old D0 xor new D0, 4 KiB",
            "write member 0 at 1 MiB, 4 KiB: new D0",
            "write member 4 at 1 MiB, 4 KiB: new P0-3",
        ]
    );
}

#[test]
fn a_small_write_that_floats_takes_two_accesses() {
    let explanation = write(&geometry("floating", 5), (0.0, 1.0), &[]);
    assert_eq!(explanation.accesses, 2);
    assert_eq!(strategies(&explanation), ["floating write"]);
    let start = exact(geometry("floating", 5).data_start().from_start().bytes());
    assert_eq!(
        steps(&explanation),
        [
            format!("float member 0 at {start}, 64 KiB: old and new D0"),
            "compute difference for P0-3 = old D0 xor new D0, 64 KiB".to_owned(),
            format!("float member 4 at {start}, 64 KiB: old and new P0-3"),
        ]
    );
}

#[test]
fn a_full_stripe_is_written_in_as_many_accesses_as_members_without_reads() {
    let explanation = write(&geometry("raid5", 5), (4.0, 4.0), &[]);
    assert_eq!(explanation.accesses, 5);
    assert_eq!(strategies(&explanation), ["full-stripe write"]);
    assert!(steps(&explanation).iter().all(|step| !step.starts_with("read")));
}

#[test]
fn reconstructing_is_chosen_where_it_takes_fewer_accesses() {
    let explanation = write(&geometry("raid5", 6), (0.0, 4.0), &[]);
    assert_eq!(strategies(&explanation), ["reconstruct-write"]);
    assert_eq!(explanation.accesses, 1 + 5);
    assert!(steps(&explanation)[0].ends_with(": D4"));
}

#[test]
fn with_four_members_a_single_block_is_modified_where_both_methods_read_twice() {
    let explanation = write(&geometry("raid5", 4), (0.0, 1.0), &[]);
    assert_eq!(strategies(&explanation), ["read-modify-write"]);
    assert_eq!(explanation.accesses, 4);
}

#[test]
fn with_three_members_reconstructing_a_single_block_reads_less() {
    let explanation = write(&geometry("raid5", 3), (0.0, 1.0), &[]);
    assert_eq!(strategies(&explanation), ["reconstruct-write"]);
    assert_eq!(explanation.accesses, 3);
}

#[test]
fn a_logged_small_write_is_a_read_a_record_and_a_write() {
    let explanation = write(&geometry("parity-logging", 5), (0.0, 0.0625), &[]);
    assert_eq!(strategies(&explanation), ["logged update"]);
    assert_eq!(explanation.accesses, 2);
    let steps = steps(&explanation);
    assert_eq!(steps.len(), 3);
    assert!(steps[0].starts_with("read ") && steps[0].ends_with("old D0"), "{}", steps[0]);
    assert_eq!(steps[1], "compute update record for P0-2 = old D0 xor new D0, 4 KiB");
    assert!(steps[2].starts_with("write") && steps[2].ends_with("new D0"), "{}", steps[2]);
    assert!(explanation.plans[0].notes[0].starts_with("4 KiB of records go to the log buffer of region 0"));
}

/// The host waits for it, too. It used to be left out of the count.
#[test]
fn the_access_to_the_commit_log_is_a_step_and_counts() {
    let explanation = write(&geometry_with("parity-logging", 5, Consistency::Journal), (0.0, 0.0625), &[]);
    assert_eq!(strategies(&explanation), ["logged update"]);
    assert_eq!((explanation.accesses, explanation.plans[0].accesses), (4, 4));
    let steps = steps(&explanation);
    assert_eq!(steps.len(), 4, "{steps:?}");
    assert!(steps[2].ends_with(", in the commit log: records and checksums"), "{}", steps[2]);
    assert!(steps[3].starts_with("write") && steps[3].ends_with("new D0"), "{}", steps[3]);
}

/// It used to be counted, and not shown.
#[test]
fn the_access_to_the_commit_log_is_a_step_where_nothing_else_is_written() {
    let geometry = geometry_with("parity-logging", 5, Consistency::Journal);
    let member = write(&geometry, (0.0, 0.0625), &[]).map[0].member;
    let explanation = write(&geometry, (0.0, 0.0625), &[member]);
    let steps = steps(&explanation);
    let last = steps.last().expect("there are steps");
    assert!(last.ends_with(", in the commit log: records and checksums"), "{steps:?}");
    let computed = steps.iter().filter(|step| step.starts_with("compute")).count();
    assert_eq!(explanation.accesses, steps.len() - computed + 1, "its copies are two accesses: {steps:?}");
}

#[test]
fn a_degraded_logged_array_updates_parity_in_place() {
    let geometry = geometry("parity-logging", 5);
    let member = write(&geometry, (0.0, 1.0), &[]).map[0].member;
    let explanation = write(&geometry, (0.0, 1.0), &[member]);
    assert_eq!(strategies(&explanation), ["degraded write"]);
    assert!(explanation.map[0].failed);
    assert!(steps(&explanation).iter().all(|step| !step.contains(&format!("member {member} "))));
}

#[test]
fn a_write_to_a_failed_member_reads_the_rest_and_writes_parity_alone() {
    let explanation = write(&geometry("raid5", 5), (0.0, 1.0), &[0]);
    assert_eq!(strategies(&explanation), ["degraded write"]);
    assert_eq!(explanation.accesses, 3 + 1);
}

#[test]
fn a_read_of_a_failed_member_reads_all_others() {
    let explanation = read(&geometry("raid5", 5), (0.0, 0.0625), &[0]);
    assert_eq!(strategies(&explanation), ["degraded read"]);
    assert_eq!(explanation.accesses, 4);
    assert_eq!(steps(&explanation)[4], "compute D0 = D1 xor D2 xor D3 xor P0-3, 4 KiB");
}

#[test]
fn a_long_read_joins_neighbouring_units_and_passes_over_parity() {
    let explanation = read(&geometry("raid5", 5), (0.0, 16.0), &[]);
    assert_eq!(strategies(&explanation), ["direct"]);
    // Four stripes: of the five members, member 0 holds no parity in them, the others one unit
    // each.
    let lengths: u64 = explanation.map.iter().map(|piece| piece.length.get()).sum();
    assert_eq!(lengths, UNIT.bytes().get() * 16);
    assert!(explanation.accesses < 16, "{}", explanation.accesses);
}

#[test]
fn every_copy_is_written_and_the_first_that_is_left_is_read() {
    let geometry = geometry("raid10", 4);
    let explanation = write(&geometry, (1.0, 1.0), &[]);
    assert_eq!((explanation.accesses, strategies(&explanation)), (2, vec!["write to every copy"]));
    let explanation = read(&geometry, (1.0, 1.0), &[2]);
    assert_eq!((explanation.accesses, strategies(&explanation)), (1, vec!["direct"]));
    assert_eq!(steps(&explanation), ["read  member 3 at 1 MiB, 64 KiB: D1 (copy 1)"]);
}

#[test]
fn what_the_array_would_refuse_is_refused() {
    let geometry = geometry("raid5", 5);
    let capacity = geometry.capacity();
    let refused = |at: Sectors, length: u64, failed: &[u16]| {
        let failed: Vec<Slot> = failed.iter().copied().map(Slot::new).collect();
        let at = Sector::ZERO + at;
        let operation = ExplainedOperation::Read;
        explain(&geometry, &Tuning::default(), operation, at, Sectors::new(length), &failed).unwrap_err()
    };
    assert_eq!(refused(Sectors::ZERO, 0, &[]), ExplainError::Empty);
    assert!(matches!(refused(capacity, 8, &[]), ExplainError::BeyondEnd { .. }));
    assert!(matches!(refused(Sectors::ZERO, 1, &[]), ExplainError::Misaligned(_)));
    assert_eq!(refused(Sectors::ZERO, 8, &[5]), ExplainError::NoSuchMember(5, 4));
    assert_eq!(refused(Sectors::ZERO, 8, &[0, 1]), ExplainError::Lost { stripe: 0 });
}

#[test]
fn with_a_journal_raid_5_records_new_content_of_data_and_parity_before_it_writes_them() {
    let geometry = geometry_with("raid5", 4, Consistency::Journal);
    let small = write(&geometry, (0.0, 0.25), &[]);
    assert_eq!(strategies(&small), ["read-modify-write"]);
    assert_eq!((small.plans[0].phases.len(), small.accesses), (4, 6), "{:?}", steps(&small));
    assert!(matches!(small.plans[0].phases[2][..], [ExplainedStep::Commit { copies: 2 }]));
    let notes = small.plans[0].notes.join(" ");
    assert!(notes.contains("new content of all units that change"), "{notes}");
    // A missing member changes what is written, not what is recorded first.
    let degraded = write(&geometry, (0.0, 0.25), &[0]);
    assert!(steps(&degraded).iter().any(|step| step.contains("commit")), "{:?}", steps(&degraded));
    let whole = write(&geometry, (0.0, 3.0), &[]);
    assert_eq!(whole.accesses, 2 + 4, "{:?}", steps(&whole));
}

#[test]
fn a_short_write_is_acknowledged_by_an_entry_of_the_journal() {
    let geometry = geometry_with("parity-logging", 5, Consistency::Journal);
    let short = write(&geometry, (0.0, 0.25), &[]);
    let entry = short.acknowledged.expect("it is staged");
    assert_eq!((entry.copies, entry.on_devices), (2, false));
    assert_eq!(entry.length.get(), UNIT.bytes().get() / 4 + 4_096, "a block of header");
    let stripe = geometry.layout().stripe_data() / UNIT;
    assert_eq!(write(&geometry, (0.0, stripe as f64), &[]).acknowledged, None, "a whole stripe");
    assert_eq!(read(&geometry, (0.0, 0.25), &[]).acknowledged, None);
    let in_place = geometry_with("parity-logging", 5, Consistency::Bitmap);
    assert_eq!(write(&in_place, (0.0, 0.25), &[]).acknowledged, None);
}
