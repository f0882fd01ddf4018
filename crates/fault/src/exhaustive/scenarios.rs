//! The scenarios of the exhaustive check: small scripts, as data, and the tiny arrays on which they
//! are tried.

use parlour_array::layout::RegionShape;
use parlour_array::organization::{Consistency, NamedOrganization};
use parlour_array::{Creation, Geometry, LogCreation, LogFlush, StoredGeometry, Tuning};
use parlour_units::{Duration, Sectors};

use crate::coverage::Fault;
use crate::options::{Load, Options, cylinder};
use crate::request::{Ask, Range};
use crate::script::{Event, Return, Script, What};

/// An array on which scenarios are tried.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Its organization.
    pub organization: NamedOrganization,
    /// The consistency: what a crash may cost.
    pub consistency: Consistency,
    /// Whether small writes are acknowledged when they are in the journal.
    pub write_back: bool,
    /// The number of its members: two or more for copies, three or more for parity, four or more
    /// with logs.
    pub members: u16,
    /// The units of a stripe, if stripes are narrower than the array.
    pub width: Option<u16>,
    /// Distributed spares.
    pub spares: u16,
}

/// The arrays on which a scenario is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    All,
    /// Arrays that log parity updates.
    Logs,
    /// Arrays with the journal: their records are durable before their data.
    DurableRecords,
    /// Arrays with distributed spares.
    Spares,
}

/// A small script. Every cut of it is tried.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    on: For,
    /// Writes are torn too.
    pub(super) torn: bool,
    /// If set, the recovery from each cut is cut and interrupted as well, and these steps follow
    /// it.
    pub(super) again: Option<&'static [Step]>,
    /// The number of live records before a log is reintegrated.
    live_records: u64,
    /// The sectors of a block. If a block has several sectors, hosts write whole blocks and find
    /// each block completely old or completely new.
    pub(super) block: u64,
    steps: &'static [Step],
}

/// A step of a scenario. The next step follows at once.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// A write: the first sector, and the number of sectors.
    Write(u64, u64),
    Durable(u64, u64),
    Zero(u64, u64),
    Trim(u64, u64),
    Read(u64, u64),
    Flush,
    /// The array comes to rest.
    Quiet,
    /// Nothing happens for this many milliseconds.
    Pause(u64),
    /// From here on, cuts are tried.
    Watch,
    PowerCut,
    Stop,
    Dies(u16),
    Excluded(u16),
    Replaced(u16),
}

impl Step {
    /// The slot of the member to which something happens.
    fn slot(self) -> Option<u16> {
        match self {
            Dies(slot) | Excluded(slot) | Replaced(slot) => Some(slot),
            _ => None,
        }
    }
}

use Step::{
    Dies, Durable, Excluded, Flush, Pause, PowerCut, Quiet, Read, Replaced, Stop, Trim, Watch, Write, Zero,
};

const fn all(name: &'static str, steps: &'static [Step]) -> Scenario {
    Scenario { name, on: For::All, torn: true, again: None, live_records: 1_000, block: 1, steps }
}

const fn of_logs(name: &'static str, live_records: u64, steps: &'static [Step]) -> Scenario {
    Scenario { on: For::Logs, live_records, ..all(name, steps) }
}

const fn durable(name: &'static str, live_records: u64, steps: &'static [Step]) -> Scenario {
    Scenario { on: For::DurableRecords, live_records, ..all(name, steps) }
}

const fn of_spares(name: &'static str, steps: &'static [Step]) -> Scenario {
    Scenario { on: For::Spares, torn: false, ..all(name, steps) }
}

/// Without torn writes: a scenario that writes superblocks many times would take long with them.
const fn untorn(scenario: Scenario) -> Scenario {
    Scenario { torn: false, ..scenario }
}

const fn of_blocks(block: u64, scenario: Scenario) -> Scenario {
    Scenario { block, ..scenario }
}

const fn again(scenario: Scenario, steps: &'static [Step]) -> Scenario {
    Scenario { again: Some(steps), ..scenario }
}

