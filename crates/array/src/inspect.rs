//! Reports of an array about itself: its status, its members and their accesses.

use crate::admin_error::AdminError;
use crate::array::Array;
use crate::context::Context;
use crate::core::Core;
use crate::effect::Class;
use crate::format::bad_block_log::Cause;
use crate::format::banks::Banks;
use crate::format::superblock::Superblock;
use crate::identity::Identity;
use crate::layout::{Location, Occupant};
use crate::lost::{LostData, lost};
use crate::mode::Mode;
use crate::rooms::Rooms;
use crate::roster::{SlotState, Traffic};
use crate::status::{Counters, Held, LogStatus, MemberStatus, Status, TrafficStatus, WriteBackStatus};
use parlour_units::{Member, Region, Sector, Slot, Stripe};

impl Array {
    /// What was counted since the array was opened.
    pub fn counters(&self) -> Counters {
        self.rooms.core.cx.counters
    }

    /// The array's state now.
    pub fn status(&self) -> Status {
        let Rooms { core, maintenance, .. } = &self.rooms;
        let Core { cx, durable, logs, .. } = core;
        let geometry = &cx.geometry;
        let worst =
            (0..geometry.members()).map(|slot| missing_beside(core, Slot::new(slot))).max().unwrap_or(0);
        let tolerance = geometry.fault_tolerance();
        let mut members = member_statuses(core);
        let mut journals = members.split_off(geometry.members().into());
        journals.retain(|journal| !cx.roster.is_vacant(Slot::new(journal.slot)));
        Status {
            name: durable.name().to_owned(),
            identity: cx.identity.to_string(),
            mode: match cx.mode {
                Mode::Serving => "serving",
                Mode::ReadOnly => "read-only",
                Mode::Stopping => "stopping",
                Mode::Stopped => "stopped",
                Mode::Superseded => "superseded",
                Mode::Halted => "halted",
            },
            organization: geometry.stored().organization_name(),
            consistency: geometry.consistency().name(),
            capacity: geometry.capacity().bytes(),
            block: geometry.block().bytes(),
            stripe_unit: geometry.layout().unit_length().bytes(),
            spare_redundancy: tolerance.saturating_sub(worst),
            fault_tolerance: tolerance,
            lost: !geometry.survives(|slot| durable.lacks_units(cx, slot), |slot| cx.roster.is_moved(slot)),
            members,
            journals,
            spares: cx.roster.spares().iter().map(|member| member.get()).collect(),
            rebuild: maintenance.rebuild_task(cx),
            resync: maintenance.resync_task(cx, durable),
            unreadable: cx.roster.listed().sectors().bytes(),
            unreadable_stripes: unreadable_stripes(core),
            scrub: maintenance.scrub_task(cx),
            last_scrub: maintenance.last_scrub().cloned(),
            regions: geometry.layout().region_count(),
            dirty_regions: durable.bitmap().dirty_count(),
            doubtful_regions: doubtful_regions(core),
            log: logs.status(),
            journal: logs.journal_status(cx, durable),
            write_back: (cx.geometry.writes_back())
                .then(|| WriteBackStatus { staged: self.rooms.hosts.staged().bytes() }),
            counters: Counters { out_of_space: cx.lacks_space, ..cx.counters },
            memory: (cx.buffers.in_use().bytes(), cx.buffers.peak().bytes()),
        }
    }

    /// The data that cannot be read, of the stripes from `from` on. At most `most` stripes are
    /// looked at; [`LostData::next`] is where to go on.
    ///
    /// Data in the journal that is newer than what its place holds can be read, and is named
    /// nevertheless while its place cannot. Not named are sectors of members that cannot be read,
    /// unless they are on the bad-block log.
    pub fn lost(&self, from: Stripe, most: u64) -> LostData {
        lost(&self.rooms.core, from, most)
    }

    /// Whether a rebuild, resync or scrub is running and not stopped.
    pub fn is_maintaining(&self) -> bool {
        let Rooms { core, maintenance, .. } = &self.rooms;
        let Core { cx, durable, .. } = core;
        let rebuild = maintenance.rebuild_task(cx);
        let tasks = [rebuild, maintenance.resync_task(cx, durable), maintenance.scrub_task(cx)];
        tasks.into_iter().flatten().any(|task| !task.stopped)
    }

    /// The number of regions that are to be resynced, or would have to be after a crash. (The end
    /// of a resync is recorded last.)
    pub fn unsynced_regions(&self) -> u32 {
        self.rooms.core.durable.bitmap().unsynced()
    }

    /// The member in `slot`, whatever its state.
    pub fn member_at(&self, slot: Slot) -> Option<Member> {
        self.rooms.core.cx.roster.occupant(slot)
    }

    /// The slot to which the member with this superblock and these bitmaps may return; then only
    /// regions that are out of sync are rebuilt. It must have been whole when it was excluded from
    /// that slot, must not have been used elsewhere since, and must not be a copy that was taken
    /// earlier. On success its identity is the one of its superblock. The caller reads
    /// [`Geometry::bitmap_at`](crate::Geometry::bitmap_at).
    pub fn may_return(&self, superblock: &Superblock, bitmaps: &Banks) -> Option<Slot> {
        let regions = self.rooms.core.cx.geometry.layout().region_count();
        let slot = self.rooms.core.cx.roster.absent_slot_of(superblock, bitmaps, regions)?;
        (superblock.array == self.rooms.core.cx.identity).then_some(slot)
    }

