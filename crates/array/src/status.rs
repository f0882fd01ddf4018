//! What people are told: events as they happen, and the array's state on request.

use parlour_units::{Bytes, Member, Region, Sector, Sectors, Slot};
use serde::Serialize;

use crate::array::Array;
use crate::effect::Class;
use crate::identity::Identity;
use crate::layout::{Location, Occupant};
use crate::maintenance::{ScrubReport, Task};
use crate::mode::Mode;
use crate::organization::Code;
use crate::plan::Strategy;
use crate::roster::{SlotState, Traffic};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A member was excluded from the array.
    MemberFailed {
        /// Its slot.
        slot: Slot,
        /// Why.
        cause: FailureCause,
    },
    /// A member answers with errors, and nothing could replace it: it is kept.
    MemberKept {
        /// Its slot.
        slot: Slot,
    },
    /// A member has had more read errors of late than it should: it goes on serving, and is to be
    /// replaced.
    MemberFailing {
        /// Its slot.
        slot: Slot,
        /// Read errors since it came.
        errors: u32,
    },
    /// A spare, or a replacement, took a slot.
    SlotTaken {
        /// Which slot.
        slot: Slot,
        /// Which member.
        member: Member,
        /// If it was away: in how many regions it may lack something, which is all that is rebuilt.
        out_of_sync: Option<u32>,
    },
    /// A rebuild is complete.
    RebuildDone {
        /// The slot that is whole again.
        slot: Slot,
    },
    /// A rebuild stopped, because a block that it needs cannot be read.
    RebuildStopped {
        /// The slot that was being rebuilt.
        slot: Slot,
        /// The first sector of the array in the stripe that cannot be computed.
        at: Sector,
    },
    /// What stood there cannot be recovered: it is on the bad-block log.
    BadBlocksRecorded {
        /// In which slot.
        slot: Slot,
        /// From which sector of the member there.
        at: Sector,
        /// How much.
        length: Sectors,
        /// The first sector of the array in its stripe.
        stripe: Sector,
    },
    /// A member's commit log has lost entries that count: the regions whose records it holds are
    /// resynced.
    CommitLogDamaged {
        /// Its slot.
        slot: Slot,
    },
    /// The log of a region has lost records that count, or does not hold what it should: the region
    /// is resynced.
    LogDamaged {
        /// Which region.
        region: Region,
        /// In which slots its log stands.
        slots: Vec<Slot>,
    },
    /// After a crash, what stands there is none of what was written: it is computed from the rest
    /// of its stripe.
    BlockDamaged {
        /// In which slot.
        slot: Slot,
        /// From which sector of the member there.
        at: Sector,
        /// How much.
        length: Sectors,
    },
    /// All regions are in sync.
    ResyncDone,
    /// Check units of some stripes could not be recomputed.
    ResyncIncomplete,
    /// A scrub is complete.
    ScrubDone(ScrubReport),
    /// A member has no space for what should be there: the array is read-only from here on.
    OutOfSpace {
        /// Which member.
        member: Member,
    },
    /// Metadata has a valid checksum, and a number that no session so far has given: it does not
    /// count.
    Implausible {
        /// In which slot.
        slot: Slot,
        /// Which structure.
        what: &'static str,
    },
    /// A superblock is another session's: another server has opened the array, and this one leaves
    /// it alone.
    Superseded {
        /// The member on which that was found.
        member: Member,
        /// The other server's session.
        session: Identity,
    },
    /// There is no space or memory for the array's metadata on a member: this server leaves the
    /// array as it is.
    Halted {
        /// Its slot.
        slot: Slot,
    },
    /// A spare cannot be used.
    SpareDropped {
        /// Which member.
        member: Member,
    },
}

/// Why a member was excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureCause {
    /// It did not answer, or refused to write.
    Gone,
    /// It was being rebuilt, and could not read what it had been given.
    Errors,
    /// What was written to it did not read back.
    Unfaithful,
    /// It ends before its end.
    Truncated,
    /// Its metadata is older than the others'.
    Older,
    /// People said so.
    Asked,
}