/// The table of scenarios. A stripe unit is two sectors; with parity, a stripe has four sectors of
/// data. In an array of four members, the last member holds the log of the first region.
pub const SCENARIOS: [Scenario; 41] = [
    all("opening and stopping", &[Watch, Write(0, 2), Quiet, Stop, Quiet, Write(1, 1)]),
    again(all("a small write and its recovery", &[Quiet, Watch, Write(0, 1)]), &[Write(0, 1)]),
    all("two blocks of one stripe", &[Quiet, Watch, Write(0, 1), Write(2, 1)]),
    all("two overlapping writes and a flush", &[Quiet, Watch, Write(0, 2), Write(1, 2), Flush]),
    all("a write over a flushed one", &[Quiet, Write(0, 2), Flush, Quiet, Watch, Write(1, 2), Quiet, Flush]),
    all("one block three times", &[Quiet, Watch, Write(0, 1), Write(0, 1), Write(0, 1), Quiet, Flush]),
    all("one content twice", &[Quiet, Watch, Zero(0, 1), Write(0, 1), Zero(0, 1), Quiet, Flush]),
    all("a stripe over small writes", &[Quiet, Watch, Write(0, 1), Write(3, 1), Quiet, Write(0, 4), Flush]),
    all("small writes over a stripe", &[Quiet, Watch, Write(0, 4), Quiet, Write(1, 2), Quiet, Flush]),
    all("a write across stripes", &[Quiet, Watch, Write(1, 6), Flush]),
    all("durable writes", &[Quiet, Watch, Durable(0, 2), Write(2, 1), Quiet, Durable(2, 1)]),
    all("zeroes and trims", &[Quiet, Write(0, 8), Flush, Quiet, Watch, Zero(1, 2), Trim(4, 4), Flush]),
    all("a region that becomes clean", &[Quiet, Watch, Write(0, 1), Quiet, Pause(30), Quiet, Write(2, 1)]),
    all(
        "writes while a member is missing",
        &[Quiet, Write(0, 4), Flush, Quiet, Dies(0), Quiet, Watch, Write(0, 1), Write(2, 1), Flush],
    ),
    all(
        "a member dies while it is written",
        &[
            Quiet,
            Write(0, 4),
            Flush,
            Quiet,
            Watch,
            Write(0, 1),
            Write(2, 1),
            Dies(0),
            Write(1, 1),
            Quiet,
            Flush,
        ],
    ),
    untorn(all(
        "a member is replaced while it is written",
        &[Quiet, Write(0, 4), Flush, Quiet, Watch, Write(0, 1), Write(2, 1), Replaced(0), Write(1, 1), Quiet],
    )),
    all("a member is excluded", &[Quiet, Watch, Write(0, 2), Excluded(1), Durable(2, 2), Durable(0, 1)]),
    untorn(all(
        "a rebuild",
        &[
            Quiet,
            Write(0, 4),
            Write(7, 1),
            Quiet,
            Dies(1),
            Quiet,
            Watch,
            Replaced(1),
            Write(0, 1),
            Quiet,
            Flush,
        ],
    )),
    all(
        "a recovery, and writes to what is recovered",
        &[
            Quiet,
            Write(0, 1),
            Write(2, 2),
            Write(5, 1),
            PowerCut,
            Watch,
            Write(0, 1),
            Read(0, 8),
            Quiet,
            Flush,
        ],
    ),
    untorn(all(
        "a member is replaced while the array recovers",
        &[Quiet, Write(0, 1), Write(2, 1), Watch, PowerCut, Replaced(0)],
    )),
    of_logs("a reintegration", 2, &[Quiet, Write(0, 1), Write(2, 1), Quiet, Watch, Write(1, 1), Quiet]),
    of_logs(
        "a reintegration while it is written",
        2,
        &[Quiet, Write(0, 1), Write(2, 1), Quiet, Watch, Write(1, 1), Write(0, 2), Flush],
    ),
    of_logs(
        "writes after a stop",
        2,
        &[Quiet, Write(0, 1), Write(2, 1), Quiet, Stop, Quiet, Watch, Write(2, 1), Quiet, Write(0, 1)],
    ),
    of_logs(
        "full segments",
        1_000,
        &[Quiet, Write(0, 4), Quiet, Watch, Write(4, 4), Quiet, Write(1, 2), Quiet, Flush],
    ),
    of_logs(
        "a member of the log dies while it is written",
        1_000,
        &[Quiet, Write(0, 4), Quiet, Watch, Write(0, 1), Write(2, 1), Dies(3), Write(1, 1), Quiet, Flush],
    ),
    again(
        durable(
            "two blocks of one stripe and their recovery",
            1_000,
            &[Quiet, Watch, Write(0, 1), Write(2, 1)],
        ),
        &[],
    ),
    again(
        durable("a reintegration and its recovery", 1, &[Quiet, Write(0, 1), Quiet, Watch, Write(2, 1)]),
        &[],
    ),
    untorn(durable(
        "a member of the log is rebuilt",
        1_000,
        &[
            Quiet,
            Write(0, 4),
            Quiet,
            Dies(3),
            Quiet,
            Watch,
            Replaced(3),
            Write(0, 1),
            Quiet,
            Write(2, 1),
            Flush,
        ],
    )),
    untorn(durable(
        "a member of the log is replaced while the array recovers",
        1_000,
        &[Quiet, Write(0, 1), Write(2, 1), PowerCut, Watch, Replaced(3), Write(1, 1)],
    )),
    of_blocks(
        8,
        durable("whole blocks", 1_000, &[Quiet, Watch, Write(0, 8), Write(8, 8), Write(0, 8), Quiet, Flush]),
    ),
    of_blocks(
        8,
        durable(
            "whole blocks and a reintegration",
            2,
            &[Quiet, Write(0, 8), Quiet, Watch, Write(8, 8), Write(0, 8), Quiet, Write(0, 8)],
        ),
    ),
    durable(
        "a stripe that becomes zeroes, and writes to it",
        1_000,
        &[Quiet, Write(0, 4), Flush, Quiet, Watch, Write(0, 1), Zero(0, 4), Write(1, 2), Quiet, Flush],
    ),
    again(
        durable(
            "a trim, and its recovery",
            1_000,
            &[Quiet, Write(0, 4), Flush, Quiet, Watch, Trim(0, 4), Write(1, 1)],
        ),
        &[Write(2, 1)],
    ),
    durable(
        "a trim beside a reintegration",
        2,
        &[Quiet, Write(0, 1), Write(4, 1), Quiet, Watch, Trim(0, 4), Write(1, 1), Write(2, 1), Quiet],
    ),
    untorn(durable(
        "a trim while a member is missing",
        1_000,
        &[
            Quiet,
            Write(0, 8),
            Flush,
            Quiet,
            Dies(0),
            Quiet,
            Watch,
            Write(1, 1),
            Trim(0, 4),
            Write(2, 1),
            Flush,
        ],
    )),
    of_blocks(
        8,
        durable(
            "whole blocks that become zeroes",
            1_000,
            &[Quiet, Write(0, 32), Flush, Quiet, Watch, Zero(0, 32), Write(8, 8), Quiet],
        ),
    ),
    durable(
        "more than the commit log holds",
        1_000,
        &[
            Quiet,
            Write(0, 8),
            Quiet,
            Write(0, 8),
            Quiet,
            Write(0, 8),
            Quiet,
            Watch,
            Write(0, 4),
            Quiet,
            Write(4, 4),
            Flush,
        ],
    ),
    of_spares(
        "units are rebuilt into spare room",
        &[
            Quiet,
            Write(0, 4),
            Write(7, 1),
            Flush,
            Quiet,
            Watch,
            Dies(1),
            Write(0, 1),
            Quiet,
            Write(2, 1),
            Flush,
        ],
    ),
    of_spares(
        "units come home from spare room",
        &[
            Quiet,
            Write(0, 4),
            Flush,
            Quiet,
            Excluded(1),
            Quiet,
            Watch,
            Replaced(1),
            Write(0, 1),
            Quiet,
            Flush,
        ],
    ),
    of_spares(
        "a member dies after units were rebuilt into spare room",
        &[
            Quiet,
            Write(0, 4),
            Write(7, 1),
            Flush,
            Quiet,
            Excluded(1),
            Quiet,
            Watch,
            Write(0, 1),
            Quiet,
            Dies(0),
            Write(2, 1),
            Quiet,
            Flush,
        ],
    ),
    of_spares(
        "a member dies while units come home from spare room",
        &[
            Quiet,
            Write(0, 8),
            Flush,
            Quiet,
            Excluded(1),
            Quiet,
            Watch,
            Replaced(1),
            Write(0, 1),
            Dies(0),
            Write(2, 1),
            Quiet,
            Flush,
        ],
    ),
];

