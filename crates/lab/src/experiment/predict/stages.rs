//! The accesses of requests, phase by phase, averaged over a sample of requests.

use std::collections::BTreeMap;

use parlour_array::{Action, ExplainedOperation, NotWhole, RequestAccesses, accesses};
use parlour_model::fork_join::Phase;
use parlour_model::rebuild::Time;
use parlour_units::{Sector, Sectors, Slot};
use parlour_workload::random::Random;
use parlour_workload::source::{Pattern as Asked, Source};
use parlour_workload::task::{Ask, Kind};

use super::clock::Clock;
use super::refused::{Unmodelled, geometry};
use super::stage::{AccessTime, Doing, Stage};
use crate::experiment::prepared::Prepared;

/// The size of the sample, in requests.
const SAMPLE: u32 = 1_000;

/// The phases of requests.
pub(super) struct Stages {
    /// The mean number of times that a request goes through each phase.
    visits: BTreeMap<Stage, f64>,
    /// The mean length of a request, in bytes.
    pub(super) bytes: f64,
    /// The fraction of requests that write, and their mean length in blocks.
    pub(super) written: (f64, f64),
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// The fraction of requests that wait for an entry of the journal before they write, and the
    /// mean length of their records, in blocks.
    pub(super) recorded: (f64, f64),
    /// The fraction of requests that are staged.
    pub(super) staged: f64,
    /// Whether any request has several accesses to one disk in a phase.
    pub(super) joined: bool,
    /// For each member, a hash of the set of phases in which it takes part.
    taken_part: Vec<u64>,
    /// The number of phases in the sample.
    looked_at: u64,
}

impl Stages {
    /// Takes a sample of a source's requests.
    pub(super) fn sample(
        prepared: &Prepared,
        source: &mut Source,
        random: &mut Random,
        not_whole: NotWhole<'_>,
    ) -> Result<Stages, Unmodelled> {
        if !matches!(source.pattern(), Asked::Stream(_)) {
            let what = "only requests that are drawn one by one are modelled";
            return Err(Unmodelled::Key { key: "workload", what });
        }
        let mut stages = Stages::none(prepared);
        for _ in 0..SAMPLE {
            let task = source.begin(0, random).expect("nothing is replayed");
            if let Some(ask) = task.and_then(|mut task| task.next_ask()) {
                stages.add(prepared, ask, not_whole)?;
            }
        }
        for (part, blocks) in [&mut stages.written, &mut stages.recorded] {
            *blocks = if *part > 0.0 { *blocks / *part } else { 0.0 };
        }
        Ok(stages)
    }

    /// The largest number of simultaneous accesses of a phase.
    pub(super) fn most_siblings(&self) -> u32 {
        self.visits.keys().map(|stage| stage.siblings).max().unwrap_or(0)
    }

    /// The queues that the members form, of which some may be `dead`. Disks that always do the same
    /// work, such as copies that are only written, form one.
    ///
    /// Members that take part in exactly the same phases count as such disks.
    pub(super) fn queues(&self, dead: &[Slot]) -> Queues {
        let mut groups: BTreeMap<u64, usize> = BTreeMap::new();
        for (slot, number) in self.taken_part.iter().enumerate() {
            if !dead.iter().any(|dead| dead.as_usize() == slot) {
                *groups.entry(*number).or_default() += 1;
            }
        }
        let in_step = groups.values().copied().max().unwrap_or(1);
        let lacking: usize = groups.values().map(|size| in_step - size).sum();
        let left = self.taken_part.len() - dead.len();
        match lacking <= dead.len() {
            true => Queues { count: groups.len() as u32, in_step: in_step as u32 },
            false => Queues { count: left as u32, in_step: 1 },
        }
    }

    fn none(prepared: &Prepared) -> Stages {
        Stages {
            visits: BTreeMap::new(),
            bytes: 0.0,
            written: (0.0, 0.0),
            reads: false,
            writes: false,
            recorded: (0.0, 0.0),
            staged: 0.0,
            joined: false,
            taken_part: vec![0; usize::from(geometry(prepared).members())],
            looked_at: 0,
        }
    }

    fn add(
        &mut self,
        prepared: &Prepared,
        Ask { kind, at, length }: Ask,
        not_whole: NotWhole<'_>,
    ) -> Result<(), Unmodelled> {
        let part = 1.0 / f64::from(SAMPLE);
        let operation = match kind {
            Kind::Write => ExplainedOperation::Write,
            Kind::Read | Kind::Trim | Kind::Flush => ExplainedOperation::Read,
        };
        self.bytes += part * length.bytes().get() as f64;
        match operation {
            ExplainedOperation::Read => self.reads = true,
            ExplainedOperation::Write => {
                self.writes = true;
                self.written = (self.written.0 + part, self.written.1 + part * length.get() as f64);
            }
        }
        let how = (&prepared.tuning, prepared.simulated);
        let RequestAccesses { plans, is_staged } =
            accesses(geometry(prepared), how, operation, (at, length), not_whole)?;
        let phases = plans.iter().map(|plan| plan.phases.len()).max().unwrap_or(0);
        let recorded = plans.iter().filter_map(|plan| plan.recorded);
        let records = recorded.fold(None, |sum, length| Some(sum.unwrap_or(0.0) + length.get() as f64));
        if let Some(records) = records {
            self.recorded = (self.recorded.0 + part, self.recorded.1 + part * records);
        }
        self.staged += if is_staged { part } else { 0.0 };
        let mut before: Vec<(Slot, Sector)> = Vec::new();
        for phase in 0..phases {
            let actions: Vec<Action<Slot>> =
                plans.iter().filter_map(|plan| plan.phases.get(phase)).flatten().copied().collect();
            let Some(stage) = self.stage(&actions, (&before, records.is_some())) else { continue };
            *self.visits.entry(stage).or_default() += part;
            before = actions.iter().filter_map(place).collect();
        }
        Ok(())
    }

