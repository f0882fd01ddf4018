//! Properties of every layout: the map and its inverse agree, units of a stripe are on different
//! members, a region's sublogs are not on its data members, nothing overlaps, the load is even.

use std::collections::{BTreeMap, BTreeSet};

use parlour_array::layout::{Layout, Location, Occupant, Rotation};
use parlour_array::organization::{Code, Consistency, LayoutChoice, Organization, ReadChoice, Update};
use parlour_array::{Creation, CreationError, Cylinder, Geometry, LogCreation};
use parlour_units::{Region, Sector, Sectors, Slot, Stripe, Unit};
use proptest::prelude::*;

fn organization(layout: LayoutChoice) -> Organization {
    let (code, update, read) = match layout {
        LayoutChoice::Concatenated | LayoutChoice::Striped => {
            (Code::None, Update::InPlace, ReadChoice::Direct)
        }
        copied if copied.is_copied() => (Code::Copy, Update::InPlace, ReadChoice::Primary),
        LayoutChoice::Parity(_) | LayoutChoice::Declustered => {
            (Code::ReedSolomon, Update::InPlace, ReadChoice::Direct)
        }
        LayoutChoice::Cylinders => (Code::ReedSolomon, Update::Floating, ReadChoice::Direct),
        _ => (Code::ReedSolomon, Update::Logged, ReadChoice::Direct),
    };
    Organization { layout, code, update, read }
}

prop_compose! {
    fn creations()(
        layout in prop::sample::select(LayoutChoice::ALL.to_vec()),
        per_group in 2u16..12,
        checks in 1u16..4,
        sets in 1u16..4,
        groups in 1u16..4,
        width in 3u16..8,
        spares in 0u16..2,
        unit in 1u64..40,
        mib in 4u64..12,
        sublogs in 1u16..4,
        ratio in 0.1f64..2.5,
        regions in 1u32..30,
    ) -> Creation {
        let organization = organization(layout);
        let copied = organization.code == Code::Copy;
        let groups = if organization.code == Code::ReedSolomon { groups } else { 1 };
        let members = if copied { (checks + 1) * sets } else { per_group * groups };
        let possible = organization.checks();
        Creation {
            organization,
            checks: checks.clamp(*possible.start(), *possible.end()),
            members,
            groups,
            width: layout.is_declustered().then_some(width),
            domains: None,
            spares: if layout.is_declustered() { spares } else { 0 },
            unit: Sectors::new(unit),
            block: Sectors::new(1),
            member_length: Sectors::new(mib * 2_048),
            log: LogCreation {
                segment: Some(Sectors::new(16)),
                sublogs: Some(sublogs),
                ratio: Some(ratio),
                regions: Some(regions),
                track: None,
                writes: None,
                lanes: None,
                journals: 0,
                journal_slots: None,
                journal_copies: None,
            },
            consistency: Consistency::Bitmap,
        }
    }
}

/// If units float: on cylinders of five tracks, each with room for three units.
fn on_cylinders(creation: &Creation) -> Result<Geometry, CreationError> {
    Geometry::create_on(creation, Cylinder { track: creation.unit.get() * 3, tracks: 5 })
}