/// The blocks of a stripe unit.
const UNIT: u64 = 2;
/// The rows of units on a member, without logs.
const ROWS: u64 = 4;
/// A region has six stripes, and a log of two segments, each with room for records of six blocks.
const REGION: RegionShape =
    RegionShape { regions: 2, stripes: 6, sublogs: 1, sublog_segments: 2, segment: 8, grain: 1 };
/// The blocks of each member's commit log that are for intents, and the least for records.
const INTENT_LOG: u64 = 8;
const RECORDS: u64 = 24;
/// The most blocks of an entry's header.
const HEADER: u64 = 3;
/// The blocks of each member's stream of writes, if there is one.
const WRITE_LOG: u64 = 48;

impl Scenario {
    /// Whether the scenario applies to `subject`, and all members that it names exist.
    pub fn suits(&self, subject: &Subject) -> bool {
        let creation = subject.creation(self.block);
        let geometry = Geometry::create_on(&creation, cylinder(creation.unit));
        let is_there = self.steps.iter().all(|step| step.slot().is_none_or(|slot| slot < subject.members));
        let suits = geometry.is_ok_and(|geometry| match self.on {
            For::All => true,
            For::Logs => geometry.layout().logs().is_some(),
            For::DurableRecords => geometry.is_journaled(),
            For::Spares => geometry.layout().spares() > 0,
        });
        is_there && suits
    }

