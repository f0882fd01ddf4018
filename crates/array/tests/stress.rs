//! Everything at once: hosts, dying members, replacements, spares, scrubs, stops, kills and power
//! cuts with volatile caches, at random, against a model of the contents that each sector may have.

#![allow(
    dead_code,
    clippy::collapsible_match,
    clippy::collapsible_if,
    clippy::needless_range_loop,
    reason = "a model, not a product"
)]

mod common;

/// Whether to print each step of a run, to look for a defect.
const TRACE: bool = false;

use common::{Random, SEED, Setup, World, payload};
use parlour_array::organization::{Consistency, Update};
use parlour_array::*;
use parlour_units::{Sectors, Slot};
use std::collections::HashMap;

#[derive(Clone, Debug)]
struct Entry {
    key: u64,
    acked: Option<u64>,
    fua: bool,
}
enum Op {
    Write { at: u64, keys: Vec<u64> },
    Read { at: u64, length: u64, since: u64 },
    Flush { since: u64 },
    Other,
}

struct Model {
    world: Option<World>,
    hist: Vec<Vec<Entry>>,
    clock: u64,
    flushed: u64,
    ops: HashMap<u64, Op>,
    busy: Vec<(u64, u64)>,
    r: Random,
    log: Vec<String>,
    errors_ok: bool,
}

fn key(sector: &[u8]) -> u64 {
    if sector.iter().all(|b| *b == 0) {
        return 0;
    }
    sector.chunks(8).fold(0xcbf2_9ce4_8422_2325, |h: u64, c| {
        (h ^ u64::from_le_bytes(c.try_into().unwrap())).wrapping_mul(0x100_0000_01b3).rotate_left(7)
    })
}

