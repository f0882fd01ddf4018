//! Reads in sequential runs.

use parlour_drive::electronics::{Electronics, ReadAhead};
use parlour_drive::mechanics::Way;

use super::access::{ServiceError, Work};
use super::arrivals::Bus;
use super::disk::Disk;
use super::moments::{Moments, milliseconds};
use super::seek;
use super::times::Service;
use super::tracks::Tracks;
use crate::order::Distribution;

/// A request of a run other than the first. Its overhead is assumed to be that of the first; the
/// difference is added to its transfer.
struct Next {
    rotation: Moments,
    transfer: Moments,
    distribution: Distribution,
}

impl Disk<'_> {
    /// Reads in runs: each read of a run except the first continues where the last one ended.
    pub(super) fn run(&self, blocks: u64, length: f64) -> Result<Service, ServiceError> {
        let first = self.random(Work::Read, blocks)?;
        let (begins, goes_on) = (1.0 / length, 1.0 - 1.0 / length);
        let next = self.next_of_run(blocks)?;
        let mix =
            |first: Moments, next: Moments| Moments::mixed([(begins, first), (goes_on, next)].into_iter());
        let weighed = |weight: f64, distribution: &Distribution| {
            distribution
                .middles()
                .into_iter()
                .map(move |(part, time)| (weight * part, time))
                .collect::<Vec<_>>()
        };
        let both = [weighed(begins, &first.distribution), weighed(goes_on, &next.distribution)].concat();
        Ok(Service {
            seek: mix(first.seek, Moments::default()),
            rotation: mix(first.rotation, next.rotation),
            transfer: mix(first.transfer, next.transfer),
            overhead: first.overhead,
            distribution: Distribution::weighted(both.into_iter())?,
            lead: first.lead,
            passing: first.passing,
            revolution: first.revolution,
            way: first.way,
            drawn: (begins, first.seek.mean),
            targets: first.targets,
        })
    }

    /// A read that continues where the last one ended. A drive that reads ahead has not stopped:
    /// platters and bus work in parallel, and the slower one determines the time. A drive without
    /// read-ahead has missed the next sector during the overhead, and waits for the rest of the
    /// revolution.
    fn next_of_run(&self, blocks: u64) -> Result<Next, ServiceError> {
        let Electronics { overheads, bus: (block, _), .. } = self.electronics;
        let (completion, overhead) = (milliseconds(overheads.read_completion), self.overhead(Work::Read));
        let each = |part: &seek::Part| {
            let tracks = Tracks::of(self.mechanics, part.zone, Way::Read);
            let (rotation, taken) = match self.reads_ahead() {
                true => {
                    let begins = milliseconds(overheads.read_hit.read + overheads.data_preparation);
                    let bus = begins + blocks as f64 * milliseconds(*block) + completion;
                    (0.0, bus.max(tracks.long_run(blocks)) - overhead)
                }
                false => {
                    let passing = tracks.mean_passing(blocks);
                    let taken = tracks.handed_on(&Bus::of(self.electronics, blocks), blocks, passing);
                    (self.rest_of_revolution(taken - passing + overhead), taken)
                }
            };
            (part.weight, rotation, taken)
        };
        let parts: Vec<_> = self.span.parts.iter().map(each).collect();
        let rotation =
            Moments::mixed(parts.iter().map(|(weight, rotation, _)| (*weight, Moments::fixed(*rotation))));
        let transfer = Moments::mixed(parts.iter().map(|(weight, _, time)| (*weight, Moments::fixed(*time))));
        let all = parts.iter().map(|(weight, rotation, time)| (*weight, rotation + time + overhead));
        Ok(Next { rotation, transfer, distribution: Distribution::weighted(all)? })
    }

    /// The rest of a revolution of which the time `gone` has passed.
    fn rest_of_revolution(&self, gone: f64) -> f64 {
        match gone > 0.0 {
            true => self.revolution() - gone.rem_euclid(self.revolution()),
            false => 0.0,
        }
    }

    fn reads_ahead(&self) -> bool {
        let buffer = &self.electronics.buffer;
        buffer.read_segments > 0 && buffer.read_ahead != ReadAhead::Nothing
    }
}
