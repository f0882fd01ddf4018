//! A moment at which a run may be cut off: what is on the members then, and what is promised.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use parlour_codec::sector::SectorKey;
use parlour_units::{Instant, Stripe};

use crate::disk::Disk;
use crate::found::{alive, assemble, missing, newest_bitmap};
use crate::oracle::Oracle;
use crate::rig::Rig;
use crate::world::Loose;

/// A moment at which power may be cut.
#[derive(Debug)]
pub(crate) struct Moment {
    /// The durable content.
    disks: Vec<Disk>,
    /// Writes that may be found in addition, in this order.
    loose: Vec<Loose>,
    oracle: Oracle,
    /// The columns of stripes of which all data is being written.
    cut_off: BTreeSet<(Stripe, u64)>,
    /// Sets of disks of which the array promises to survive the loss of any one.
    expendable: Vec<Vec<usize>>,
    /// All check units fit, as far as the array knows.
    synced: bool,
    /// In addition, all members are present, and all of this is recorded.
    whole: bool,
    sessions: u64,
    now: Instant,
    /// The length of the trace so far.
    lines: usize,
    digest: u64,
}

impl Moment {
    /// The present moment.
    pub(super) fn of(rig: &mut Rig<'_>) -> Moment {
        let loose = rig.world.loose();
        let disks: Vec<Disk> = rig.world.disks().iter().map(Disk::stable).collect();
        let mut expendable = rig.expendable();
        expendable.retain(|lost| is_recorded_without(rig, &disks, lost));
        let synced = !rig.is_unsynced();
        let mut hash = DefaultHasher::new();
        (rig.hosts.oracle().digest(), &expendable, synced).hash(&mut hash);
        let key = SectorKey::new([0; 16]);
        for disk in &disks {
            (disk.digest(&key), disk.is_dead()).hash(&mut hash);
        }
        for Loose { disk, content, cached } in &loose {
            (disk, content, cached).hash(&mut hash);
        }
        Moment {
            disks,
            loose,
            oracle: rig.hosts.oracle().clone(),
            cut_off: rig.cut_off_now(),
            synced,
            whole: synced
                && expendable.iter().filter(|lost| lost.len() == 1).count() == rig.status().slots().count(),
            expendable,
            sessions: rig.world.sessions(),
            now: rig.now(),
            lines: rig.noted(),
            digest: hash.finish(),
        }
    }

    /// Whether a cut at another moment would leave the same.
    pub(super) fn is_like(&self, other: &Moment) -> bool {
        self.digest == other.digest
    }

    /// The members with what is durable on them.
    pub(crate) fn disks(&self) -> &[Disk] {
        &self.disks
    }

    /// The writes that may be found in addition, in this order.
    pub(crate) fn loose(&self) -> &[Loose] {
        &self.loose
    }

    /// Sets of disks of which the array promises to survive the loss of any one. Where copies may
    /// still differ, data that was read from one member may be lost with that member only if
    /// `power` is cut too.
    pub(crate) fn expendable(&self, power: bool) -> &[Vec<usize>] {
        if power || self.synced { &self.expendable } else { &[] }
    }

    /// Whether all members are present, all check units fit, and all of this is recorded.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }

    /// The columns of stripes of which all data is being written.
    pub(crate) fn cut_off(&self) -> &BTreeSet<(Stripe, u64)> {
        &self.cut_off
    }

    /// The number of sessions before.
    pub(crate) fn sessions(&self) -> u64 {
        self.sessions
    }

    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    /// The length of the trace so far.
    pub(crate) fn lines(&self) -> usize {
        self.lines
    }

    /// The members with those sectors of loose writes that are found: the numbers of the write and
    /// of the sector in it.
    pub(crate) fn found(&self, finds: impl Fn(usize, usize) -> bool) -> Vec<Disk> {
        let mut disks = self.disks.clone();
        for (index, loose) in self.loose.iter().enumerate() {
            for (number, (sector, content)) in loose.content.iter().enumerate() {
                if finds(index, number) {
                    disks[loose.disk].write_one(*sector, content.clone(), true);
                }
            }
        }
        disks
    }

    /// The promises after a cut, with members lost if `loses`.
    pub(crate) fn promised(&self, power: bool, loses: bool) -> Oracle {
        let mut oracle = self.oracle.clone();
        if loses {
            oracle.member_excluded(false);
        }
        oracle.crash(power, false);
        oracle
    }
}

/// Whether the other members record that all members except `lost` are whole. The array's state
/// counts only when it is recorded.
fn is_recorded_without(rig: &Rig<'_>, disks: &[Disk], lost: &[usize]) -> bool {
    let order: Vec<usize> = alive(disks).into_iter().filter(|disk| !lost.contains(disk)).collect();
    let Ok(assembly) = assemble(disks, &order) else { return false };
    let map = newest_bitmap(disks, &assembly, &order);
    let synced = map.is_some_and(|map| map.resync.is_empty());
    missing(&assembly) == lost.len() && (synced || !rig.promises.opens_unclean_and_degraded)
}
