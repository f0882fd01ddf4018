//! Impossible wishes for a new array are refused before anything is computed from them; possible
//! ones give a sound array.

use parlour_array::organization::{Consistency, NAMED, Organization};
use parlour_array::{Creation, CreationError, Cylinder, Geometry, LogCreation};
use parlour_units::Sectors;

fn creation(name: &str) -> Creation {
    Creation {
        organization: Organization::named(name).expect("a known organization").organization,
        checks: 1,
        members: 6,
        groups: 1,
        width: None,
        domains: None,
        spares: 0,
        unit: Sectors::new(128),
        block: Sectors::new(8),
        member_length: Sectors::new(1 << 21),
        log: LogCreation::default(),
        consistency: Consistency::Bitmap,
    }
}

fn logged(log: LogCreation) -> Result<Geometry, CreationError> {
    Geometry::create(&Creation { log, ..creation("parity-logging") })
}

/// Regression test. `copies = 1` made a mirror of one copy, which its own superblocks then called
/// impossible.
#[test]
fn a_single_copy_is_none() {
    for name in ["raid10", "raid10-far", "raid01", "raid1"] {
        let refused = Geometry::create(&Creation { checks: 0, ..creation(name) });
        assert_eq!(refused.expect_err(name), CreationError::TooFewCopies(1));
    }
}

/// Files and devices do not report where their heads are.
#[test]
fn floating_is_refused_where_cylinders_are_not_known_or_do_not_fit() {
    let floating = creation("floating");
    let error = Geometry::create(&floating).expect_err("nothing floats");
    assert_eq!(error, CreationError::NoCylinders);
    assert!(error.to_string().contains("simulated"), "{error}");
    let on = |track, tracks| Geometry::create_on(&floating, Cylinder { track, tracks });
    let unit = floating.unit.get();
    for (track, tracks) in [(unit, 1), (unit + 1, 4), (0, 4), (unit * 4_096, 16), (u64::MAX, 2)] {
        let refused = on(track, tracks).expect_err("no cylinder");
        assert!(matches!(refused, CreationError::BadCylinder { .. }), "{refused}");
    }
    let far_too_large = on(unit * 1_000, 60).expect_err("it does not fit");
    assert!(matches!(far_too_large, CreationError::MemberTooSmall(..)), "{far_too_large}");
    assert!(on(unit * 3, 4).expect("a possible array").stored().is_sound());
}

#[test]
fn declustered_stripes_are_narrower_than_the_array_and_have_two_data_units() {
    let raid6 = Creation { checks: 2, members: 12, ..creation("raid6") };
    let layout = raid6.organization.layout.declustered().expect("its parity moves");
    let organization = Organization { layout, ..raid6.organization };
    let of_width =
        |members, width| Geometry::create(&Creation { members, width, organization, ..raid6.clone() });
    for width in [4, 10, 11] {
        let geometry = of_width(12, Some(width)).expect("a possible array");
        assert!(geometry.stored().is_sound());
        assert_eq!((geometry.layout().width(), geometry.fault_tolerance()), (width, 2));
    }
    for width in [0, 3, 12, u16::MAX] {
        let refused = of_width(12, Some(width)).expect_err("no such stripe");
        assert_eq!(refused, CreationError::BadWidth { width, members: 12, least: 4, most: 11 });
    }
    assert_eq!(of_width(12, None).expect_err("no width"), CreationError::NoWidth);
    let few = of_width(4, Some(4)).expect_err("too few members");
    assert_eq!(few, CreationError::TooFewToDecluster { members: 4, checks: 2, least: 5 });
    let rotated = Geometry::create(&Creation { width: Some(6), ..raid6 }).expect_err("its stripes are wide");
    assert_eq!(rotated, CreationError::UselessWidth(6));
}

#[test]
fn no_stripe_has_more_units_in_a_failure_domain_than_may_be_lost() {
    let raid6 = Creation { checks: 2, members: 12, ..creation("raid6") };
    let layout = raid6.organization.layout.declustered().expect("its parity moves");
    let organization = Organization { layout, ..raid6.organization };
    let of = |width, domains| {
        let (width, domains) = (Some(width), Some(domains));
        Geometry::create(&Creation { width, domains, organization, ..raid6.clone() })
    };
    for (width, domains) in [(4, 3), (6, 3), (8, 4), (5, 6), (11, 6), (11, 12)] {
        let geometry = of(width, domains).expect("a possible array");
        assert!(geometry.stored().is_sound(), "{width}, {domains}");
    }
    for domains in [0, 5, 7, 24, u16::MAX] {
        let refused = of(4, domains).expect_err("domains are equally large");
        assert_eq!(refused, CreationError::UnequalDomains { members: 12, domains });
    }
    for domains in [1, 2] {
        let refused = of(4, domains).expect_err("entries stand in three domains");
        assert_eq!(refused, CreationError::TooFewDomains { domains, least: 3 });
    }
    let wide = of(7, 3).expect_err("six fit");
    assert_eq!(wide, CreationError::BadWidth { width: 7, members: 12, least: 4, most: 6 });
    let rotated = |domains| Geometry::create(&Creation { domains: Some(domains), ..raid6.clone() });
    let refused = rotated(4).expect_err("each stripe is on all members");
    assert_eq!(refused, CreationError::DomainTooLarge { domains: 4, most: 3, tolerance: 2 });
    assert!(rotated(6).expect("two of each domain").stored().is_sound());
    let copies = Creation { domains: Some(2), members: 6, ..creation("raid10") };
    assert!(Geometry::create(&copies).is_ok(), "each copy in another domain");
}

