//! Independent accesses: their parts, zone by zone.

use parlour_drive::electronics::Electronics;
use parlour_drive::mechanics::{Mechanics, Way};

use super::access::{ServiceError, Work};
use super::arrivals::{Bus, Case};
use super::moments::{Moments, milliseconds};
use super::positioning::{Latency, Positioning};
use super::seek::Span;
use super::times::{Service, TARGETS, Target};
use super::tracks::Tracks;

/// A disk with the cylinders that are accessed.
pub(super) struct Disk<'a> {
    pub(super) mechanics: &'a Mechanics,
    pub(super) electronics: &'a Electronics,
    pub(super) span: Span,
}

/// The times of an access in one zone, after the seek.
struct InZone {
    weight: f64,
    cases: Vec<Case>,
    /// The mean time in which the sectors pass.
    passing: f64,
}

impl InZone {
    /// The latencies, and the transfers with the overhead, each with its weight.
    fn cases(&self, overhead: f64) -> impl Iterator<Item = (f64, Latency, f64)> + '_ {
        self.cases.iter().map(move |case| (self.weight * case.weight, case.latency, case.transfer + overhead))
    }
}

impl Disk<'_> {
    pub(super) fn revolution(&self) -> f64 {
        milliseconds(self.mechanics.spindle.revolution)
    }

    /// An access that is independent of the previous one.
    pub(super) fn random(&self, work: Work, blocks: u64) -> Result<Service, ServiceError> {
        let way = if work == Work::Write { Way::Write } else { Way::Read };
        let positioning = Positioning::new(self.mechanics, &self.span, way, self.least_seek(way));
        let zones = self.zones(work, way, blocks);
        let overhead = self.overhead(work);
        let cases: Vec<_> = zones.iter().flat_map(|zone| zone.cases(overhead)).collect();
        let rotation = Moments::mixed(cases.iter().map(|(weight, latency, _)| (*weight, latency.moments())));
        let transfers = zones.iter().flat_map(|zone| zone.cases(0.0));
        let transfer = Moments::mixed(transfers.map(|(weight, _, time)| (weight, Moments::fixed(time))));
        let positioned = positioning.seek().mean + rotation.mean;
        let spread = (positioning.seek().variance + rotation.variance).sqrt();
        let passing = zones.iter().map(|zone| zone.weight * zone.passing).sum();
        self.check_bus(work, blocks, (positioned - 2.0 * spread).max(0.0) + passing)?;
        let distribution = positioning.distribution(&cases)?;
        let targets = self.targets(way, &zones)?;
        Ok(Service {
            seek: positioning.seek(),
            rotation,
            transfer,
            overhead,
            lead: self.lead(work),
            passing,
            revolution: self.revolution(),
            distribution,
            way,
            drawn: (1.0, positioning.seek().mean),
            targets,
        })
    }

    fn targets(&self, way: Way, zones: &[InZone]) -> Result<Vec<Target>, ServiceError> {
        let target = |number: usize| {
            let at = (number as f64 + 0.5) / TARGETS as f64;
            let (zone, distances) = self.span.distances_to(at);
            let cases = &zones[zone].cases;
            let positioning = Positioning::over(self.mechanics, &distances, way, self.least_seek(way));
            let cases: Vec<_> = cases.iter().map(|case| (case.weight, case.latency, 0.0)).collect();
            let positioning = positioning.distribution(&cases)?;
            Ok(Target { positioning, latency: Positioning::at_once().distribution(&cases)? })
        };
        (0..TARGETS).map(target).collect()
    }

    fn zones(&self, work: Work, way: Way, blocks: u64) -> Vec<InZone> {
        let zones = self.span.parts.iter();
        zones
            .map(|part| {
                let tracks = Tracks::of(self.mechanics, part.zone, way);
                let cases = self.cases(work, &tracks, blocks);
                InZone { weight: part.weight, cases, passing: tracks.mean_passing(blocks) }
            })
            .collect()
    }

    /// A read-modify-write cannot begin with any sector: it is written from its first sector on.
    fn cases(&self, work: Work, tracks: &Tracks, blocks: u64) -> Vec<Case> {
        match work {
            Work::Read if tracks.any_order => {
                tracks.in_any_order(blocks, Some(&Bus::of(self.electronics, blocks)))
            }
            Work::Write if tracks.any_order => tracks.in_any_order(blocks, None),
            _ => tracks.in_order(blocks, |crossed| self.transfer(work, tracks, blocks, crossed)),
        }
    }

    /// The time from the first sector on, if it crosses `crossed` ends of tracks.
    fn transfer(&self, work: Work, tracks: &Tracks, blocks: u64, crossed: f64) -> f64 {
        let passes = tracks.passing(blocks, crossed);
        match work {
            Work::Read => tracks.handed_on(&Bus::of(self.electronics, blocks), blocks, passes),
            Work::Write => passes,
            Work::Modify => {
                let awaited = self.electronics.buffer.write_buffered.blocks.min(blocks);
                let handed = self.handed_back(blocks, awaited);
                let back = if crossed > 0.0 { milliseconds(self.mechanics.head_switch) } else { 0.0 };
                let turns = ((passes + back.max(handed)) / self.revolution()).ceil();
                turns * self.revolution() + passes
            }
        }
    }

    /// The time from when the old content is read until `awaited` blocks of the new content are in
    /// the drive.
    fn handed_back(&self, blocks: u64, awaited: u64) -> f64 {
        let Electronics { overheads, bus: (to_host, to_drive), .. } = self.electronics;
        milliseconds(
            overheads.reselect + overheads.data_preparation * 2 + *to_host * blocks + *to_drive * awaited,
        )
    }

    /// The overhead of commands before the arm moves.
    fn lead(&self, work: Work) -> f64 {
        let overheads = &self.electronics.overheads;
        milliseconds(match (work, overheads.second_write) {
            (Work::Read, _) => overheads.read_miss.read,
            (Work::Modify, _) => overheads.read_miss.write,
            (Work::Write, Some(second)) => second.command + second.seek_delay,
            (Work::Write, None) => overheads.write.write,
        })
    }

    /// The total overhead of commands.
    pub(super) fn overhead(&self, work: Work) -> f64 {
        let overheads = &self.electronics.overheads;
        let after = match (work, overheads.second_write) {
            (Work::Read, _) => overheads.read_completion,
            (Work::Write, Some(second)) => second.reselect + overheads.write_completion,
            (Work::Write | Work::Modify, _) => overheads.reselect + overheads.write_completion,
        };
        self.lead(work) + milliseconds(after)
    }

    fn least_seek(&self, way: Way) -> f64 {
        match way {
            Way::Read => 0.0,
            Way::Write => milliseconds(self.electronics.overheads.least_write_seek),
        }
    }

    /// Checks that the data of nearly every write arrives in time, if a fast write is on the
    /// platters after `quick` ms; and that of a read-modify-write before its sectors pass again.
    fn check_bus(&self, work: Work, blocks: u64, quick: f64) -> Result<(), ServiceError> {
        let (to_host, to_drive) = self.electronics.bus;
        let late = match work {
            Work::Read => false,
            Work::Write => milliseconds(to_drive * blocks) > quick,
            Work::Modify => {
                let awaited = self.electronics.buffer.write_buffered.blocks.min(blocks);
                let begins = self.handed_back(blocks, awaited) / self.revolution();
                milliseconds(to_host * blocks + to_drive * blocks) > begins.ceil() * self.revolution()
            }
        };
        if late { Err(ServiceError::SlowBus { blocks }) } else { Ok(()) }
    }
}