/// Counts since the array was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Hosts' reads.
    pub host_reads: u64,
    /// Sectors that hosts read.
    pub host_read: u64,
    /// Hosts' writes.
    pub host_writes: u64,
    /// Sectors that hosts wrote.
    pub host_written: u64,
    /// Hosts' flushes.
    pub host_flushes: u64,
    /// Reads of stripes with something missing.
    pub degraded_reads: u64,
    /// Stripes written by full-stripe writes.
    pub full_stripe: u64,
    /// By read-modify-write.
    pub read_modify_write: u64,
    /// By reconstruct-write.
    pub reconstruct_write: u64,
    /// By logged updates.
    pub logged_update: u64,
    /// By logged overwrites.
    pub logged_overwrite: u64,
    /// Log segments appended (accesses).
    pub appends: u64,
    /// Log segments that were appended before they were full.
    pub short_segments: u64,
    /// Writes that waited for a log buffer.
    pub pool_waits: u64,
    /// Regions reintegrated.
    pub reintegrations: u64,
    /// Prereads that the cache made unnecessary.
    pub prereads_saved: u64,
    /// Units that could not be read, and were computed and rewritten.
    pub repaired: u64,
    /// Regions whose data was brought up to its durable records after a crash.
    pub redone: u64,
    /// Sectors that fitted none of their records then: something else has written there.
    pub unlike_records: u64,
    /// Whether a member has run out of space.
    pub out_of_space: bool,
}

impl Counters {
    pub(crate) fn strategy(&mut self, strategy: Strategy) {
        let counter = match strategy {
            Strategy::FullStripe | Strategy::LoggedCancel => &mut self.full_stripe,
            Strategy::ReadModifyWrite => &mut self.read_modify_write,
            Strategy::ReconstructWrite => &mut self.reconstruct_write,
            Strategy::LoggedUpdate => &mut self.logged_update,
            Strategy::LoggedOverwrite => &mut self.logged_overwrite,
            _ => return,
        };
        *counter += 1;
    }
}

/// The array's state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// The array's name.
    pub name: String,
    /// Its identity.
    pub identity: String,
    /// "serving", "read-only", "stopping", "stopped", "superseded" or "halted".
    pub mode: &'static str,
    /// The organization's name.
    pub organization: &'static str,
    /// What a crash may cost: "bitmap" or "journal".
    pub consistency: &'static str,
    /// What hosts can store.
    pub capacity: Bytes,
    /// The block size.
    pub block: Bytes,
    /// The stripe unit.
    pub stripe_unit: Bytes,
    /// Members that may still fail, whichever they are, without loss.
    pub spare_redundancy: u16,
    /// Members that an intact array may lose.
    pub fault_tolerance: u16,
    /// Whether the array has lost more than it survives.
    pub lost: bool,
    /// Its members.
    pub members: Vec<MemberStatus>,
    /// Members ready to take a failed one's slot.
    pub spares: Vec<u16>,
    /// What is being rebuilt.
    pub rebuild: Option<Task>,
    /// Regions that wait to be resynced, and the count of all.
    pub resync: Option<Task>,
    /// Bytes of units, at the most, that are on the list of what cannot be recovered.
    pub unreadable: Bytes,
    /// The first bytes of the stripes in which it is, a hundred at the most.
    pub unreadable_stripes: Vec<u64>,
    /// What is being scrubbed.
    pub scrub: Option<Task>,
    /// What the last scrub found.
    pub last_scrub: Option<ScrubReport>,
    /// Regions, and how many of them are dirty.
    pub regions: u32,
    /// Regions that may be inconsistent if the array dies now.
    pub dirty_regions: u32,
    /// Regions whose parity may not fit and has to stand in for data of a member that is not whole:
    /// what is read there may be wrong.
    pub doubtful_regions: u32,
    /// The parity logs, if there are any.
    pub log: Option<LogStatus>,
    /// Counts since the array was opened.
    pub counters: Counters,
    /// Bytes of payload memory in use now, and at the most.
    pub memory: (Bytes, Bytes),
}