    /// Whether the recovery from each cut is cut again: such a scenario takes longest.
    pub fn cuts_recoveries(&self) -> bool {
        self.again.is_some()
    }

    /// Whether a block has several sectors.
    pub fn has_long_blocks(&self) -> bool {
        self.block > 1
    }

    /// The scenario on `subject`. `seed` determines how long each access takes.
    pub(super) fn script(&self, subject: &Subject, seed: u64) -> Script {
        Script::new(seed, self.options(subject), events(0, self.steps))
    }

    /// The events after a recovery.
    pub(super) fn afterwards(&self) -> Vec<Event> {
        events(self.steps.len() as u64, self.again.unwrap_or_default())
    }

    fn options(&self, subject: &Subject) -> Options {
        let creation = subject.creation(self.block);
        Options {
            row: subject.organization,
            stored: subject.tiny(&creation, self.block),
            creation,
            tuning: Tuning {
                live_records: self.live_records,
                clean_after: Duration::from_millis(10),
                maintenance_depth: 1,
                checkpoint: Sectors::new(UNIT * 4 * self.block),
                // What a few writes record is to reach the logs.
                log_flush: Some(LogFlush::WhenFull),
                ..Tuning::default()
            },
            fill: 0,
            load: Load::default(),
        }
    }
}

