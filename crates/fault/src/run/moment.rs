//! A moment at which a run may be cut off: what is on the members then, and what is promised.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use parlour_array::Candidate;
use parlour_codec::sector::SectorKey;
use parlour_units::{Instant, Stripe};

use crate::disk::Disk;
use crate::found::{alive, assemble_from, candidates, lacking, missing, newest_bitmap};
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
    /// Of all that determines the moment.
    raw: u64,
    /// Of what a cut leaves, and of what is promised.
    digest: u64,
    /// Of the promises after a cut: by whether power is cut, and whether members are lost.
    promises: [OnceCell<u64>; 4],
}

impl Moment {
    /// The present moment; none if a cut at the moment `last` would leave the same.
    pub(super) fn of(rig: &mut Rig<'_>, last: Option<&Moment>) -> Option<Moment> {
        let loose = rig.world.loose();
        let disks: Vec<Disk> = rig.world.disks().iter().map(Disk::stable).collect();
        let (mut expendable, absent) = rig.expendable_beside_absent();
        let synced = !rig.is_unsynced();
        let left = digest_of(rig, &disks, &loose);
        let digest = |expendable: &[Vec<usize>]| {
            let mut hash = DefaultHasher::new();
            (left, expendable, absent, synced).hash(&mut hash);
            hash.finish()
        };
        // What is recorded follows from the disks, and is looked up only if something has changed.
        let raw = digest(&expendable);
        if last.is_some_and(|last| last.raw == raw) {
            return None;
        }
        let members = candidates(&disks);
        expendable.retain(|lost| is_recorded_without(rig, (&disks, &members), lost, absent));
        let digest = digest(&expendable);
        if last.is_some_and(|last| last.digest == digest) {
            return None;
        }
        Some(Moment {
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
            raw,
            digest,
            promises: Default::default(),
        })
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
        disks.iter_mut().enumerate().for_each(|(index, disk)| self.find(index, disk, &finds));
        disks
    }

    /// Writes those sectors of loose writes to a member that are found.
    fn find(&self, number: usize, disk: &mut Disk, finds: &impl Fn(usize, usize) -> bool) {
        for (index, loose) in self.loose.iter().enumerate().filter(|(_, loose)| loose.disk == number) {
            for (number, (sector, content)) in loose.content.iter().enumerate() {
                if finds(index, number) {
                    disk.write_one(*sector, content.clone(), true);
                }
            }
        }
    }

    /// The digest of each of these members.
    pub(crate) fn digests(&self, finds: impl Fn(usize, usize) -> bool, key: &SectorKey) -> Vec<u64> {
        let changes = |disk: usize| {
            let mut loose = self.loose.iter().enumerate().filter(|(_, loose)| loose.disk == disk);
            loose.any(|(index, loose)| (0..loose.content.len()).any(|number| finds(index, number)))
        };
        let digest = |(index, disk): (usize, &Disk)| {
            let mut disk = Cow::Borrowed(disk);
            if changes(index) {
                self.find(index, disk.to_mut(), &finds);
            }
            disk.digest(key)
        };
        self.disks.iter().enumerate().map(digest).collect()
    }

    /// The digest of the promises after a cut.
    pub(crate) fn digest_of_promises(&self, power: bool, loses: bool) -> u64 {
        let digest = &self.promises[usize::from(power) * 2 + usize::from(loses)];
        *digest.get_or_init(|| self.promised(power, loses).digest())
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

/// A digest of the disks, of the writes that may be found in addition, and of what is promised.
fn digest_of(rig: &Rig<'_>, disks: &[Disk], loose: &[Loose]) -> u64 {
    let mut hash = DefaultHasher::new();
    let key = SectorKey::new([0; 16]);
    rig.hosts.oracle().digest().hash(&mut hash);
    for disk in disks {
        (disk.digest(&key), disk.is_dead()).hash(&mut hash);
    }
    for Loose { disk, content, cached } in loose {
        (disk, content, cached).hash(&mut hash);
    }
    hash.finish()
}

/// Whether the other members record that of all members only `lost` and `absent` others are not
/// whole, and that no stripe lacks too many units then. The array's state counts only when it is
/// recorded.
fn is_recorded_without(
    rig: &Rig<'_>,
    (disks, members): (&[Disk], &[Candidate]),
    lost: &[usize],
    absent: usize,
) -> bool {
    let order: Vec<usize> = alive(disks).into_iter().filter(|disk| !lost.contains(disk)).collect();
    let Ok(assembly) = assemble_from(members, &order) else { return false };
    let tolerance = usize::from(rig.geometry.fault_tolerance());
    if missing(&assembly) != lost.len() + absent || absent > 0 && lacking(&assembly) > tolerance {
        return false;
    }
    let synced = || newest_bitmap(disks, &assembly, &order).is_some_and(|map| map.resync.is_empty());
    !rig.promises.opens_unclean_and_degraded || synced()
}
