//! What is explained and what is done follow from the same policy: the accesses of explanations are
//! counted against those of an array that is driven without payload.

use std::cell::Cell;

use parlour_units::{Instant, Sector, Sectors};

use crate::organization::{Consistency, LayoutChoice, NAMED, NamedOrganization, Organization};
use crate::{
    Action, Array, Assembly, Banks, Candidate, Class, CommitLogContent, Creation, Effect, ExplainedOperation,
    Explanation, Geometry, Identity, Image, LogCreation, MemberInfo, NewArray, Opening, Operation, Outcome,
    Request, SUPERBLOCK, Superblock, Tag, Tuning, create, explain,
};

/// A change of the policy, for a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Altered {
    /// Parity is always written in place.
    NeverLogs,
    /// New parity is logged, not the difference.
    LogsNewParity,
}

thread_local! {
    static ALTERED: Cell<Option<Altered>> = const { Cell::new(None) };
}

/// Whether the policy is changed in this way, in this thread.
pub(super) fn is_altered(altered: Altered) -> bool {
    ALTERED.get() == Some(altered)
}

const MEMBERS: u16 = 6;
const LENGTH: Sectors = Sectors::new(40_960);
const UNIT: u64 = 16;
const NOW: Instant = Instant::ZERO;

fn identity(number: u8) -> Identity {
    Identity([number; 16])
}

fn geometry(row: &NamedOrganization, consistency: Consistency) -> Geometry {
    let members = MEMBERS.max(row.least_members());
    let checks = row.checks.of(members);
    let creation = Creation {
        organization: row.organization,
        checks,
        members,
        groups: 1,
        width: None,
        domains: None,
        spares: 0,
        unit: Sectors::new(UNIT),
        block: Sectors::new(1),
        member_length: LENGTH,
        log: LogCreation { segment: Some(Sectors::new(256)), ..LogCreation::default() },
        consistency,
    };
    Geometry::create(&creation).expect("a possible array")
}

/// All organizations with names, and one without, with each consistency that they may have.
fn geometries() -> Vec<(&'static str, Geometry)> {
    let raid5 = *Organization::named("raid5").expect("it is in the table");
    let organization = Organization { layout: LayoutChoice::Regions, ..raid5.organization };
    let unnamed = NamedOrganization { name: "in place in regions", organization, ..raid5 };
    let rows = || NAMED.into_iter().chain([unnamed]);
    let all = Consistency::ALL.into_iter().flat_map(|one| rows().map(move |row| (row, one)));
    let possible = all.filter(|(row, consistency)| row.organization.takes(*consistency));
    possible.map(|(row, consistency)| (row.name, geometry(&row, consistency))).collect()
}

fn logging() -> Geometry {
    let row = Organization::named("parity-logging").expect("it is in the table");
    geometry(row, Consistency::Bitmap)
}

/// The bytes of an area of a new member.
fn area(image: &Image, at: Sector, length: Sectors) -> Vec<u8> {
    let written = image.iter().find(|(start, _)| *start == at);
    let mut bytes = written.map_or_else(Vec::new, |(_, block)| block.clone());
    bytes.resize(length.bytes().as_usize(), 0);
    bytes
}

/// A new array whose members carry out every effect.
fn opened(geometry: &Geometry) -> Array {
    let numbers = 0..geometry.members() as u8;
    let identities: Vec<Identity> = numbers.map(|number| identity(number + 10)).collect();
    let new = NewArray {
        array: identity(1),
        session: identity(2),
        members: identities.iter().map(|identity| (*identity, LENGTH)).collect(),
        name: "test".into(),
        created: 0,
        zeroed: true,
    };
    let images = create(geometry, &new);
    let candidate = |image: &Image| {
        let [first, second] = Geometry::superblocks_at(LENGTH).map(|at| area(image, at, SUPERBLOCK));
        let superblock = Superblock::decode_copies(&first, &second);
        Candidate { name: "a member".into(), length: LENGTH, superblock }
    };
    let banks = |place: &dyn Fn(usize) -> (Sector, Sectors)| -> Vec<Banks> {
        let bank = |image: &Image, bank| Some(area(image, place(bank).0, place(bank).1));
        images.iter().map(|image| [0, 1].map(|number| bank(image, number))).collect()
    };
    let assembly = Assembly::new(&images.iter().map(candidate).collect::<Vec<_>>()).expect("it is whole");
    let (commit_log, length) = geometry.commit_log();
    let commits = |image: &Image| match length.is_zero() {
        true => CommitLogContent::default(),
        false => CommitLogContent::of(&assembly, &area(image, commit_log, length)),
    };
    let info = |identity: &Identity| MemberInfo { identity: *identity, length: LENGTH, unmaps: true };
    let opening = Opening {
        members: identities.iter().map(info).map(Some).collect(),
        spares: Vec::new(),
        bitmaps: banks(&|bank| (geometry.bitmap_at(bank), geometry.bitmap_length())),
        tables: match geometry.records_updates() {
            true => banks(&|bank| (geometry.table_at(bank), geometry.table_length())),
            false => Vec::new(),
        },
        bad_block_logs: Vec::new(),
        commits: images.iter().map(commits).collect(),
        assembly,
        session: identity(3),
        read_only: false,
        force: false,
        tuning: Tuning::default(),
    };
    let mut array = Array::open(NOW, opening).expect("it can be opened");
    carried_out(&mut array);
    array
}

