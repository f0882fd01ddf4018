//! What happens to an array besides hosts' requests.

use parlour_array::*;
use parlour_units::Slot;

use super::Model;
use crate::common::World;

impl Model {
    fn healthy(&mut self) -> bool {
        let s = self.w().array.status();
        let w = self.w();
        s.members.iter().all(|m| m.state == "active" && !w.disks[w.numbers[m.member.unwrap() as usize]].dead)
    }
    fn synced(&mut self) -> bool {
        self.w().array.status().resync.is_none()
    }
    fn redundant(&mut self) -> bool {
        self.w().array.geometry().fault_tolerance() > 0
    }
    fn opened(&mut self) {
        // Runs until the session is recorded (T1).
        while self.w().pending.iter().any(|e| e.class == Class::Metadata) {
            self.steps(1);
        }
    }
    fn crash(&mut self, power: bool) {
        self.opened();
        let healthy = self.healthy();
        let world = self.world.take().unwrap();
        let copy = world.disks.clone();
        let setup = world.setup.clone();
        let opened = if power { world.crash(false) } else { world.reopen(false) };
        self.note(format!(
            "crash power {power} healthy {healthy} -> {:?}",
            opened.as_ref().err().map(|e| e.to_string())
        ));
        match opened {
            Ok(w) => {
                self.world = Some(w);
                self.w().disks.iter_mut().for_each(|d| {
                    if d.stable.is_none() {
                        d.volatile()
                    }
                });
                let n = self.r.below(30);
                self.opened();
                self.steps(n);
                let strict = healthy;
                self.after_crash(power, strict);
            }
            Err(e) => {
                assert!(!healthy, "{e}");
                let mut disks = copy;
                let mut r = self.r.clone();
                if power {
                    for d in &mut disks {
                        d.power_loss(&mut r, 2);
                    }
                }
                let order: Vec<usize> = (0..disks.len()).filter(|i| !disks[*i].dead).collect();
                let sessions = 5_000 + self.clock;
                let w = World::open(&setup, disks, order, r, sessions, true).expect("by force");
                self.world = Some(w);
                self.opened();
                self.after_crash(power, false);
            }
        }
    }
    /// Some requests, and something else at the same time.
    pub(crate) fn cycle(&mut self) {
        let n = 5 + self.r.below(30);
        self.rounds(n);
        let a = self.r.below(12);
        match a {
            0 | 1 => {
                self.crash(true);
            }
            2 => {
                self.crash(false);
            }
            3 => {
                self.note("restart");
                self.opened();
                self.stop_and_open();
            }
            4..=6 if self.redundant() => {
                if self.healthy()
                    && self.synced()
                    && self.w().pending.iter().all(|e| e.class != Class::Metadata)
                {
                    let m = self.w().setup.members;
                    let slot = self.r.below(u64::from(m)) as u16;
                    if self.r.chance(3) {
                        self.w().add_spare();
                    }
                    self.note(format!("member {slot} dies"));
                    if self.r.chance(4) {
                        let now = self.w().now;
                        let _ = self.w().array.fail(now, Slot::new(slot));
                        self.w().drain();
                        self.collect();
                    } else {
                        self.w().disk_at(slot).dead = true;
                    }
                    let n = self.r.below(40);
                    self.rounds(n);
                    if self.r.chance(4) {
                        self.note("degraded stop");
                        self.stop_and_open();
                    }
                    if self.r.chance(8) {
                        let p = self.r.chance(2);
                        self.crash(p);
                    }
                    let n = self.r.below(20);
                    self.rounds(n);
                    let times = 1 + self.r.below(3);
                    for _ in 0..times {
                        if self.healthy() && !self.synced() {
                            // A crash came meanwhile: the content of a new member in an active
                            // member's slot could not be computed.
                            break;
                        }
                        let (index, info) = self.w().new_disk();
                        let now = self.w().now;
                        let got = self.w().array.replace(now, Slot::new(slot), info);
                        self.note(format!("replace {slot}: {got:?}"));
                        match got {
                            Ok(m) => {
                                let n = self.w().numbers.len();
                                assert_eq!(m.as_usize(), n);
                                self.w().numbers.push(index);
                            }
                            Err(_) => {
                                self.w().disks[index].dead = true;
                            }
                        }
                        self.w().drain();
                        self.collect();
                        let n = self.r.below(60);
                        self.rounds(n);
                        let n = self.r.below(800);
                        self.steps(n);
                        if self.r.chance(5) {
                            self.note("rebuild: member dies again");
                            let st = self.w().array.status().members[usize::from(slot)].clone();
                            if st.state == "rebuilding" {
                                self.w().disk_at(slot).dead = true;
                                let n = self.r.below(30);
                                self.rounds(n);
                            }
                        }
                        if self.r.chance(6) {
                            self.note("rebuild stop");
                            self.stop_and_open();
                        }
                        if self.r.chance(8) {
                            let p = self.r.chance(2);
                            self.crash(p);
                        }
                    }
                }
            }
            7 | 8 if self.redundant() => {
                self.note("scrub");
                let now = self.w().now;
                let _ = self.w().array.scrub(now, Repair::Nothing);
                self.w().drain();
                self.collect();
                let n = self.r.below(30);
                self.rounds(n);
            }
            9 if self.redundant() && self.healthy() && self.synced() => {
                self.note("unreadable");
                let m = self.w().setup.members;
                let m = self.r.below(u64::from(m)) as u16;
                let start = self.w().array.geometry().data_start().get();
                let len = self.w().setup.member_length - 2048;
                for _ in 0..1 {
                    let s = start + self.r.below(2000.min(len - start));
                    self.w().disk_at(m).unreadable.insert(s);
                }
                let n = self.r.below(30);
                self.rounds(n);
                self.settle();
                self.check_all();
                for d in &mut self.w().disks {
                    d.unreadable.clear();
                }
            }
            10 => {
                self.settle();
            }
            _ => {}
        }
    }
    fn stop_and_open(&mut self) {
        let now = self.w().now;
        self.w().array.stop(now);
        self.w().drain();
        self.collect();
        let die = self.redundant() && self.r.chance(4) && self.healthy() && self.synced();
        let when = self.r.below(60);
        let mut i = 0;
        while self.w().array.mode() != Mode::Stopped {
            if die && i == when {
                let m = self.w().setup.members;
                let p = self.r.below(u64::from(m)) as u16;
                self.note(format!("{p} dies while stopping"));
                self.w().disk_at(p).dead = true;
            }
            if !self.w().step() {
                break;
            }
            self.collect();
            i += 1;
        }
        assert_eq!(self.w().array.mode(), Mode::Stopped, "does not stop");
        assert!(self.ops.is_empty());
        let power = self.r.chance(2);
        let world = self.world.take().unwrap();
        assert!(world.pending.is_empty(), "stopped with {} accesses under way", world.pending.len());
        let world =
            if power { world.crash(false) } else { world.reopen(false) }.expect("a stopped array opens");
        self.world = Some(world);
        self.opened();
        self.check_all();
    }
    /// Replaces what has failed, and checks everything.
    pub(crate) fn heal(&mut self) {
        self.settle();
        for slot in 0..self.w().setup.members {
            let st = self.w().array.status().members[usize::from(slot)].clone();
            if st.state == "failed" {
                let (index, info) = self.w().new_disk();
                let now = self.w().now;
                if self.w().array.replace(now, Slot::new(slot), info).is_ok() {
                    self.w().numbers.push(index);
                } else {
                    self.w().disks[index].dead = true;
                }
                self.w().drain();
                self.settle();
            }
        }
        self.settle();
        if self.redundant() {
            {
                let s = self.w().array.status();
                assert!(
                    self.healthy() && self.synced(),
                    "{:?} {:?} {:?} {:?}",
                    s.members.iter().map(|m| m.state).collect::<Vec<_>>(),
                    s.rebuild,
                    s.resync,
                    s.log
                );
            }
            let now = self.w().now;
            if self.w().array.status().scrub.is_none() {
                self.w().array.scrub(now, Repair::Nothing).unwrap();
                self.w().drain();
            }
            self.settle();
            assert!(
                self.w().array.status().last_scrub.is_some_and(|report| report.complete),
                "{:?}",
                self.log
            );
            let report = self.w().scrub(Repair::Nothing);
            assert_eq!((report.mismatches, report.unreadable, report.skipped), (0, 0, 0));
        }
        self.check_all();
    }
}