#[test]
fn distributed_spares_are_for_stripes_that_leave_room_for_them() {
    let raid6 = Creation { checks: 2, members: 8, ..creation("raid6") };
    let layout = raid6.organization.layout.declustered().expect("its parity moves");
    let organization = Organization { layout, ..raid6.organization };
    let with = |width, spares| {
        Geometry::create(&Creation { organization, width: Some(width), spares, ..raid6.clone() })
    };
    assert!(with(7, 1).is_ok(), "a stripe and its spare place are on all members");
    assert_eq!(with(5, 2).map(|_| ()), Err(CreationError::TooManySpares(2)));
    let domains = Creation { domains: Some(4), width: Some(8), spares: 1, organization, ..raid6.clone() };
    let refused = Geometry::create(&domains).map(|_| ());
    assert_eq!(refused, Err(CreationError::BadWidth { width: 8, members: 8, least: 4, most: 7 }));
    let wide = Geometry::create(&Creation { spares: 1, ..raid6 }).map(|_| ());
    assert_eq!(wide, Err(CreationError::UselessSpares));
}

#[test]
fn each_far_copy_has_room_for_a_unit_at_least() {
    let (name, unit) = ("raid10-far", Sectors::new(1 << 20));
    let refused = Geometry::create(&Creation { checks: 1, unit, ..creation(name) });
    assert!(matches!(refused.expect_err(name), CreationError::UnitTooLarge { .. }));
    let unit = Sectors::new((1 << 20) - 4_096);
    let geometry =
        Geometry::create(&Creation { checks: 1, unit, ..creation(name) }).expect("a possible array");
    assert!(geometry.stored().is_sound());
    let mut unsound = *geometry.stored();
    unsound.layout.length = unit.get() * 2 - 1;
    assert!(!unsound.is_sound());
}

#[test]
fn groups_that_cannot_be_are_refused_however_many() {
    for name in ["parity-logging", "raid5", "raid10", "raid0"] {
        for groups in [0, 7, 21_846, u16::MAX] {
            assert!(Geometry::create(&Creation { groups, ..creation(name) }).is_err(), "{name}: {groups}");
        }
    }
}

/// Regression test. A log segment of length zero led to a division by zero, and so did a track.
#[test]
fn log_segments_and_tracks_that_cannot_be_are_refused() {
    for sectors in [0, 9, 1 << 20, u64::MAX / 512] {
        let length = Sectors::new(sectors);
        let segment = logged(LogCreation { segment: Some(length), ..LogCreation::default() });
        assert_eq!(segment.expect_err("no segment"), CreationError::BadSegment(length.bytes()));
        let track = logged(LogCreation { track: Some(length), ..LogCreation::default() });
        assert_eq!(track.expect_err("no track"), CreationError::BadTrack(length.bytes()));
    }
}

#[test]
fn a_wish_for_more_regions_than_anybody_needs_is_granted_in_part() {
    let geometry = logged(LogCreation { regions: Some(u32::MAX), ..LogCreation::default() });
    match geometry {
        Ok(geometry) => assert!(geometry.stored().is_sound()),
        Err(error) => assert!(matches!(error, CreationError::MemberTooSmall(..)), "{error}"),
    }
}