impl Model {
    fn new(setup: &Setup, seed: u64) -> Model {
        let mut world = World::new(setup, seed);
        world.all_volatile();
        let cap = world.capacity() as usize;
        Model {
            world: Some(world),
            hist: vec![Vec::new(); cap],
            clock: 1,
            flushed: 0,
            ops: HashMap::new(),
            busy: vec![],
            r: Random(seed ^ 77),
            log: vec![],
            errors_ok: false,
        }
    }
    fn w(&mut self) -> &mut World {
        self.world.as_mut().unwrap()
    }
    fn note(&mut self, s: impl Into<String>) {
        let n = format!("{}: {}", self.clock, s.into());
        if TRACE {
            eprintln!("{n}");
        }
        self.log.push(n);
    }
    fn range(&mut self) -> (u64, u64) {
        let block = self.w().setup.block;
        let blocks = self.w().capacity() / block;
        let l = match self.r.below(5) {
            0 | 1 => 1,
            2 => 1 + self.r.below(8),
            3 => 1 + self.r.below(64),
            _ => 1 + self.r.below(200),
        }
        .min(blocks);
        let at = match self.r.below(3) {
            0 => self.r.below(64.min(blocks - l + 1)),
            1 => self.r.below(2000.min(blocks - l + 1)),
            _ => self.r.below(blocks - l + 1),
        };
        (at * block, l * block)
    }
    fn submit(&mut self) {
        if self.w().array.mode() != Mode::Serving {
            return;
        }
        let (at, length) = self.range();
        if self.r.chance(8) {
            self.clock += 1;
            let since = self.clock;
            let tag = self.w().submit(Operation::Flush, 0, 0, None);
            self.ops.insert(tag, Op::Flush { since });
            self.collect();
            return;
        }
        if self.busy.iter().any(|(a, l)| at < a + l && *a < at + length) {
            return;
        }
        if self.r.chance(4) {
            self.clock += 1;
            let since = self.clock;
            let tag = self.w().submit(Operation::Read, at, length, None);
            self.ops.insert(tag, Op::Read { at, length, since });
        } else {
            let durable = self.r.chance(5);
            let zero = self.r.chance(8);
            let bytes = if zero { vec![0; length as usize * 512] } else { payload(&mut self.r, length) };
            let keys: Vec<u64> = bytes.chunks(512).map(key).collect();
            for (i, k) in keys.iter().enumerate() {
                self.hist[at as usize + i].push(Entry { key: *k, acked: None, fua: durable });
            }
            let may_unmap = self.r.chance(2);
            let tag = if zero {
                self.w().submit(
                    Operation::WriteZeroes { may_unmap, fast_only: false, durable },
                    at,
                    length,
                    None,
                )
            } else {
                self.w().submit(Operation::Write { durable }, at, length, Some(&bytes))
            };
            self.ops.insert(tag, Op::Write { at, keys });
        }
        self.busy.push((at, length));
        self.collect();
    }
    fn collect(&mut self) {
        let done = std::mem::take(&mut self.w().done);
        for (tag, (result, bytes)) in done {
            self.clock += 1;
            let now = self.clock;
            match self.ops.remove(&tag) {
                Some(Op::Write { at, keys }) => {
                    self.busy.retain(|(a, _)| *a != at);
                    if result.is_ok() {
                        for i in 0..keys.len() {
                            self.hist[at as usize + i].last_mut().unwrap().acked = Some(now);
                        }
                    } else {
                        assert!(self.errors_ok || result == Err(RequestError::Stopping), "write {result:?}");
                    }
                }
                Some(Op::Read { at, length, since }) => {
                    self.busy.retain(|(a, _)| *a != at);
                    match result {
                        Ok(()) => self.check_read(at, length, &bytes, since),
                        e => assert!(self.errors_ok || e == Err(RequestError::Stopping), "read {e:?}"),
                    }
                }
                Some(Op::Flush { since }) => {
                    if result.is_ok() {
                        self.flushed = self.flushed.max(since);
                    } else {
                        assert!(self.errors_ok || result == Err(RequestError::Stopping), "flush {result:?}");
                    }
                }
                _ => {}
            }
        }
    }
    fn allowed(&self, sector: u64, from: impl Fn(&Entry) -> bool) -> (usize, bool) {
        // The index of the oldest content that is still allowed; whether the initial zeroes are
        // allowed.
        match self.hist[sector as usize].iter().rposition(from) {
            Some(i) => (i, false),
            None => (0, true),
        }
    }
    fn check_read(&mut self, at: u64, length: u64, bytes: &[u8], since: u64) {
        for i in 0..length {
            let k = key(&bytes[i as usize * 512..][..512]);
            if TRACE && at + i == 41 {
                eprintln!("41 read {k}");
            }
            let (f, zero) = self.allowed(at + i, |e| e.acked.is_some_and(|a| a < since));
            let ok = zero && k == 0 || self.hist[(at + i) as usize][f..].iter().any(|e| e.key == k);
            assert!(ok, "sector {} reads wrong: {k:x}; history {:?}", at + i, self.hist[(at + i) as usize]);
        }
    }
    fn steps(&mut self, n: u64) {
        for _ in 0..n {
            if !self.w().step() {
                break;
            }
            self.collect();
        }
    }
    fn settle(&mut self) {
        self.w().settle();
        self.collect();
        assert!(self.ops.is_empty(), "{} requests hang: {:?}", self.ops.len(), self.w().array.status());
    }
    fn rounds(&mut self, n: u64) {
        for _ in 0..n {
            self.submit();
            let s = self.r.below(8);
            self.steps(s);
        }
    }
    /// The model after a crash: the contents that may be there.
    fn after_crash(&mut self, power: bool, strict: bool) {
        self.ops.clear();
        self.busy.clear();
        let cap = self.hist.len() as u64;
        let flushed = self.flushed;
        let mut at = 0;
        let mut wrong = vec![];
        while at < cap {
            let l = 128.min(cap - at);
            let got = self.w().read_now(at, l);
            self.clock += 1;
            let now = self.clock;
            for i in 0..l {
                let s = at + i;
                let k = match &got {
                    Ok(b) => key(&b[i as usize * 512..][..512]),
                    Err(_) => {
                        assert!(!strict);
                        continue;
                    }
                };
                let (f, zero) = self.allowed(s, |e| e.acked.is_some_and(|a| e.fua || a < flushed));
                let ok = zero && k == 0 || self.hist[s as usize][f..].iter().any(|e| e.key == k);
                if !ok && TRACE {
                    eprintln!("WRONG {s} {k:x}");
                }
                if TRACE && s == 41 {
                    eprintln!("41 adopted {k}");
                }
                if !ok {
                    wrong.push((s, k, self.hist[s as usize].clone()));
                }
                let h = &mut self.hist[s as usize];
                let e = Entry { key: k, acked: Some(now), fua: power };
                if power || !strict {
                    h.clear();
                    if k != 0 || power {
                        h.push(e);
                    }
                } else if !h.is_empty() {
                    h.drain(..f);
                    h.push(e);
                }
            }
            at += l;
        }
        assert!(
            !strict || wrong.is_empty(),
            "{} sectors wrong after a crash, e.g. {:?}",
            wrong.len(),
            &wrong[..wrong.len().min(2)]
        );
    }
    fn check_all(&mut self) {
        let cap = self.hist.len() as u64;
        let mut at = 0;
        while at < cap {
            let l = 128.min(cap - at);
            self.clock += 1;
            let since = self.clock;
            match self.w().read_now(at, l) {
                Ok(b) => self.check_read(at, l, &b, since),
                Err(e) => assert!(self.errors_ok, "{e}"),
            }
            at += l;
        }
    }
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
    fn cycle(&mut self) {
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
    fn heal(&mut self) {
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

fn setups() -> Vec<(String, Setup)> {
    let mut v: Vec<(String, Setup)> = vec![];
    for (n, m) in [
        ("raid0", 4),
        ("raid1", 3),
        ("raid1", 2),
        ("raid01", 4),
        ("raid10", 4),
        ("raid10-far", 4),
        ("raid4", 4),
        ("raid5", 5),
        ("parity-logging", 5),
        ("parity-logging", 3),
    ] {
        let mut s = Setup::named(n, m);
        s.member_length = 5 * 2048;
        v.push((format!("{n} {m}"), s));
    }
    let l = |m| {
        let mut s = Setup::named("parity-logging", m);
        s.member_length = 5 * 2048;
        s
    };
    let mut wide = l(6);
    wide.log.sublogs = Some(2);
    v.push(("L=2".into(), wide));
    let mut groups = l(8);
    groups.groups = 2;
    v.push(("2 groups".into(), groups));
    let base = l(5).tuning;
    for (n, t) in [
        ("overwrite", Tuning { large_write: Some(LargeWrite::Overwrite), ..base }),
        ("cancel", Tuning { large_write: Some(LargeWrite::Cancel), ..base }),
        ("static", Tuning { log_pool: LogPool::Static, ..base }),
        ("watermark", Tuning { log_flush: LogFlush::Watermark(3), ..base }),
        ("pool 2", Tuning { log_memory: Sectors::new(64), ..base }),
        ("serial", Tuning { reintegration_memory: Sectors::new(96), reintegration_buffers: 1, ..base }),
        ("cache", Tuning { preread_cache: Sectors::new(600), ..base }),
        ("scratch", Tuning { scratch_memory: Sectors::new(64), ..base }),
        (
            "tiny",
            Tuning {
                scratch_memory: Sectors::new(8),
                log_memory: Sectors::new(64),
                reintegration_memory: Sectors::new(40),
                reintegration_buffers: 1,
                preread_cache: Sectors::new(40),
                checkpoint: Sectors::new(200),
                live_records: 20,
                slice: Sectors::new(5),
                ..base
            },
        ),
    ] {
        let mut s = l(5);
        s.tuning = t;
        v.push((n.into(), s));
    }
    let mut c = Setup::named("raid5", 4);
    c.member_length = 5 * 2048;
    c.tuning.preread_cache = Sectors::new(400);
    c.tuning.checkpoint = Sectors::new(300);
    v.push(("raid5 cache".into(), c.clone()));
    for mut s in [l(5), c] {
        s.simulated.combined = true;
        v.push((format!("{:?} in one access", s.organization.update), s));
    }
    // The same again with `journal`. (With full-stripe writes in place, not all promises are kept
    // there.)
    let may_be = |setup: &Setup| {
        let in_place = setup.tuning.large_write == Some(LargeWrite::Cancel);
        setup.organization.update == Update::Logged && !in_place
    };
    let logging: Vec<(String, Setup)> = v.iter().filter(|(_, setup)| may_be(setup)).cloned().collect();
    for (name, setup) in logging {
        v.push((format!("logged {name}"), Setup { consistency: Consistency::Journal, ..setup }));
    }
    let mut blocks = l(5);
    (blocks.block, blocks.consistency) = (8, Consistency::Journal);
    blocks.log.segment = Some(Sectors::new(64));
    v.push(("logged 4 KiB blocks".into(), blocks));
    v
}

/// The number of seeds for each setup.
const SEEDS: u64 = 2;

impl Drop for Model {
    /// What led to a failure.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the last steps: {:#?}", self.log.iter().rev().take(6).collect::<Vec<_>>());
        }
    }
}

#[test]
fn failures_commands_crashes_and_restarts_at_random_lose_nothing_that_was_flushed() {
    for (name, setup) in setups() {
        for seed in (0..SEEDS).map(|seed| SEED + seed * 1000) {
            println!("{name}: seed {seed:#x}");
            let mut model = Model::new(&setup, seed);
            for cycle in 0..12 {
                model.cycle();
                if cycle % 4 == 3 {
                    model.heal();
                }
            }
        }
    }
}
