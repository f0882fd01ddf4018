//! A new array on drives, opened.

use parlour_array::{
    Array, Assembly, AssemblyError, Candidate, Geometry, Identity, Image, MemberInfo, NewArray, Opening,
    Slots, Superblock, Tuning, create,
};
use parlour_units::{Instant, Sector, Sectors};

/// A name for something: the number tells it from others of its kind.
fn identity(kind: u8, number: u64) -> Identity {
    let mut bytes = [kind; 16];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    Identity(bytes)
}

/// Creates an array of this geometry on members of this length, and opens it.
pub fn open(geometry: &Geometry, length: Sectors, tuning: Tuning) -> Result<Array, AssemblyError> {
    let members: Vec<(Identity, Sectors)> =
        (0..u64::from(geometry.members())).map(|place| (identity(1, place), length)).collect();
    let new = NewArray {
        array: identity(2, 0),
        session: identity(3, 0),
        members: members.clone(),
        name: "simulated".to_owned(),
        created: 0,
        zeroed: true,
    };
    let images = create(geometry, &new);
    let candidate = |(place, image): (usize, &Image)| {
        let block = |at: Sector| read(image, at).unwrap_or_default();
        let [first, second] = Geometry::superblock_places(length).map(block);
        let superblock = Superblock::decode_copies(&first, &second);
        Candidate { name: format!("drive {place}"), length, superblock }
    };
    let assembly = Assembly::new(&images.iter().enumerate().map(candidate).collect::<Vec<_>>())?;
    let slots = |place: &dyn Fn(usize) -> Sector| -> Vec<Slots> {
        images.iter().map(|image| [0, 1].map(|slot| read(image, place(slot)))).collect()
    };
    let has_logs = geometry.layout().logs().is_some();
    let opening = Opening {
        assembly,
        members: members
            .iter()
            .map(|(identity, length)| {
                Some(MemberInfo { identity: *identity, length: *length, unmaps: false })
            })
            .collect(),
        spares: Vec::new(),
        maps: slots(&|slot| geometry.map_place(slot)),
        tables: if has_logs { slots(&|slot| geometry.table_place(slot)) } else { Vec::new() },
        lists: Vec::new(),
        commits: vec![Vec::new(); usize::from(geometry.members())],
        session: identity(3, 1),
        read_only: false,
        force: false,
        tuning,
    };
    Array::open(Instant::ZERO, opening)
}

/// What an image has at this place.
fn read(image: &Image, at: Sector) -> Option<Vec<u8>> {
    // Of what is written twice the last counts.
    image.iter().rev().find(|(place, _)| *place == at).map(|(_, bytes)| bytes.clone())
}
