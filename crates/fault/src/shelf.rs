//! What remains when the array is closed: members and time.

use std::hash::{DefaultHasher, Hasher};

use parlour_array::{Assembly, AssemblyError, CommitLogContent, MemberInfo, Opening, Tuning};
use parlour_units::{Duration, Instant};

use crate::disk::{Disk, Kept};
use crate::found;
use crate::identity::identity;
use crate::random::Keyed;
use crate::trace::Trace;

/// Sessions have identities from here on.
const FIRST_SESSION: u64 = 1_000;
/// The number of counters that distinguish accesses of the same name.
const NAMES: usize = 1 << 12;

/// What remains when the array is closed.
#[derive(Debug)]
pub(crate) struct Shelf {
    disks: Vec<Disk>,
    now: Instant,
    keyed: Keyed,
    sessions: u64,
    trace: Trace,
    /// How often the latency of an access of the same name was drawn. Other events do not change
    /// it.
    drawn: Vec<u32>,
    crashes: u64,
    /// Whether members that do not answer or are excluded are given up.
    gives_up: bool,
    /// A digest of all effects and events of the array, in their order.
    asked: Option<DefaultHasher>,
}

impl Shelf {
    pub(crate) fn new(disks: Vec<Disk>, seed: u64, trace: Trace) -> Shelf {
        Shelf {
            disks,
            now: Instant::ZERO,
            keyed: Keyed::new(seed),
            sessions: 0,
            trace,
            drawn: vec![0; NAMES],
            crashes: 0,
            asked: None,
            gives_up: false,
        }
    }

    /// A place without members, for while they are elsewhere.
    pub(crate) fn empty() -> Shelf {
        Shelf::new(Vec::new(), 0, Trace::default())
    }

    /// The same as it is after some sessions.
    pub(crate) fn after(self, sessions: u64, now: Instant) -> Shelf {
        Shelf { sessions, now, ..self }
    }

    /// Keeps a digest of all effects and events.
    pub(crate) fn digest_all(&mut self) {
        self.asked = Some(DefaultHasher::new());
    }

    /// Drivers give up members that do not answer or are excluded.
    pub(crate) fn let_give_up(&mut self) {
        self.gives_up = true;
    }

    /// Whether members that do not answer or are excluded are given up.
    pub(crate) fn gives_up(&self) -> bool {
        self.gives_up
    }

    pub(crate) fn disks(&self) -> &[Disk] {
        &self.disks
    }

    pub(crate) fn disks_mut(&mut self) -> &mut [Disk] {
        &mut self.disks
    }

    /// Adds a disk. Returns its number.
    pub(crate) fn add(&mut self, disk: Disk) -> usize {
        self.disks.push(disk);
        self.disks.len() - 1
    }

    /// The number of sessions so far.
    pub(crate) fn sessions(&self) -> u64 {
        self.sessions
    }

    pub(crate) fn begin_session(&mut self) {
        self.sessions += 1;
    }

    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    /// Nothing happens until `time`, unless that has passed.
    pub(crate) fn wait_until(&mut self, time: Instant) {
        self.now = self.now.max(time);
    }

    /// Nothing happens for a while.
    pub(crate) fn wait(&mut self, time: Duration) {
        self.now = self.now + time;
    }

    pub(crate) fn note(&self, line: impl FnOnce() -> String) {
        self.trace.note(self.now, line);
    }

    /// The digest of what the array asks for and tells, if one is kept.
    pub(crate) fn asked(&mut self) -> Option<&mut DefaultHasher> {
        self.asked.as_mut()
    }

    /// A digest of all effects and events so far, of this session and those before.
    pub(crate) fn digest(&self) -> u64 {
        self.asked.as_ref().map_or(0, DefaultHasher::finish)
    }

    /// The random numbers that depend on names only.
    pub(crate) fn keyed(&self) -> Keyed {
        self.keyed
    }

    /// A random number for the next access of this name.
    pub(crate) fn draw(&mut self, name: &[u64]) -> u64 {
        let hash = self.keyed.of(name);
        let slot = (hash % self.drawn.len() as u64) as usize;
        self.drawn[slot] += 1;
        self.keyed.of(&[hash, u64::from(self.drawn[slot])])
    }

    /// Shuffles the order of members.
    pub(crate) fn shuffle(&self, order: &mut [usize]) {
        order.sort_by_key(|disk| self.keyed.of(&[10, self.sessions, *disk as u64]));
    }

    /// Assembles the array from the members in this order.
    pub(crate) fn assemble(&self, order: &[usize]) -> Result<Assembly, AssemblyError> {
        found::assemble(&self.disks, order)
    }

    /// The information about a disk that the array gets.
    pub(crate) fn info(&self, disk: usize) -> MemberInfo {
        let disk = &self.disks[disk];
        MemberInfo { identity: disk.identity(), length: disk.length(), unmaps: true }
    }

    /// What the array is opened with: everything that is read of the members that `assembly` has
    /// found, in this order.
    pub(crate) fn opening(
        &self,
        assembly: &Assembly,
        order: &[usize],
        tuning: Tuning,
        force: bool,
    ) -> Opening {
        let (disks, geometry) = (&self.disks, &assembly.geometry);
        let members = found::members(assembly, order);
        let logs = found::commit_logs(disks, &members, geometry);
        Opening {
            members: members.iter().map(|disk| disk.map(|disk| self.info(disk))).collect(),
            spares: assembly.spares.iter().map(|spare| self.info(order[*spare])).collect(),
            bitmaps: found::bitmaps(disks, &members, geometry),
            tables: found::tables(disks, &members, geometry),
            bad_block_logs: found::bad_block_logs(disks, &members, geometry),
            commits: logs
                .iter()
                .map(|log| CommitLogContent::with_gaps(assembly, &log.bytes, &log.gaps))
                .collect(),
            session: identity(FIRST_SESSION + self.sessions),
            read_only: false,
            force,
            tuning,
            assembly: assembly.clone(),
        }
    }

    /// The array crashes. Returns the number of the crash, by which it draws.
    pub(crate) fn begin_crash(&mut self) -> u64 {
        self.crashes += 1;
        self.crashes
    }

    /// No array uses the members any more. At a power cut, writes that were not flushed are kept in
    /// part.
    pub(crate) fn end_session(&mut self, power: bool) {
        for (index, disk) in self.disks.iter_mut().enumerate() {
            disk.heal_what_is_cut_off(power);
            if power {
                let key = Keyed::new(self.keyed.of(&[8, self.crashes, index as u64]));
                disk.power_cut(key, Kept::draw(key.of(&[9])));
            }
            disk.begin_anew();
        }
    }
}
