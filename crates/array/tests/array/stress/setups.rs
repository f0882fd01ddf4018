//! The arrays of the test.

use parlour_array::organization::{Consistency, Update};
use parlour_array::*;
use parlour_units::Sectors;

use crate::common::Setup;

pub(crate) fn setups() -> Vec<(String, Setup)> {
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
        ("watermark", Tuning { log_flush: Some(LogFlush::Watermark(3)), ..base }),
        ("pool 2", Tuning { log_memory: Sectors::new(64), ..base }),
        ("shared", Tuning { shared_memory: Some(Sectors::new(256)), ..base }),
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
    // The same again with `journal`. (All writes are logged, also those of whole stripes: what is
    // cut off of those that are not may be lost with a member.)
    let may_be = |setup: &Setup| {
        let in_place = setup.tuning.large_write == Some(LargeWrite::Cancel);
        setup.organization.update == Update::Logged && !in_place
    };
    let logging: Vec<(String, Setup)> = v.iter().filter(|(_, setup)| may_be(setup)).cloned().collect();
    for (name, setup) in logging {
        let mut setup = Setup { consistency: Consistency::Journal, ..setup };
        setup.tuning.large_write = Some(LargeWrite::Overwrite);
        v.push((format!("logged {name}"), setup));
    }
    let mut blocks = l(5);
    (blocks.block, blocks.consistency) = (8, Consistency::Journal);
    blocks.log.segment = Some(Sectors::new(64));
    blocks.tuning.large_write = Some(LargeWrite::Overwrite);
    v.push(("logged 4 KiB blocks".into(), blocks));
    v
}