/// What is held for requests and work under way: all of it zero, the cache apart, when nothing is
/// under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Jobs that have not ended.
    pub jobs: usize,
    /// Stripes that are locked.
    pub locks: usize,
    /// Hosts' requests that are not answered.
    pub requests: usize,
    /// Hosts' payload.
    pub host_memory: Sectors,
    /// Memory reserved for prereads, parity and reconstruction.
    pub scratch: Sectors,
    /// Payload that the preread cache keeps.
    pub cache: Sectors,
}

/// A slot and the member in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemberStatus {
    /// The slot.
    pub slot: u16,
    /// The driver's number of the member, if one is there.
    pub member: Option<u16>,
    /// "active", "rebuilding" or "failed".
    pub state: &'static str,
    /// Whether its member was whole when it was excluded: if it comes back, only what it has missed
    /// is rebuilt.
    pub may_return: bool,
    /// Read errors.
    pub errors: u32,
    /// Whether there were more of late than [`Tuning::error_threshold`](crate::Tuning): it is to be
    /// replaced.
    pub failing: bool,
    /// Accesses of hosts, log, metadata, rebuild and scrub.
    pub traffic: [TrafficStatus; 5],
}

/// Accesses of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TrafficStatus {
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Flushes.
    pub flushes: u64,
}

/// The parity logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LogStatus {
    /// Records that are not yet in the parity.
    pub live_records: u64,
    /// Log buffers in use.
    pub buffers: u32,
    /// Log buffers that there may be.
    pub buffer_limit: u32,
    /// Regions with a log in use.
    pub regions: u32,
    /// Reintegrations under way.
    pub reintegrating: u32,
    /// Regions that are yet to be brought up to their records after a crash.
    pub recovering: u32,
    /// How often the region that was reintegrated least was, of those used since the array was
    /// opened.
    pub least_reintegrations: u64,
}