/// The steps one after another without pauses, and then rest.
fn events(first: u64, steps: &[Step]) -> Vec<Event> {
    let mut at = Duration::ZERO;
    let mut events = Vec::new();
    for (number, step) in (first..).zip(steps.iter().chain(&[Quiet])) {
        at = at + Duration::from_micros(1);
        let what = match *step {
            Write(at, length) => What::Host(Ask::Write { durable: false }, Range { at, length }),
            Durable(at, length) => What::Host(Ask::Write { durable: true }, Range { at, length }),
            Zero(at, length) => {
                let ask = Ask::Zero { may_unmap: true, fast_only: false, durable: false };
                What::Host(ask, Range { at, length })
            }
            Trim(at, length) => What::Host(Ask::Trim, Range { at, length }),
            Read(at, length) => What::Host(Ask::Read, Range { at, length }),
            Flush => What::Host(Ask::Flush, Range::NONE),
            Quiet => What::Quiet,
            Pause(milliseconds) => {
                at = at + Duration::from_millis(milliseconds);
                What::Quiet
            }
            Watch => What::Watch,
            PowerCut => What::Crash { power: true, read: false },
            Stop => What::Stop { power: false, back: Return::All },
            Dies(slot) => What::Lose(Fault::Death, slot),
            Excluded(slot) => What::Lose(Fault::Exclusion, slot),
            Replaced(slot) => What::Replace(slot),
        };
        events.push(Event { number, at, what });
    }
    events
}

/// The lengths of members that are tried, in MiB.
const LENGTHS: std::ops::RangeInclusive<u64> = 3..=16;

impl Subject {
    /// An array with stripes over all members, in which writes are acknowledged when they are in
    /// their place.
    pub fn new(organization: NamedOrganization, consistency: Consistency, members: u16) -> Subject {
        Subject { organization, consistency, write_back: false, members, width: None, spares: 0 }
    }

    /// What is asked for. Members are as short as possible: what is compared after each cut grows
    /// with them.
    fn creation(&self, block: u64) -> Creation {
        let of_length = |mebibytes: u64| self.creation_on(Sectors::new(mebibytes << 11), block);
        let fits = |creation: &Creation| Geometry::create_on(creation, cylinder(creation.unit)).is_ok();
        LENGTHS.map(of_length).find(fits).unwrap_or_else(|| of_length(*LENGTHS.start()))
    }

    fn creation_on(&self, member_length: Sectors, block: u64) -> Creation {
        let mut organization = self.organization.organization;
        if self.width.is_some() {
            organization.layout = organization.layout.declustered().unwrap_or(organization.layout);
        }
        Creation {
            organization,
            checks: self.organization.checks.of(self.members),
            members: self.members,
            groups: 1,
            width: self.width,
            domains: None,
            spares: self.spares,
            unit: Sectors::new(UNIT * block),
            block: Sectors::new(block),
            member_length,
            log: LogCreation {
                segment: Some(Sectors::new(REGION.segment * block)),
                sublogs: Some(REGION.sublogs),
                ratio: None,
                regions: Some(REGION.regions),
                track: None,
                writes: self.write_back.then_some(Sectors::new(512)),
                lanes: Some(1),
                journals: 0,
                journal_slots: None,
                journal_copies: None,
            },
            consistency: self.consistency,
        }
    }

    /// The blocks of each member's commit log that are for records: four of the longest entries.
    fn records(&self) -> u64 {
        let organization = self.organization.organization;
        let logs = REGION.sublogs * organization.log_copies(self.organization.checks.of(self.members));
        let logs = if organization.layout.is_in_regions() { logs } else { 0 };
        let units = self.width.unwrap_or(self.members) - logs;
        RECORDS.max(4 * (UNIT * u64::from(units) + HEADER))
    }

    /// The geometry that `creation` gives, with much less data, so that there is less to read after
    /// each cut.
    fn tiny(&self, creation: &Creation, block: u64) -> StoredGeometry {
        let geometry = Geometry::create_on(creation, cylinder(creation.unit));
        let geometry = geometry.expect("a subject is an array that can be created");
        let mut stored = *geometry.stored();
        stored.layout.length = UNIT * ROWS * block;
        if let Some(regions) = &mut stored.regions {
            *regions = RegionShape { segment: REGION.segment * block, grain: block, ..REGION };
        }
        if geometry.is_journaled() {
            stored.commit_log = (INTENT_LOG + self.records()) * block;
            stored.intent_log = INTENT_LOG * block;
            stored.write_log = if self.write_back { WRITE_LOG * block } else { 0 };
        }
        while !stored.is_sound() {
            stored.layout.length += block;
            assert!(stored.layout.length < block << 10, "a region fits into less than a member");
        }
        stored
    }
}
