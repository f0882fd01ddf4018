//! Regression tests: each reproduces a defect that a review found.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

mod hosts;
mod members;
mod opening;
mod unreadable;

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::{Action, Effect};
use parlour_units::{Member, Sector, Sectors};

fn is_write(e: &Effect) -> Option<(Member, Sector, Sectors)> {
    if let Action::Write { member, at, length, .. } = e.action { Some((member, at, length)) } else { None }
}

fn run_where(w: &mut World, f: impl Fn(&Effect) -> bool) -> bool {
    if let Some(i) = w.pending.iter().position(f) {
        w.step_at(i);
        true
    } else {
        false
    }
}

fn logging(n: u16) -> Setup {
    Setup::named("parity-logging", n)
}

fn live_logs(seed: u64, setup: &Setup) -> (World, Vec<u8>) {
    let mut w = World::new(setup, SEED + seed);
    let mut r = Random(seed);
    let flat = write_at_random(&mut w, &mut r, 100);
    w.stop();
    (w, flat)
}

/// Writes three sectors at each of `count` random places; returns what the array then contains.
fn write_at_random(w: &mut World, r: &mut Random, count: u32) -> Vec<u8> {
    let cap = w.capacity();
    let mut flat = vec![0u8; cap as usize * 512];
    for _ in 0..count {
        let at = r.below(cap - 3);
        let b = payload(r, 3);
        flat[at as usize * 512..][..1536].copy_from_slice(&b);
        w.write_now(at, &b).unwrap();
    }
    flat
}

fn bad_sectors(w: &mut World, flat: &[u8]) -> (usize, usize) {
    let cap = w.capacity();
    let mut bad = 0;
    let mut lost = 0;
    for at in (0..cap).step_by(16) {
        let l = 16.min(cap - at);
        match w.read_now(at, l) {
            Ok(b) => {
                bad +=
                    b.chunks(512).zip(flat[at as usize * 512..].chunks(512)).filter(|(a, b)| a != b).count();
            }
            Err(_) => lost += l as usize,
        }
    }
    (bad, lost)
}
