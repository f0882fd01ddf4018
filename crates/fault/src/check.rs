//! The checks on an array at rest: all data is read, a scrub and a direct look at the members find
//! that check units fit, and the array holds no unused resources.

use parlour_array::layout::{Location, Occupant};
use parlour_array::{LogPool, Mode, Repair};
use parlour_codec::xor::{is_zero, xor_into};
use parlour_units::{Bytes, Sector, Sectors, Stripe, Unit};

use crate::content::SECTOR;
use crate::coverage::Fault;
use crate::disk::{Disk, Flushes};
use crate::run::Run;
use crate::violation::Violation;

/// The longest request of a host, in sectors.
const LONGEST_REQUEST: u64 = 512 * 8;

impl Run<'_> {
    /// Repairs all faulty members, replaces missing ones, and waits until the array has full
    /// redundancy.
    pub(crate) fn make_whole(&mut self) -> Result<(), Violation> {
        if self.limits.beyond {
            return Ok(());
        }
        let rounds = 4 + 3 * usize::from(self.geometry.members());
        for round in 0..rounds {
            self.world.shelf.disks.iter_mut().for_each(Disk::make_room);
            self.settle()?;
            if self.world.array.mode() != Mode::Serving {
                self.restart()?;
                continue;
            }
            if self.is_whole() {
                return Ok(());
            }
            let gone = (0..self.geometry.members()).find(|slot| self.is_gone(*slot));
            match gone.filter(|_| self.geometry.fault_tolerance() > 0) {
                Some(slot) => self.put_new(slot)?,
                // A resync cannot use data that is unreadable.
                None => {
                    self.mend_sectors();
                    if round > 0 {
                        self.restart()?;
                    }
                }
            }
        }
        let status = self.world.array.status();
        let states: Vec<&str> = status.members.iter().map(|member| member.state).collect();
        Err(Violation::NotWhole(format!(
            "members {states:?}, rebuild {:?}, resync {:?}, mode {}",
            status.rebuild, status.resync, status.mode
        )))
    }

    fn mend_sectors(&mut self) {
        for disk in &mut self.world.shelf.disks {
            disk.bad.clear();
            disk.hiccup = false;
        }
        self.mend_flushes();
    }

    fn mend_flushes(&mut self) {
        for disk in &mut self.world.shelf.disks {
            (disk.flushes, disk.starved) = (Flushes::Work, false);
            disk.make_true();
        }
    }

    /// Does all checks that the array's state allows.
    pub(crate) fn verify(&mut self) -> Result<(), Violation> {
        self.settle()?;
        self.read_all()?;
        self.settle()?;
        if self.lost || self.limits.beyond {
            return Ok(());
        }
        let serving = self.world.array.mode() == Mode::Serving;
        if serving && self.geometry.fault_tolerance() > 0 && self.is_whole() {
            // Failed flushes are repaired first: if a scrub loses a member for them, it proves
            // nothing about the scrub.
            self.mend_flushes();
            self.mend_what_is_silent()?;
            self.clean_scrub()?;
            if self.is_whole() && self.world.array.mode() == Mode::Serving {
                self.no_sector_is_bad()?;
                self.redundancy_fits()?;
                self.mend_sectors();
                self.scars.clear();
                self.unsure = false;
                if self.world.array.status().unreadable == Bytes::ZERO {
                    self.given_up.clear();
                }
            }
        }
        self.memory_is_bounded()?;
        self.nothing_leaks()
    }

    pub(crate) fn run_scrub(&mut self, repair: Repair) -> Result<parlour_array::ScrubReport, Violation> {
        let refused = |error: parlour_array::AdminError| Violation::Repair(format!("no scrub: {error}"));
        loop {
            let session = self.world.shelf.sessions;
            self.world.array.scrub(self.world.now(), repair).map_err(refused)?;
            self.world.drain()?;
            self.until("a scrub does not end", |run| {
                // An array that has become read-only does not resync either.
                let over = |run: &Run<'_>| run.is_read_only() && run.world.array.status().scrub.is_none();
                !run.world.array.is_maintaining() || over(run)
            })?;
            self.settle()?;
            // If the array has halted in the meantime, its new session has no scrub. By now there
            // is space again.
            if self.lost || self.world.shelf.sessions == session {
                let report = self.world.array.status().last_scrub;
                return report.ok_or_else(|| Violation::Repair("a scrub vanished".into()));
            }
        }
    }

    fn is_read_only(&self) -> bool {
        self.world.array.mode() == Mode::ReadOnly
    }

    fn clean_scrub(&mut self) -> Result<(), Violation> {
        let report = self.run_scrub(Repair::Nothing)?;
        let serving = self.world.array.mode() == Mode::Serving;
        if !report.complete && serving {
            return Err(Violation::Repair("a scrub was broken off in an array that serves".into()));
        }
        let (mismatches, unreadable, skipped) = (report.mismatches, report.unreadable, report.skipped);
        // Unreadable sectors may have cost a member.
        let excused = !self.scars.is_empty() || !self.given_up.is_empty();
        let listed = self.world.array.status().unreadable;
        if !excused && listed > Bytes::ZERO {
            return Err(Violation::Repair(format!("{listed} are called unreadable, and nothing was")));
        }
        // A read-only array has no space to repair unreadable sectors.
        if mismatches > 0 || serving && !excused && unreadable + skipped > 0 {
            return Err(Violation::Scrub { mismatches, unreadable, skipped });
        }
        Ok(())
    }

    /// Checks that no sector is unreadable after a scrub, which reads all units and repairs
    /// unreadable sectors.
    fn no_sector_is_bad(&self) -> Result<(), Violation> {
        let start = self.geometry.data_start();
        for slot in 0..self.geometry.members() {
            let Some(disk) = self.disk_at(slot) else { continue };
            // Metadata before the data area is not read until the array is opened again.
            for sector in self.world.shelf.disks[disk].bad.range(start.get()..) {
                let at = Sector::ZERO + (Sector::new(*sector) - start);
                let location = Location { slot: parlour_units::Slot::new(slot), at };
                if let Occupant::Unit { stripe, offset, .. } = self.geometry.layout().occupant(location)
                    && !self.given_up.contains(&(stripe, offset.get()))
                {
                    let what = format!("a scrub left sector {sector} of disk {disk} ({stripe}) unreadable");
                    return Err(Violation::Repair(what));
                }
            }
        }
        Ok(())
    }

    /// The location of a unit's column: disk and sector.
    fn column(&self, stripe: Stripe, unit: Unit, column: u64) -> Option<(usize, u64)> {
        let location = self.geometry.layout().locate(stripe, unit);
        let at = self.geometry.data_start() + location.at.from_start() + Sectors::new(column);
        Some((self.disk_at(location.slot.get())?, at.get()))
    }

    /// Checks on the members themselves, independent of the array, that data and check units fit.
    fn redundancy_fits(&self) -> Result<(), Violation> {
        match self.columns_that_do_not_fit().first() {
            Some((stripe, column)) => Err(Violation::Redundancy { stripe: stripe.get(), column: *column }),
            None => Ok(()),
        }
    }

    /// The columns at which data and check units do not fit.
    pub(crate) fn columns_that_do_not_fit(&self) -> Vec<(Stripe, u64)> {
        let layout = self.geometry.layout();
        let disks: Vec<Option<usize>> = (0..self.geometry.members()).map(|slot| self.disk_at(slot)).collect();
        let copies = self.geometry.keeps_copies();
        let mut wrong = Vec::new();
        let mut sum = [0; SECTOR];
        for stripe in (0..layout.stripes()).map(Stripe::new) {
            let units: Vec<(usize, u64)> = layout
                .units()
                .filter_map(|unit| {
                    let location = layout.locate(stripe, unit);
                    let at = self.geometry.data_start() + location.at.from_start();
                    Some((disks[location.slot.as_usize()]?, at.get()))
                })
                .collect();
            for column in 0..layout.unit_length().get() {
                if self.given_up.contains(&(stripe, column)) {
                    continue;
                }
                let mut sectors =
                    units.iter().map(|(disk, at)| self.world.shelf.disks[*disk].sector(at + column));
                let fits = if copies {
                    let first = sectors.next().expect("a stripe has units");
                    sectors.all(|copy| copy == first)
                } else {
                    sum.fill(0);
                    sectors.for_each(|sector| xor_into(&mut sum, sector.bytes()));
                    is_zero(&sum)
                };
                if !fits {
                    wrong.push((stripe, column));
                }
            }
        }
        wrong
    }

    /// Checks on the members themselves that each block holds the data of one write of a host (G4).
    pub(crate) fn blocks_are_whole(&self) -> Result<(), Violation> {
        let layout = self.geometry.layout();
        let block = self.geometry.block().get();
        for at in (0..self.geometry.capacity().get()).step_by(block as usize) {
            let (stripe, rest) = (at / layout.stripe_data().get(), at % layout.stripe_data().get());
            let unit = Unit::new((rest / layout.unit_length().get()) as u16);
            let column = rest % layout.unit_length().get();
            let Some((disk, first)) = self.column(Stripe::new(stripe), unit, column) else { continue };
            let disk = &self.world.shelf.disks[disk];
            let mut values = (0..block).map(|sector| disk.sector(first + sector).whose(at + sector));
            let whose = values.next();
            if let Some(other) = values.find(|value| Some(*value) != whose) {
                let allowed = whose.map_or(String::new(), |value| format!("{value}, as in its first sector"));
                return Err(Violation::WrongContent { sector: at, found: other.to_string(), allowed });
            }
        }
        Ok(())
    }

    /// Checks that the array never held more payload than its tuning allows: the limits of hosts,
    /// requests under way, logs, reintegrations and the cache. In addition, one request, one job
    /// and one log may exceed a limit, because they go on alone, however large they are.
    pub(crate) fn memory_is_bounded(&self) -> Result<(), Violation> {
        let (tuning, layout) = (&self.script.options.tuning, self.geometry.layout());
        let stripe = layout.unit_length() * layout.units().count() as u64;
        let longest = Sectors::new(LONGEST_REQUEST);
        let logs = layout.logs().map_or(Sectors::ZERO, |logs| {
            let shape = logs.shape();
            let log = Sectors::new(shape.segment) * u64::from(logs.segments());
            let least = stripe * 2 + Sectors::new(shape.segment) * 4;
            let buffers = match tuning.log_pool {
                LogPool::Global => tuning.log_memory + least,
                LogPool::Static => least * u64::from(layout.region_count()),
            };
            let passes = tuning.reintegration_memory.max(log * 2) + log;
            buffers + passes * u64::from(tuning.reintegration_buffers)
        });
        let most =
            tuning.host_memory + longest + tuning.scratch_memory + stripe * 4 + tuning.preread_cache + logs;
        let peak = self.world.array.status().memory.1;
        if peak > most.bytes() {
            let (peak, most) = (peak.get(), most.bytes().get());
            return Err(Violation::Leak(format!("{peak} B of payload, and may hold {most} B")));
        }
        Ok(())
    }

    /// Checks that at rest the array holds only its open log buffers and the content of its cache.
    fn nothing_leaks(&self) -> Result<(), Violation> {
        if self.world.array.mode() != Mode::Serving {
            return Ok(());
        }
        let held = self.world.array.held();
        if held.jobs + held.locks + held.requests > 0 || held.scratch + held.host_memory > Sectors::ZERO {
            return Err(Violation::Leak(format!("{held:?}")));
        }
        let status = self.world.array.status();
        let in_use = status.memory.0;
        let logs = match (status.log, self.geometry.layout().logs(), self.geometry.log_header_length()) {
            (Some(log), Some(shape), Some(header)) => {
                let payload = Sectors::new(shape.shape().segment) - header * 2;
                payload * u64::from(log.buffers)
            }
            _ => Sectors::ZERO,
        };
        let most = logs + held.cache;
        if in_use < logs.bytes() || in_use > most.bytes() {
            return Err(Violation::Leak(format!(
                "{in_use} of payload, of which its logs have {}",
                logs.bytes()
            )));
        }
        Ok(())
    }

    /// Makes a unit rot: a bit is flipped, or a sector holds the content of another sector. Checks
    /// that a scrub that may not repair reports this and changes nothing, and that a scrub that may
    /// repair does so where the redundancy shows which content is right.
    pub(crate) fn rot(&mut self, number: u64) -> Result<(), Violation> {
        self.settle()?;
        let serving = self.world.array.mode() == Mode::Serving;
        let hurt = !self.scars.is_empty() || !self.given_up.is_empty();
        if !serving || hurt || self.limits.beyond || !self.survives(Fault::Rot, 0) {
            return Ok(());
        }
        self.run_scrub(Repair::Nothing)?;
        if !self.is_whole() {
            return Ok(());
        }
        self.meet(Fault::Rot);
        let layout = self.geometry.layout();
        let stripe = Stripe::new(number % layout.stripes());
        let check = Unit::new(layout.data_units());
        let data = number >> 60 > 8;
        let unit = if data { Unit::new((number >> 40) as u16 % layout.data_units()) } else { check };
        let column = number / layout.stripes() % layout.unit_length().get();
        let Some((disk, sector)) = self.column(stripe, unit, column) else { return Ok(()) };
        let good = self.world.shelf.disks[disk].sector(sector).bytes().to_vec();
        let rotten = self.rotten(disk, &good, number);
        if rotten == good {
            return Ok(());
        }
        self.world.shelf.disks[disk].write(Sector::new(sector), &rotten, true);
        self.rotting = true;
        let result = self.look_at_rot(disk, sector, &rotten, &good, data);
        self.rotting = false;
        result
    }

    /// The rotten content in place of `good`: one bit differs, or it is the content of another
    /// sector of the member.
    fn rotten(&self, disk: usize, good: &[u8], number: u64) -> Vec<u8> {
        if (number >> 58).is_multiple_of(2) {
            let mut rotten = good.to_vec();
            rotten[(number >> 32) as usize % SECTOR] ^= 0x10;
            return rotten;
        }
        let start = self.geometry.data_start().get();
        let elsewhere = start + (number >> 20) % self.geometry.stored().layout.length;
        self.world.shelf.disks[disk].sector(elsewhere).bytes().to_vec()
    }

    fn look_at_rot(
        &mut self,
        disk: usize,
        sector: u64,
        rotten: &[u8],
        good: &[u8],
        data: bool,
    ) -> Result<(), Violation> {
        let report = self.run_scrub(Repair::Nothing)?;
        if self.world.shelf.disks[disk].sector(sector).bytes() != rotten {
            return Err(Violation::Repair("a scrub repaired what it was not asked to".into()));
        }
        if report.mismatches != 1 {
            return Err(Violation::Repair(format!("a scrub found {} rotten places of 1", report.mismatches)));
        }
        let copies = self.geometry.keeps_copies();
        // With two copies it is unknown which one is right. Where data and parity do not fit, the
        // data is trusted.
        let unknown = if copies { self.geometry.layout().check_units() == 1 } else { data };
        if unknown {
            self.world.shelf.disks[disk].write(Sector::new(sector), good, true);
            return Ok(());
        }
        let how = if copies { Repair::Majority } else { Repair::ParityFromData };
        self.run_scrub(how)?;
        // A repair is not durable until a flush, like any write.
        let written = self.world.shelf.disks[disk].written();
        self.world.shelf.disks[disk].flushed(written);
        if self.world.shelf.disks[disk].sector(sector).bytes() != good {
            return Err(Violation::Repair("a scrub did not repair what it was asked to".into()));
        }
        Ok(())
    }
}