/// Carries out all effects, and returns them.
fn carried_out(array: &mut Array) -> Vec<Effect> {
    let mut effects = Vec::new();
    while let Some(effect) = array.poll_effect() {
        let sums = vec![0; array.parts_length(effect.id).get() as usize];
        match effect.action {
            Action::Checksum => array.complete(NOW, effect.id, Outcome::Checksums(&sums)),
            _ => array.complete(NOW, effect.id, Outcome::Done),
        }
        effects.push(effect);
    }
    effects
}

/// Sends a request to the array, and counts the accesses that the host waits for.
fn accesses(array: &mut Array, operation: Operation, at: Sector, length: Sectors) -> usize {
    let buffer = array.reserve(length);
    array.submit(NOW, Request { tag: Tag(1), operation, at, length, buffer });
    let effects = carried_out(array);
    assert_eq!(array.poll_completion().map(|completion| completion.result), Some(Ok(())));
    array.release(buffer.expect("there is memory"));
    let (start, length) = array.geometry().commit_log();
    let commits = |effect: &Effect| {
        let written = matches!(effect.action, Action::Write { .. }).then(|| effect.action.range()).flatten();
        written.is_some_and(|(at, _)| start <= at && at < start + length)
    };
    let is_waited_for = |effect: &&Effect| {
        commits(effect) || effect.class == Class::Foreground && effect.action.member().is_some()
    };
    effects.iter().filter(is_waited_for).count()
}

fn explained(geometry: &Geometry, write: bool, at: Sector, length: Sectors) -> Explanation {
    let operation = if write { ExplainedOperation::Write } else { ExplainedOperation::Read };
    explain(geometry, &Tuning::default(), operation, at, length, &[]).expect("it can be explained")
}

/// Ranges that lie in one stripe each: a sector, a unit, parts of two units, all but a unit, all.
fn ranges(geometry: &Geometry) -> Vec<(Sector, Sectors)> {
    let stripe = geometry.layout().stripe_data();
    let range = |(number, (from, to)): (u64, (u64, u64))| {
        let within = |sector: u64| Sectors::new(sector).min(stripe);
        (Sector::ZERO + stripe * (number * 3) + within(from), within(to) - within(from))
    };
    let all = stripe.get();
    let ends = [(0, 1), (0, UNIT), (UNIT / 2, UNIT + 3), (0, all.saturating_sub(UNIT).max(UNIT)), (0, all)];
    (0..).zip(ends).map(range).collect()
}

#[test]
fn as_many_accesses_are_explained_as_are_made() {
    for (name, geometry) in geometries() {
        let mut array = opened(&geometry);
        for (at, length) in ranges(&geometry) {
            let case = format!("{name}, {:?}: {length} at {at}", geometry.consistency());
            let writes = explained(&geometry, true, at, length).accesses;
            let write = Operation::Write { durable: false };
            assert_eq!(accesses(&mut array, write, at, length), writes, "write, {case}");
            let reads = explained(&geometry, false, at, length).accesses;
            assert_eq!(accesses(&mut array, Operation::Read, at, length), reads, "read, {case}");
        }
    }
}

/// The policy is in one function: what is explained and what is done change together.
#[test]
fn a_change_of_the_policy_changes_what_is_explained_and_what_is_done() {
    let geometry = logging();
    let (at, length) = (Sector::ZERO, Sectors::new(1));
    let write = Operation::Write { durable: false };
    let strategy = || explained(&geometry, true, at, length).plans[0].strategy.clone();
    assert_eq!(
        (strategy().as_str(), accesses(&mut opened(&geometry), write, at, length)),
        ("logged update", 2)
    );
    for (altered, expected, count) in
        [(Altered::NeverLogs, "read-modify-write", 4), (Altered::LogsNewParity, "logged overwrite", 4)]
    {
        ALTERED.set(Some(altered));
        assert_eq!(strategy(), expected, "{altered:?}");
        assert_eq!(explained(&geometry, true, at, length).accesses, count, "{altered:?}");
        let mut array = opened(&geometry);
        assert_eq!(accesses(&mut array, write, at, length), count, "{altered:?}");
        let logged = array.status().log.map_or(0, |log| log.live_records);
        assert_eq!(logged > 0, altered == Altered::LogsNewParity, "{altered:?}");
        ALTERED.set(None);
    }
}