fn possible(creation: &Creation) -> Option<Geometry> {
    match on_cylinders(creation) {
        Ok(geometry) => Some(geometry),
        Err(
            CreationError::TooFewMembers { .. }
            | CreationError::TooFewToDecluster { .. }
            | CreationError::BadWidth { .. }
            | CreationError::TooManySublogs { .. }
            | CreationError::NoRegionFits { .. }
            | CreationError::MemberTooSmall(..),
        ) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Stripes to check: all of a small layout, otherwise the first, the last, and some between.
fn some_stripes(layout: &Layout) -> Vec<Stripe> {
    let stripes = layout.stripes();
    let step = (stripes / 3_000).max(1);
    let mut some: Vec<Stripe> = (0..stripes).step_by(step as usize).map(Stripe::new).collect();
    some.push(Stripe::new(stripes - 1));
    some
}

/// Where updates are not logged, units are at the same places, and the room for logs is unused.
#[test]
fn regions_without_logs_place_units_alike() {
    let creation = |update| Creation {
        organization: Organization { update, ..organization(LayoutChoice::Regions) },
        checks: 1,
        members: 10,
        groups: 2,
        width: None,
        domains: None,
        spares: 0,
        unit: Sectors::new(8),
        block: Sectors::new(1),
        member_length: Sectors::new(6 * 2_048),
        log: LogCreation { segment: Some(Sectors::new(16)), sublogs: Some(2), ..LogCreation::default() },
        consistency: Consistency::Bitmap,
    };
    let [logged, in_place] =
        [Update::Logged, Update::InPlace].map(|update| possible(&creation(update)).expect("possible arrays"));
    assert!(logged.layout().logs().is_some() && in_place.layout().logs().is_none());
    let mut logs = 0;
    for slot in (0..10).map(Slot::new) {
        for at in (0..logged.stored().layout.length).step_by(8).map(Sector::new) {
            let location = Location { slot, at };
            let found = in_place.layout().occupant(location);
            match logged.layout().occupant(location) {
                Occupant::Log { .. } => {
                    logs += 1;
                    assert_eq!(found, Occupant::Unused);
                }
                other => assert_eq!(found, other),
            }
        }
    }
    assert!(logs > 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_map_and_its_inverse_agree(creation in creations()) {
        let Some(geometry) = possible(&creation) else { return Ok(()) };
        let layout = geometry.layout();
        for stripe in some_stripes(layout) {
            for unit in layout.units() {
                let location = layout.locate(stripe, unit);
                for offset in [0, layout.unit_length().get() - 1].map(Sectors::new) {
                    let found = layout.occupant(Location { at: location.at + offset, ..location });
                    prop_assert_eq!(found, Occupant::Unit { stripe, unit, offset });
                }
            }
            for index in 0..layout.spares() {
                let (location, offset) = (layout.spare(stripe, index), Sectors::ZERO);
                prop_assert_eq!(layout.occupant(location), Occupant::Spare { stripe, index, offset });
                let shared = layout.units().any(|unit| layout.locate(stripe, unit).slot == location.slot);
                prop_assert!(!shared, "a spare place is on another member than the units");
            }
        }
    }

    #[test]
    fn the_inverse_and_the_map_agree(creation in creations(), seed in any::<u64>()) {
        let Some(geometry) = possible(&creation) else { return Ok(()) };
        let layout = geometry.layout();
        let length = geometry.stored().layout.length;
        for step in 0..500u64 {
            let random = seed.wrapping_add(step).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let slot = Slot::new((random % u64::from(layout.members())) as u16);
            let at = Sector::new((random >> 20) % length);
            match layout.occupant(Location { slot, at }) {
                Occupant::Unit { stripe, unit, offset } => {
                    let location = layout.locate(stripe, unit);
                    prop_assert_eq!((location.slot, location.at + offset), (slot, at));
                }
                Occupant::Spare { stripe, index, offset } => {
                    let location = layout.spare(stripe, index);
                    prop_assert_eq!((location.slot, location.at + offset), (slot, at));
                }
                Occupant::Log { region, sublog, copy, offset } => {
                    let location = layout.sublog_at(region, sublog, copy).expect("it has logs");
                    prop_assert_eq!((location.slot, location.at + offset), (slot, at));
                }
                Occupant::Unused => {}
            }
        }
    }

    #[test]
    fn units_of_a_stripe_lie_on_different_members_of_its_group(creation in creations()) {
        let Some(geometry) = possible(&creation) else { return Ok(()) };
        let layout = geometry.layout();
        for stripe in some_stripes(layout) {
            let slots: BTreeSet<Slot> = layout.units().map(|unit| layout.locate(stripe, unit).slot).collect();
            prop_assert_eq!(slots.len(), layout.units().count());
            let group = layout.group_of(stripe);
            prop_assert!(slots.iter().all(|slot| group.contains(&slot.get())));
        }
    }

    #[test]
    fn a_regions_sublogs_avoid_its_data_members(creation in creations()) {
        let Some(geometry) = possible(&creation) else { return Ok(()) };
        let layout = geometry.layout();
        let Some(logs) = layout.logs() else { return Ok(()) };
        for region in (0..layout.region_count()).map(Region::new) {
            let copies = |sublog| (0..logs.log_copies()).map(move |copy| (sublog, copy));
            let sublogs: BTreeSet<Slot> = (0..logs.shape().sublogs)
                .flat_map(copies)
                .map(|(sublog, copy)| layout.sublog_slot(region, sublog, copy).expect("it has logs"))
                .collect();
            prop_assert_eq!(logs.log_copies(), geometry.fault_tolerance());
            prop_assert_eq!(sublogs.len(), usize::from(logs.shape().sublogs * logs.log_copies()));
            for index in 0..layout.region_stripes() {
                let stripe = layout.stripe_in(region, index).expect("a region is whole");
                prop_assert_eq!(layout.region_of(stripe), (region, index));
                for unit in (0..layout.data_units()).map(Unit::new) {
                    prop_assert!(!sublogs.contains(&layout.locate(stripe, unit).slot));
                }
            }
        }
    }

    #[test]
    fn nothing_overlaps_and_nothing_lies_outside(creation in creations()) {
        let Some(geometry) = possible(&creation) else { return Ok(()) };
        let layout = geometry.layout();
        let length = geometry.stored().layout.length;
        let mut taken: BTreeMap<Slot, BTreeSet<(u64, u64)>> = BTreeMap::new();
        let mut take = |location: Location, size: Sectors| {
            let (from, to) = (location.at.get(), location.at.get() + size.get());
            assert!(to <= length, "a unit lies outside its member");
            let spans = taken.entry(location.slot).or_default();
            let before = spans.range(..(from, 0)).next_back().is_none_or(|(_, end)| *end <= from);
            let after = spans.range((from, 0)..).next().is_none_or(|(start, _)| *start >= to);
            assert!(before && after, "two things lie at one place");
            spans.insert((from, to));
        };
        for stripe in (0..layout.stripes().min(20_000)).map(Stripe::new) {
            layout.units().for_each(|unit| take(layout.locate(stripe, unit), layout.unit_length()));
        }
        if let Some(logs) = layout.logs() {
            let size = Sectors::new(logs.shape().segment) * u64::from(logs.shape().sublog_segments);
            for region in (0..layout.region_count()).map(Region::new) {
                let copies = |sublog| (0..logs.log_copies()).map(move |copy| (sublog, copy));
                for (sublog, copy) in (0..logs.shape().sublogs).flat_map(copies) {
                    take(layout.sublog_at(region, sublog, copy).expect("it has logs"), size);
                }
            }
        }
    }
}

/// The numbers of data units and of check units on each member, over whole periods of the layout.
fn loads(geometry: &Geometry, stripes: u64) -> (Vec<u64>, Vec<u64>) {
    let layout = geometry.layout();
    let (mut data, mut check) =
        (vec![0; usize::from(layout.members())], vec![0; usize::from(layout.members())]);
    for stripe in (0..stripes).map(Stripe::new) {
        for unit in layout.units() {
            let member = layout.locate(stripe, unit).slot.as_usize();
            let load = if layout.is_data(unit) { &mut data } else { &mut check };
            load[member] += 1;
        }
    }
    (data, check)
}

fn creation(layout: LayoutChoice, members: u16) -> Creation {
    let organization = organization(layout);
    Creation {
        organization,
        checks: u16::from(organization.code != Code::None),
        members,
        groups: 1,
        width: layout.is_declustered().then_some(3),
        domains: None,
        spares: 0,
        unit: Sectors::new(8),
        block: Sectors::new(1),
        member_length: Sectors::new(40 * 2_048),
        log: LogCreation { segment: Some(Sectors::new(32)), ..LogCreation::default() },
        consistency: Consistency::Bitmap,
    }
}

#[test]
fn data_and_check_units_are_dealt_out_evenly() {
    for layout in LayoutChoice::ALL.iter().copied() {
        for members in [4, 6, 12] {
            let geometry = on_cylinders(&creation(layout, members)).expect("a possible array");
            // With cylinders, each row of parity takes the stripes of one cylinder.
            let period = u64::from(members) * if layout == LayoutChoice::Cylinders { 12 } else { 1 };
            let whole = geometry.layout().stripes() / period * period;
            let (data, check) = loads(&geometry, whole);
            let spread = |loads: &[u64]| loads.iter().max().unwrap() - loads.iter().min().unwrap();
            match layout {
                // All parity is on the last member by design, and all originals on the first half.
                LayoutChoice::Parity(Rotation::Dedicated) => {
                    assert_eq!(spread(&data[..data.len() - 1]), 0);
                }
                LayoutChoice::Neighbours | LayoutChoice::Shadows => {
                    let both: Vec<u64> = data.iter().zip(&check).map(|(a, b)| a + b).collect();
                    assert_eq!(spread(&both), 0, "{layout:?}");
                }
                LayoutChoice::Concatenated => assert!(spread(&data) <= u64::from(members)),
                // Regions are placed as a whole: their number is a multiple of the number of
                // members.
                regions if regions.is_in_regions() => {
                    assert_eq!(geometry.layout().region_count() % u32::from(members), 0);
                    assert!(spread(&data) as f64 <= 0.02 * data[0] as f64, "{data:?}");
                    assert!(spread(&check) as f64 <= 0.02 * check[0] as f64, "{check:?}");
                }
                _ => assert_eq!((spread(&data), spread(&check)), (0, 0), "{layout:?}"),
            }
        }
    }
}

/// Stodolsky §4, footnote 6: one track of each cylinder is free, and one member in N holds parity.
#[test]
fn floating_takes_a_track_of_each_cylinder_and_a_member_of_parity() {
    // Figure 12: 22 IBM 0661 of 949 cylinders, 14 tracks of 48 sectors; a data unit is 2 KB.
    let (n, t) = (22u16, 14u16);
    let cylinder = Cylinder { track: 48, tracks: t };
    let length = Sectors::new(949 * 14 * 48);
    let floating =
        Creation { unit: Sectors::new(4), member_length: length, ..creation(LayoutChoice::Cylinders, n) };
    let geometry = Geometry::create_on(&floating, cylinder).expect("a possible array");
    let start = geometry.data_start().from_start();
    assert!(start.is_multiple_of(cylinder.length()), "cylinders begin where the members' do");
    let cylinders = geometry.stored().layout.length / cylinder.length().get();
    assert!((940..949).contains(&cylinders), "metadata takes a few of {cylinders} cylinders");
    let room = (cylinders * cylinder.length().get() * u64::from(n)) as f64;
    let (n, t) = (f64::from(n), f64::from(t));
    let overhead = 1.0 - geometry.capacity().get() as f64 / room;
    assert!((overhead - (t + n - 1.0) / (t * n)).abs() < 1e-9, "{overhead}");
    // Each cylinder holds data or parity.
    let layout = geometry.layout();
    for stripe in some_stripes(layout) {
        for unit in layout.units() {
            let Location { slot, at } = layout.locate(stripe, unit);
            let first = at.from_start().round_down(cylinder.length());
            let begins = layout.occupant(Location { slot, at: Sector::ZERO + first });
            let Occupant::Unit { unit: other, .. } = begins else { panic!("a cylinder begins with a unit") };
            assert_eq!(layout.is_data(unit), layout.is_data(other));
        }
    }
}

/// Molnar's bandwidth-oriented mirror: one stream is read at the rate of all members.
#[test]
fn a_stream_over_far_copies_takes_all_members_in_turn_and_passes_over_nothing() {
    for (members, copies) in [(4, 2), (6, 3), (4, 4)] {
        let far = Creation { checks: copies - 1, ..creation(LayoutChoice::Far, members) };
        let geometry = Geometry::create(&far).expect("a possible array");
        let layout = geometry.layout();
        for stripe in some_stripes(layout) {
            let location = layout.locate(stripe, Unit::new(0));
            let (row, member) = (stripe.get() / u64::from(members), stripe.get() % u64::from(members));
            assert_eq!(location.slot, Slot::new(member as u16));
            assert_eq!(location.at, Sector::ZERO + layout.unit_length() * row);
            assert_eq!(geometry.layout().peers(location.slot).len(), usize::from(copies));
            for unit in layout.units() {
                assert!(
                    geometry.layout().peers(location.slot).contains(&layout.locate(stripe, unit).slot.get())
                );
            }
        }
    }
}

#[test]
fn the_papers_array_wastes_under_one_part_in_a_hundred() {
    // Stodolsky figure 12: 22 IBM 0661 of 949 cylinders, 14 tracks, 48 sectors; K = 1, L = 6,
    // stripe unit 2 KB.
    for (sublogs, track) in [(1, None), (6, None), (1, Some(48)), (6, Some(48))] {
        let tracks = 949 * 14u64;
        let request = parlour_array::layout::ShapeRequest {
            checks: 1,
            log_copies: 1,
            members: 22,
            unit: Sectors::new(4),
            length: Sectors::new(tracks * 48),
            sublogs,
            segment: Sectors::new(48),
            log_ratio: 1.0,
            regions: tracks.isqrt() as u32,
            grain: Sectors::new(track.unwrap_or(1)),
        };
        let shape = parlour_array::layout::RegionShape::choose(&request).expect("it fits");
        let used = u64::from(shape.regions)
            * (u64::from(shape.stripes) * 4 * u64::from(22 - sublogs)
                + u64::from(sublogs) * u64::from(shape.sublog_segments) * 48);
        let waste = 1.0 - used as f64 / (22 * tracks * 48) as f64;
        println!("L = {sublogs}, whole tracks {}: {shape:?} wastes {:.2}%", track.is_some(), waste * 100.0);
        assert!(waste < 0.01, "L = {sublogs}, track {track:?}: {waste}");
        let wish = tracks.isqrt() as f64;
        assert!((f64::from(shape.regions) - wish).abs() <= 0.1 * wish + 22.0);
    }
}

/// Where Linux md places a unit of a RAID 6 stripe: `raid5_compute_sector` in drivers/md/raid5.c.
/// P is the first unit after the data, Q the second.
fn md_raid6(rotation: Rotation, disks: u64, stripe: u64, unit: u64) -> u64 {
    let data = disks - 2;
    let from_last = disks - 1 - stripe % disks;
    let p = match rotation {
        Rotation::LeftAsymmetric | Rotation::LeftSymmetric => from_last,
        Rotation::RightAsymmetric | Rotation::RightSymmetric => stripe % disks,
        Rotation::Dedicated => data,
    };
    let symmetric = matches!(rotation, Rotation::LeftSymmetric | Rotation::RightSymmetric);
    match unit {
        _ if unit == data => p,
        _ if unit == data + 1 => (p + 1) % disks,
        _ if symmetric => (p + 2 + unit) % disks,
        // Q D D D P
        _ if p == disks - 1 => unit + 1,
        // D D P Q D
        _ if unit >= p => unit + 2,
        _ => unit,
    }
}

#[test]
fn units_of_raid6_are_where_md_places_them() {
    let rotations = [
        Rotation::Dedicated,
        Rotation::LeftAsymmetric,
        Rotation::LeftSymmetric,
        Rotation::RightAsymmetric,
        Rotation::RightSymmetric,
    ];
    for (rotation, members) in rotations.into_iter().flat_map(|rotation| (4..9).map(move |n| (rotation, n))) {
        let raid6 = Creation { checks: 2, ..creation(LayoutChoice::Parity(rotation), members) };
        let geometry = Geometry::create(&raid6).expect("a possible array");
        let layout = geometry.layout();
        for (stripe, unit) in (0..20).flat_map(|stripe| layout.units().map(move |unit| (stripe, unit))) {
            let place = layout.locate(Stripe::new(stripe), unit);
            let md = md_raid6(rotation, members.into(), stripe, unit.get().into());
            assert_eq!(
                u64::from(place.slot.get()),
                md,
                "{rotation:?}, {members} members, {stripe}, {unit:?}"
            );
            assert_eq!(place.at.from_start(), Sectors::new(8) * stripe);
        }
    }
}
