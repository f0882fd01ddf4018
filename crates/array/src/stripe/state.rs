//! The jobs on stripes: what a new one is to do, and its start.

use parlour_units::Sectors;

use crate::buffer::BufferId;
use crate::cache::PrereadCache;
use crate::code::UnitSet;
use crate::columns::{Columns, Piece, Window, hull};
use crate::context::Context;
use crate::effect::Class;
use crate::ids::{HostId, JobId};
use crate::job::{Blind, Gate, Holdings, Kind, Locate, Probe, Purpose, Stage, StripeJob};
use crate::log::Logging;
use crate::plan::{Builder, Content, is_whole};
use crate::tuning::Tuning;

/// What a new job is to do.
#[derive(Debug)]
pub(crate) struct StripeWork {
    pub(crate) purpose: Purpose,
    pub(crate) window: Window,
    /// The host that waits for it.
    pub(crate) host: Option<HostId>,
    /// The host's buffer, and where the payload begins there.
    pub(crate) payload: Option<(BufferId, Sectors)>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) content: Content,
    pub(crate) durable: bool,
    /// The units that it computes, or that it is to do without.
    pub(crate) targets: UnitSet,
}

impl StripeWork {
    /// Work for which no host waits.
    pub(crate) fn own(purpose: Purpose, window: Window, targets: UnitSet) -> StripeWork {
        StripeWork {
            purpose,
            window,
            host: None,
            payload: None,
            pieces: Vec::new(),
            content: Content::Host,
            durable: false,
            targets,
        }
    }
}

/// The jobs on stripes, with what they share: the builder of plans, and the preread cache.
#[derive(Debug)]
pub(crate) struct Stripes {
    pub(super) builder: Builder,
    pub(super) cache: PrereadCache,
}

impl Stripes {
    /// No jobs yet.
    pub(crate) fn new(builder: Builder, tuning: &Tuning) -> Stripes {
        Stripes { builder, cache: PrereadCache::new(tuning.preread_cache) }
    }

    /// The preread cache, which watches reads of hosts as well.
    pub(crate) fn cache_mut(&mut self) -> &mut PrereadCache {
        &mut self.cache
    }

    /// The memory that the preread cache holds.
    pub(crate) fn cached(&self) -> Sectors {
        self.cache.in_use()
    }

    /// Starts a job.
    pub(crate) fn start_stripe(&mut self, cx: &mut Context, work: StripeWork) -> JobId {
        let StripeWork { purpose, window, host, payload, pieces, content, durable, targets } = work;
        let layout = cx.geometry.layout();
        let results = cx.geometry.code().sums().max(1);
        let width = u64::from(layout.width()) + results as u64;
        let class = match purpose {
            Purpose::Read | Purpose::Write | Purpose::Repair { .. } => Class::Foreground,
            Purpose::Rebuild(_) | Purpose::Resync { .. } => Class::Rebuild,
            Purpose::Scrub { .. } => Class::Scrub,
        };
        let hull = hull(&pieces).map_or(window.columns.length(), Columns::length);
        // The greatest memory that any plan on these columns takes: every unit and each result.
        // Zeroes that cover the whole stripe take none.
        let memory = if content.unmaps() && is_whole(layout, &pieces) { Sectors::ZERO } else { hull * width };
        let job = StripeJob {
            purpose,
            window,
            region: cx.geometry.region_of(window.stripe).0,
            host,
            payload,
            pieces,
            content,
            durable,
            stage: Stage::Memory,
            holdings: Holdings { memory, lock: false, region: false, parity: false },
            logging: Logging::default(),
            targets,
            beside: UnitSet::NONE,
            attempts: 0,
            wrote: false,
            repairing: false,
            probe: Probe::NotYet,
            locate: Locate::NotYet,
            differs: false,
            block_by_block: false,
            kept: UnitSet::NONE,
            unreadable: UnitSet::NONE,
            passed_over: UnitSet::NONE,
            blind: Blind::No,
            acknowledged: false,
        };
        let id = cx.jobs.start(Kind::Stripe(Box::new(job)), class);
        cx.runnable.push(id);
        id
    }

    /// The job goes on to the gate of `next`.
    pub(super) fn pass(&mut self, cx: &mut Context, id: JobId, next: Stage) -> Gate {
        cx.jobs.stripe(id).stage = next;
        Gate::Pass
    }
}
