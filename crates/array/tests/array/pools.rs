//! The number of log buffers of a region, and when they are appended (parity logging's K; Stodolsky
//! 1993, section 3).
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::{LogFlush, LogPool};

fn logging() -> Setup {
    Setup::named("parity-logging", 5)
}

fn buffers(world: &World) -> u32 {
    world.array.status().log.unwrap().buffers
}

#[test]
fn a_static_pool_gives_a_region_two_buffers_and_no_more() {
    let mut setup = logging();
    setup.tuning.log_pool = LogPool::Static;
    let mut world = World::new(&setup, SEED);
    let mut random = Random(SEED);
    let mut most = 0;
    let tags: Vec<u64> = (0..40).map(|write| world.write(write * 16, &payload(&mut random, 15))).collect();
    while world.step() {
        assert_eq!(world.array.status().log.unwrap().regions, 1, "one region is written");
        most = most.max(buffers(&world));
    }
    world.settle_until(|world| tags.iter().all(|tag| world.done.contains_key(tag)));
    assert_eq!(most, 2);
}

#[test]
fn a_watermark_keeps_full_buffers_in_memory_until_it_is_reached() {
    let mark = 6;
    let full_buffers = |log_flush| {
        let mut setup = logging();
        setup.tuning.log_flush = log_flush;
        let mut world = World::new(&setup, SEED);
        let mut random = Random(SEED);
        let mut kept = Vec::new();
        for write in 0..12 {
            world.write_now(write * 16, &payload(&mut random, 15)).unwrap();
            world.settle();
            kept.push(buffers(&world));
        }
        kept
    };
    let kept = full_buffers(LogFlush::Watermark(mark));
    assert!(kept.is_sorted_by(|one, next| *next <= mark && (one <= next || *one >= mark - 1)), "{kept:?}");
    assert!(kept.contains(&(mark - 1)), "{kept:?}");
    let kept = full_buffers(LogFlush::WhenFull);
    assert!(kept.iter().all(|buffers| *buffers <= 1), "{kept:?}");
}