/// What is acknowledged from the journal takes a small part of a member, and a bounded one.
#[test]
fn an_array_with_a_journal_writes_back_from_a_64th_of_a_member_and_at_most_64_mib() {
    const MIB: u64 = 1 << 11;
    let length = |name: &str, consistency, mib: u64, writes: Option<u64>| {
        let log = LogCreation { writes: writes.map(Sectors::new), ..LogCreation::default() };
        let member_length = Sectors::new(mib * MIB);
        let creation = Creation { consistency, member_length, log, ..creation(name) };
        Geometry::create(&creation).map(|geometry| {
            assert!(geometry.stored().is_sound());
            geometry.stored().write_log
        })
    };
    for (mib, expected) in [(63, 0), (64, 1), (127, 1), (128, 2), (1 << 12, 64), (1 << 20, 64)] {
        for name in ["parity-logging", "raid5"] {
            assert_eq!(length(name, Consistency::Journal, mib, None), Ok(expected * MIB), "{mib} MiB");
        }
        assert_eq!(length("parity-logging", Consistency::Bitmap, mib, None), Ok(0));
    }
    for consistency in [Consistency::Journal, Consistency::Bitmap] {
        assert_eq!(length("parity-logging", consistency, 1 << 10, Some(0)), Ok(0), "write-through");
    }
    let asked = |sectors| length("parity-logging", Consistency::Journal, 1 << 12, Some(sectors));
    assert_eq!(asked(512), Ok(512));
    for sectors in [1, 504, 513, (1 << 21) + 8] {
        assert!(matches!(asked(sectors), Err(CreationError::BadWriteLog(_))), "{sectors} sectors");
    }
    let nothing = length("parity-logging", Consistency::Bitmap, 1 << 12, Some(512));
    assert_eq!(nothing, Err(CreationError::NothingToWriteBackFrom));
}

/// Each lane holds the longest entries, so the streams of small arrays have fewer.
#[test]
fn a_journal_has_four_lanes_or_as_many_as_are_long_enough() {
    const MIB: u64 = 1 << 11;
    let lanes = |mib: u64, writes: Option<u64>, lanes: Option<u16>| {
        let log = LogCreation { writes: writes.map(Sectors::new), lanes, ..LogCreation::default() };
        let (member_length, consistency) = (Sectors::new(mib * MIB), Consistency::Journal);
        let creation = Creation { consistency, member_length, log, ..creation("parity-logging") };
        Geometry::create(&creation).map(|geometry| {
            assert!(geometry.stored().is_sound());
            geometry.stored().lanes
        })
    };
    for mib in [64, 1 << 10, 1 << 14, 1 << 20] {
        let found = lanes(mib, None, None).expect("a possible array");
        assert!((1..=4).contains(&found), "{mib} MiB");
        assert_eq!(lanes(mib, None, Some(found)), Ok(found), "{mib} MiB");
        assert_eq!(lanes(mib, None, Some(1)), Ok(1), "{mib} MiB");
    }
    assert_eq!(lanes(1 << 20, None, None), Ok(4), "members of 1 TiB");
    assert_eq!(lanes(1 << 10, Some(2 * MIB), None), Ok(2), "with 2 MiB for writes");
    for count in [0, 17] {
        assert_eq!(lanes(1 << 10, None, Some(count)), Err(CreationError::BadLanes(count)));
    }
    let many = lanes(1 << 10, Some(512), Some(16));
    assert!(matches!(many, Ok(16) | Err(CreationError::TooManyLanes(16, _))), "{many:?}");
}

/// With a journal, no more whole stripes are written at a time than the list has room for.
#[test]
fn the_bad_block_log_is_longer_with_a_journal_and_long_members() {
    let length = |consistency, member_length| {
        let member_length = Sectors::new(member_length);
        let wish = Creation { consistency, member_length, ..creation("raid5") };
        let geometry = Geometry::create(&wish).expect("a possible array");
        geometry.bad_block_log_at(1).expect("it has one").1.get()
    };
    assert_eq!(length(Consistency::Bitmap, 1 << 21), 64);
    assert_eq!(length(Consistency::Journal, 1 << 21), 512);
    assert_eq!(length(Consistency::Journal, 1 << 17), 64);
    let long = Creation { consistency: Consistency::Journal, ..creation("raid5") };
    let geometry = Geometry::create(&long).expect("a possible array");
    for unsound in [0, 56, 65, 520, 1 << 20] {
        let mut stored = *geometry.stored();
        stored.bad_block_log = unsound;
        assert!(!stored.is_sound(), "{unsound} sectors");
    }
}

/// A superblock whose stream of records is too short for its longest entries is refused: creation
/// must not make one.
#[test]
fn the_shortest_journal_that_creation_makes_is_long_enough() {
    let mut made = 0;
    for named in NAMED {
        for members in [named.least_members(), 9, 10, 31, 64] {
            for (unit, block) in [(1, 1), (3, 1), (16, 1), (8, 8), (128, 8), (2_048, 8)] {
                for checks in named.organization.checks() {
                    for mib in [3, 4, 5, 6, 8, 12, 16, 24, 64, 256] {
                        let wishes = Creation {
                            organization: named.organization,
                            checks,
                            members,
                            unit: Sectors::new(unit),
                            block: Sectors::new(block),
                            member_length: Sectors::new(mib << 11),
                            consistency: Consistency::Journal,
                            ..creation("raid5")
                        };
                        if let Ok(geometry) = Geometry::create(&wishes) {
                            assert!(geometry.stored().is_sound(), "{wishes:?}");
                            made += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(made > 1_000, "only {made} are possible");
}
