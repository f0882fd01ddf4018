//! Fuzzes superblocks: a decoded superblock survives encoding, and its geometry is consistent.

use std::sync::OnceLock;

use parlour_array::layout::{Location, Occupant};
use parlour_array::organization::Consistency;
use parlour_array::{Assembly, Candidate, Geometry, SUPERBLOCK_BYTES, Superblock};
use parlour_units::{Sector, Sectors, Stripe};

use crate::input::Input;
use crate::memory;
use crate::seal::{mend, sealed};
use crate::world::{ARRAYS, Image};

/// Interprets the bytes as a superblock, or as changes to a valid one; most are sealed.
pub fn run(data: &[u8]) {
    memory::bound();
    let mut input = Input::new(data);
    let block = match input.byte() % 8 {
        0 => input.rest().to_vec(),
        1 => sealed(b"PARLOUR\0\x02\0\0\0\0\0\0\0", input.rest(), SUPERBLOCK_BYTES),
        _ => changed(&mut input),
    };
    let Ok(superblock) = Superblock::decode(&block) else { return };
    let copies = Superblock::decode_copies(&block, &[]);
    assert_eq!(copies.as_ref(), Ok(&superblock), "one copy is enough");
    let again = Superblock::decode(&superblock.encode()).expect("what was decoded can be encoded");
    assert_eq!(again, Superblock { writable: true, ..superblock.clone() });
    check_geometry(&Geometry::from_stored(superblock.geometry));
    assemble(superblock);
}

/// The superblock of a new array, with some fields changed.
fn changed(input: &mut Input<'_>) -> Vec<u8> {
    static GOOD: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let good = GOOD.get_or_init(|| {
        let first = |(name, members, consistency): &(&str, u16, Consistency)| {
            Image::create(name, *members, *consistency).disks[0]
                .read(Sector::ZERO, Sectors::new(SUPERBLOCK_BYTES as u64 / 512))
        };
        ARRAYS.iter().map(first).collect()
    });
    let mut block = good[input.below(good.len())].clone();
    while !input.is_empty() {
        let (from, count) = (input.below(SUPERBLOCK_BYTES), input.below(17));
        let bytes = input.take(count);
        block.iter_mut().skip(from).zip(bytes).for_each(|(slot, byte)| *slot = *byte);
    }
    mend(&mut block);
    block
}

/// Assembles an array from this superblock alone. It must lack its other members.
fn assemble(superblock: Superblock) {
    let candidate =
        Candidate { name: "member".into(), length: superblock.member_length, superblock: Ok(superblock) };
    let assembly = Assembly::new(&[candidate]).expect("one array was named");
    assert_eq!(assembly.verdicts.len(), 1);
    assert!(assembly.missing().len() + 1 >= usize::from(assembly.geometry.members()));
}

/// Checks that each location is in the data area, and that its occupant is known.
fn check_geometry(geometry: &Geometry) {
    let layout = geometry.layout();
    let end = Sector::ZERO + Sectors::new(geometry.stored().layout.length);
    assert!(geometry.least_member_length() >= geometry.data_start().from_start());
    assert!(geometry.table_at(1) >= geometry.bitmap_at(1));
    assert!(!geometry.layout().peers(parlour_units::Slot::new(0)).is_empty());
    for stripe in [0, layout.stripes() / 2, layout.stripes().saturating_sub(1)] {
        if stripe < layout.stripes() {
            check_stripe(geometry, Stripe::new(stripe), end);
        }
    }
}

fn check_stripe(geometry: &Geometry, stripe: Stripe, end: Sector) {
    let layout = geometry.layout();
    let (region, index) = layout.region_of(stripe);
    assert!(region.get() < layout.region_count());
    assert_eq!(layout.stripe_in(region, index), Some(stripe));
    for unit in layout.units() {
        let Location { slot, at } = layout.locate(stripe, unit);
        assert!(slot.get() < layout.members() && at + layout.unit_length() <= end, "{slot} {at}");
        let offset = Sectors::ZERO;
        assert_eq!(layout.occupant(Location { slot, at }), Occupant::Unit { stripe, unit, offset });
    }
    let Some(logs) = layout.logs() else { return };
    let ends = [0, logs.segments() - 1];
    for (position, copy) in ends.into_iter().flat_map(|at| (0..logs.log_copies()).map(move |copy| (at, copy)))
    {
        let location = geometry.log_segment_at(region, position, copy).expect("it has logs");
        assert!(location.at + Sectors::new(logs.shape().segment) <= end, "{location:?}");
    }
}