    /// Summarizes the accesses of a phase. Returns `None` if there are none.
    fn stage(
        &mut self,
        actions: &[Action<Slot>],
        (before, is_recorded): (&[(Slot, Sector)], bool),
    ) -> Option<Stage> {
        let mut blocks: BTreeMap<Slot, u64> = BTreeMap::new();
        let (mut count, mut read, mut modified, mut again) = (0_u64, 0, 0, 0);
        for action in actions {
            let (Some((slot, at)), Some(length)) = (place(action), length(action)) else { continue };
            *blocks.entry(slot).or_default() += length.get();
            count += 1;
            read += u64::from(matches!(action, Action::Read { .. }));
            modified += u64::from(matches!(action, Action::ReadModifyWrite { .. }));
            again += u64::from(before.contains(&(slot, at)));
        }
        if count == 0 {
            return None;
        }
        self.joined |= count > blocks.len() as u64;
        self.looked_at += 1;
        for member in blocks.keys() {
            // A pseudo-random number for each phase, so that different sets of phases have
            // different sums.
            let mixed = Random::new(self.looked_at).below(u64::MAX);
            let sum = &mut self.taken_part[member.as_usize()];
            *sum = sum.wrapping_add(mixed);
        }
        let doing = match () {
            () if read == count => Doing::Read,
            () if modified == count => Doing::Modify,
            () if modified > 0 => Doing::Mixed((modified * 100 / count) as u32),
            () if again == count && is_recorded => Doing::RewriteLater,
            () if again > 0 && is_recorded => Doing::PartlyRewriteLater((again * 100 / count) as u32),
            () if again == count => Doing::Rewrite,
            () => Doing::Write,
        };
        let mean = blocks.values().sum::<u64>().div_ceil(blocks.len() as u64);
        Some(Stage { doing, siblings: blocks.len() as u32, blocks: rounded(mean) })
    }

    /// Returns the phases with their times.
    pub(super) fn timed(&self, queues: Queues, clock: &mut Clock<'_>) -> Result<Timed, Unmodelled> {
        let in_step = queues.in_step;
        let mut timed = Timed { phases: Vec::new(), parts: Vec::new() };
        for (stage, visits) in &self.visits {
            let (phase, part) = clock.phase(*stage, in_step)?;
            timed.phases.push(phase.visited(*visits));
            timed.parts.push((visits * f64::from(stage.siblings), part));
        }
        Ok(timed)
    }
}

/// The queues that members form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queues {
    pub(super) count: u32,
    /// The disks of each.
    pub(super) in_step: u32,
}

/// Phases with their times.
pub(super) struct Timed {
    pub(super) phases: Vec<Phase>,
    /// For each phase: the number of accesses of a request, and the components of the time of each.
    parts: Vec<(f64, AccessTime)>,
}

impl Timed {
    /// The number of accesses of a request.
    pub(super) fn accesses(&self) -> f64 {
        self.phases.iter().map(|phase| phase.visits * f64::from(phase.siblings)).sum()
    }

    /// The number of disks that a request needs: those whose sectors it reads and then writes count
    /// once.
    pub(super) fn needed(&self) -> f64 {
        self.phases.iter().map(|phase| phase.visits * (f64::from(phase.siblings) - phase.again())).sum()
    }

    /// The disk time of a request in milliseconds, summed over all disks.
    pub(super) fn disk_time(&self) -> f64 {
        self.phases.iter().map(|phase| phase.visits * f64::from(phase.siblings) * phase.service).sum()
    }

    /// The time of an access.
    pub(super) fn access(&self) -> Time {
        let all = self.accesses().max(f64::MIN_POSITIVE);
        let weighted = |value: fn(&Phase) -> f64| {
            let of = |phase: &Phase| phase.visits * f64::from(phase.siblings) * value(phase);
            self.phases.iter().map(of).sum::<f64>() / all
        };
        let mean = weighted(|phase| phase.service);
        let squares = weighted(|phase| phase.service.powi(2) + phase.deviation.powi(2));
        Time { mean, deviation: (squares - mean * mean).max(0.0).sqrt() }
    }

    /// The mean components of an access's time.
    pub(super) fn access_time(&self) -> AccessTime {
        let all: f64 = self.parts.iter().map(|(weight, _)| weight).sum();
        let mean = |part: fn(&AccessTime) -> f64| {
            self.parts.iter().map(|(weight, time)| weight * part(time)).sum::<f64>()
                / all.max(f64::MIN_POSITIVE)
        };
        AccessTime {
            seek: mean(|time| time.seek),
            rotation: mean(|time| time.rotation),
            transfer: mean(|time| time.transfer),
            overhead: mean(|time| time.overhead),
        }
    }
}

fn place(action: &Action<Slot>) -> Option<(Slot, Sector)> {
    action.member().zip(action.range()).map(|(slot, (at, _))| (slot, at))
}

fn length(action: &Action<Slot>) -> Option<Sectors> {
    action.range().map(|(_, length)| length)
}

/// Rounds up to four significant binary digits. Random sizes take any length; without rounding,
/// each length would need a service time of its own.
fn rounded(blocks: u64) -> u64 {
    let grain = 1 << (64 - blocks.leading_zeros()).saturating_sub(4);
    blocks.div_ceil(grain) * grain
}