    /// The slot for another journal device: one whose device failed, or a vacant one.
    ///
    /// # Errors
    /// There is none.
    pub fn free_journal_slot(&self) -> Result<Slot, AdminError> {
        let Context { geometry, roster, .. } = &self.rooms.core.cx;
        let failed = |slot: &Slot| roster.state(*slot) == SlotState::Failed;
        let free = geometry.slots().filter(|slot| geometry.is_for_journal(*slot)).filter(failed);
        let slot = free.min_by_key(|slot| (roster.is_vacant(*slot), *slot));
        slot.ok_or(match geometry.journal_slots() {
            0 => AdminError::NoJournalSlots,
            slots => AdminError::JournalSlotsTaken(slots),
        })
    }

    /// The array's identity, if some absent member may return.
    pub fn awaits_return(&self) -> Option<Identity> {
        let roster = &self.rooms.core.cx.roster;
        let absent = |slot: Slot| roster.state(slot) == SlotState::Failed && roster.keeps(slot).is_some();
        let awaits = self.mode() == Mode::Serving && roster.slots().any(absent);
        awaits.then_some(self.rooms.core.cx.identity)
    }

    /// The identity of `member`, whether or not it still stands in a slot.
    pub fn identity_of(&self, member: Member) -> Option<Identity> {
        self.rooms.core.cx.roster.has_number(member).then(|| self.rooms.core.cx.roster.info(member).identity)
    }

    /// Resources that are held now, to look for leaks.
    pub fn held(&self) -> Held {
        Held {
            jobs: self.rooms.core.cx.jobs.alive(),
            locks: self.rooms.core.cx.locks.count(),
            requests: self.rooms.hosts.count(),
            host_memory: self.rooms.hosts.memory(),
            scratch: self.rooms.core.cx.scratch.in_use(),
            cache: self.rooms.core.stripes.cached(),
            staged: self.rooms.hosts.staged(),
        }
    }

    /// The accesses of a class to all members.
    pub fn traffic(&self, class: Class) -> Traffic {
        self.rooms.core.cx.roster.traffic(class)
    }

    /// The state of the parity log, if there is one. It is a part of [`Array::status`] that is
    /// cheap to compute.
    pub fn log_status(&self) -> Option<LogStatus> {
        self.rooms.core.logs.status()
    }
}

/// The number of regions whose parity may not fit and stands in for data. Copies are not
/// concerned: each can be read alone.
fn doubtful_regions(core: &Core) -> u32 {
    if !core.cx.geometry.keeps_parity() || !core.cx.roster.is_degraded() {
        return 0;
    }
    let layout = core.cx.geometry.layout();
    let slots = (0..core.cx.geometry.members()).map(Slot::new);
    let gone: Vec<Slot> = slots.filter(|slot| core.cx.roster.lacks_units(*slot)).collect();
    let stands_in = |region: &Region| gone.iter().any(|slot| layout.region_has_data_on(*region, *slot));
    core.durable.bitmap().to_resync().filter(stands_in).count() as u32
}

fn unreadable_stripes(core: &Core) -> Vec<u64> {
    let layout = core.cx.geometry.layout();
    let start = core.cx.geometry.data_start();
    let stripe = |cause: Cause, (slot, at): (Slot, Sector)| {
        let location =
            Location { slot, at: Sector::ZERO + at.from_start().saturating_sub(start.from_start()) };
        let occupant = match cause {
            Cause::Unreadable => core.cx.roster.places(&core.cx.geometry).occupant(location),
            // What is lost is named by its home, whether or not it has been moved.
            Cause::Lost => layout.occupant(location),
        };
        match occupant {
            Occupant::Unit { stripe, .. } => Some((layout.stripe_data() * stripe.get()).bytes().get()),
            _ => None,
        }
    };
    let mut stripes: Vec<u64> = {
        let causes = [Cause::Unreadable, Cause::Lost];
        causes
            .into_iter()
            .flat_map(|cause| core.cx.roster.listed().blocks(cause).map(move |block| (cause, block)))
            .filter_map(|(cause, block)| stripe(cause, block))
            .collect()
    };
    stripes.sort_unstable();
    stripes.dedup();
    stripes.truncate(100);
    stripes
}

/// The number of slots whose units are missing among those that share stripes with `slot`,
/// including `slot`.
fn missing_beside(core: &Core, slot: Slot) -> u16 {
    let others = (0..core.cx.geometry.members()).map(Slot::new);
    let missing = |other: &Slot| {
        core.cx.geometry.layout().share_stripes(slot, *other) && core.durable.lacks_units(&core.cx, *other)
    };
    others.filter(missing).count() as u16
}

fn member_statuses(core: &Core) -> Vec<MemberStatus> {
    let roster = &core.cx.roster;
    let status = |slot: Slot| {
        let member = roster.occupant(slot);
        let (errors, recent) = member.map_or((0, 0), |member| roster.errors(member, core.cx.now));
        let traffic = member.map_or_else(Default::default, |member| roster.traffic_of(member));
        MemberStatus {
            slot: slot.get(),
            member: member.map(Member::get),
            state: match core.durable.known_state(&core.cx, slot) {
                SlotState::Active => "active",
                SlotState::Rebuilding => "rebuilding",
                SlotState::Failed => "failed",
            },
            may_return: roster.state(slot) == SlotState::Failed && roster.keeps(slot).is_some(),
            moving: roster.is_moving(slot),
            in_spare_room: roster.is_moved(slot) && !core.durable.lacks_units(&core.cx, slot),
            errors,
            failing: recent > core.cx.tuning.error_threshold,
            traffic: traffic.map(TrafficStatus::from),
        }
    };
    roster.slots().map(status).collect()
}
