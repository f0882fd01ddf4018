//! Hosts' requests, and the contents that each sector may have.

mod life;

use std::collections::HashMap;

use parlour_array::*;

use crate::common::{Random, Setup, World, payload};

/// Whether to print each step of a run, to look for a defect.
const TRACE: bool = false;

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

pub(crate) struct Model {
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
    pub(crate) fn new(setup: &Setup, seed: u64) -> Model {
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
}

impl Drop for Model {
    /// What led to a failure.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the last steps: {:#?}", self.log.iter().rev().take(6).collect::<Vec<_>>());
        }
    }
}