impl Array {
    /// The array's state now.
    pub fn status(&self) -> Status {
        let geometry = &self.cx.geometry;
        let worst =
            (0..geometry.members()).map(|slot| self.missing_beside(Slot::new(slot))).max().unwrap_or(0);
        let tolerance = geometry.fault_tolerance();
        Status {
            name: self.records.name.clone(),
            identity: self.cx.identity.to_string(),
            mode: match self.cx.mode {
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
            lost: worst > tolerance,
            members: self.member_statuses(),
            spares: self.cx.roster.spares().iter().map(|member| member.get()).collect(),
            rebuild: self.rebuild_task(),
            resync: self.resync_task(),
            unreadable: self.cx.roster.listed.sectors().bytes(),
            unreadable_stripes: self.unreadable_stripes(),
            scrub: self.scrub_task(),
            last_scrub: self.maintenance.last_scrub.clone(),
            regions: geometry.layout().region_count(),
            dirty_regions: self.records.dirty.count(),
            doubtful_regions: self.doubtful_regions(),
            log: self.log_status(),
            counters: self.cx.counters,
            memory: (self.cx.buffers.in_use().bytes(), self.cx.buffers.peak().bytes()),
        }
    }

    /// Counts regions whose parity may not fit and stands in for data. A copy is read by itself.
    fn doubtful_regions(&self) -> u32 {
        if self.cx.geometry.organization().code != Code::Xor || !self.cx.roster.is_degraded() {
            return 0;
        }
        let layout = self.cx.geometry.layout();
        let slots = (0..self.cx.geometry.members()).map(Slot::new);
        let gone: Vec<Slot> = slots.filter(|slot| self.cx.roster.state(*slot) != SlotState::Active).collect();
        let stands_in = |region: &Region| gone.iter().any(|slot| layout.region_has_data_on(*region, *slot));
        self.records.resync.iter().filter(stands_in).count() as u32
    }

    fn unreadable_stripes(&self) -> Vec<u64> {
        let layout = self.cx.geometry.layout();
        let start = self.cx.geometry.data_start();
        let stripe = |(slot, at): (Slot, Sector)| {
            let location =
                Location { slot, at: Sector::ZERO + at.from_start().saturating_sub(start.from_start()) };
            match self.cx.roster.home_of(location).map(|home| layout.occupant(home)) {
                Some(Occupant::Unit { stripe, .. }) => {
                    Some((layout.stripe_data() * stripe.get()).bytes().get())
                }
                _ => None,
            }
        };
        let mut stripes: Vec<u64> = self.cx.roster.listed.blocks().filter_map(stripe).collect();
        stripes.sort_unstable();
        stripes.dedup();
        stripes.truncate(100);
        stripes
    }

    /// Whether something is rebuilt, resynced or scrubbed, and goes on.
    pub fn is_maintaining(&self) -> bool {
        let tasks = [self.rebuild_task(), self.resync_task(), self.scrub_task()];
        tasks.into_iter().flatten().any(|task| !task.stopped)
    }

    /// How many regions are to be resynced, or would have to be after a crash: that they need not
    /// is recorded last.
    pub fn unsynced_regions(&self) -> u32 {
        self.records.unsynced()
    }

    /// The member that stands at `slot`, whatever its state.
    pub fn member_at(&self, slot: Slot) -> Option<Member> {
        self.cx.roster.occupant(slot)
    }

    /// What is held now, for those who look for leaks.
    pub fn held(&self) -> Held {
        Held {
            jobs: self.cx.jobs.alive(),
            locks: self.cx.locks.count(),
            requests: self.hosts.count(),
            host_memory: self.hosts.memory,
            scratch: self.cx.scratch.in_use(),
            cache: self.cache.in_use(),
        }
    }

    /// Members that are not active among those that share stripes with `slot`, itself included.
    fn missing_beside(&self, slot: Slot) -> u16 {
        let others = (0..self.cx.geometry.members()).map(Slot::new);
        let missing = |other: &Slot| {
            self.cx.geometry.share_stripes(slot, *other) && self.known_state(*other) != SlotState::Active
        };
        others.filter(missing).count() as u16
    }

    /// The state of `slot` that a crash would leave: what is rebuilt is whole when that is
    /// recorded.
    pub(crate) fn known_state(&self, slot: Slot) -> SlotState {
        let state = self.cx.roster.state(slot);
        let unrecorded = self.maintenance.rebuilt.iter().any(|(rebuilt, ..)| *rebuilt == slot);
        if unrecorded && state == SlotState::Active { SlotState::Rebuilding } else { state }
    }

    fn member_statuses(&self) -> Vec<MemberStatus> {
        let roster = &self.cx.roster;
        let status = |slot: Slot| {
            let member = roster.occupant(slot);
            let (errors, recent) = member.map_or((0, 0), |member| roster.errors(member, self.cx.now));
            let traffic = member.map_or_else(Default::default, |member| roster.traffic_of(member));
            MemberStatus {
                slot: slot.get(),
                member: member.map(Member::get),
                state: match self.known_state(slot) {
                    SlotState::Active => "active",
                    SlotState::Rebuilding => "rebuilding",
                    SlotState::Failed => "failed",
                },
                may_return: roster.state(slot) == SlotState::Failed && roster.keeps(slot).is_some(),
                errors,
                failing: recent > self.cx.tuning.error_threshold,
                traffic: traffic.map(TrafficStatus::from),
            }
        };
        roster.slots().map(status).collect()
    }

    /// How the parity log is, if there is one: part of [`Array::status`], and quick to be had.
    pub fn log_status(&self) -> Option<LogStatus> {
        let logs = self.logs.as_ref()?;
        Some(LogStatus {
            live_records: logs.records,
            buffers: logs.in_memory,
            buffer_limit: logs.pool_limit(),
            regions: logs.regions.values().filter(|log| !log.segments.is_empty()).count() as u32,
            reintegrating: logs.running,
            recovering: logs.regions.values().filter(|log| log.recovery.is_some()).count() as u32,
            least_reintegrations: logs.regions.values().map(|log| log.reintegrations).min().unwrap_or(0),
        })
    }

    /// Accesses of a class to all members.
    pub fn traffic(&self, class: Class) -> Traffic {
        self.cx.roster.traffic(class)
    }
}

impl From<Traffic> for TrafficStatus {
    fn from(traffic: Traffic) -> TrafficStatus {
        TrafficStatus {
            reads: traffic.reads,
            read_bytes: traffic.read * 512,
            writes: traffic.writes,
            write_bytes: traffic.written * 512,
            flushes: traffic.flushes,
        }
    }
}
