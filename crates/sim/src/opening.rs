//! A new array on drives, opened; and one that was stopped, opened again from what its members
//! hold.

use parlour_array::record::{CandidateInput, OpeningInputs, Recorded, Recording, Sink};
use parlour_array::{
    Assembly, AssemblyError, Banks, Cylinder, Geometry, NewArray, SUPERBLOCK, Simulated, Tuning, create,
};
use parlour_drive::mechanics::Mechanics;
use parlour_units::{Sector, Sectors};

use crate::identity::{Kind, identity};
use crate::member::Member;
pub use crate::member::TooShort;
use crate::volume::Volume;

/// Why an array cannot be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OpeningError {
    /// More or fewer drives than slots.
    #[error("array '{array}' has {slots} members, and {drives} drives were given; give one for each member")]
    Drives {
        /// Which array.
        array: String,
        /// How many it has.
        slots: u16,
        /// How many there are.
        drives: usize,
    },
    /// A drive ends before its member does.
    #[error(transparent)]
    TooShort(#[from] TooShort),
    /// Members end before the array does.
    #[error(
        "array '{array}': its geometry needs members of {needs} and they are to have {length}; make them longer"
    )]
    ShortMembers {
        /// Which array.
        array: String,
        /// What its geometry needs.
        needs: Sectors,
        /// What its members are to have.
        length: Sectors,
    },
    /// It cannot be put together.
    #[error("array '{array}': {source}")]
    Assembly {
        /// Which array.
        array: String,
        /// Why.
        source: AssemblyError,
    },
    /// It has to be stopped first, and does not stop.
    #[error("array '{0}' does not stop: what it began is not done, and nothing happens any more")]
    Stuck(String),
}

/// Data cannot float on a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "data and parity cannot float on this drive: it has several zones, or spare sectors between its blocks, and floating takes \
     cylinders that are all alike; use a drive with one zone, as ibm-0661"
)]
pub struct UnlikeCylinders;

/// A cylinder of a drive, for an array whose data and parity float.
///
/// # Errors
/// The drive's cylinders are not alike.
pub fn cylinder(mechanics: &Mechanics) -> Result<Cylinder, UnlikeCylinders> {
    let (track, tracks) = mechanics.surface.cylinder().ok_or(UnlikeCylinders)?;
    Ok(Cylinder { track, tracks: u16::try_from(tracks).map_err(|_| UnlikeCylinders)? })
}

/// An array that is to be.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    /// Its name, for people.
    pub name: &'a str,
    /// Its shape.
    pub geometry: &'a Geometry,
    /// The length of each member.
    pub length: Sectors,
    /// Bounds, thresholds and pace.
    pub tuning: Tuning,
    /// What only simulated arrays do.
    pub simulated: Simulated,
}

/// Creates an array on these drives, in the order of slots, and opens it.
///
/// # Errors
/// Drives are missing or too short, or the array cannot be opened.
pub fn open(new: &New<'_>, drives: Vec<Member>) -> Result<Volume, OpeningError> {
    with(new, drives, None)
}

/// The same, recording in memory what passes between the array and its driver, until it is opened
/// again.
///
/// # Errors
/// As [`open`].
pub fn record(new: &New<'_>, drives: Vec<Member>) -> Result<Volume, OpeningError> {
    with(new, drives, Some(Box::new(Recording::default())))
}

fn with(new: &New<'_>, mut drives: Vec<Member>, sink: Option<Box<dyn Sink>>) -> Result<Volume, OpeningError> {
    let New { name, geometry, length, tuning, simulated } = *new;
    let array = name.to_owned();
    if drives.len() != usize::from(geometry.members()) {
        return Err(OpeningError::Drives { array, slots: geometry.members(), drives: drives.len() });
    }
    let needs = geometry.least_member_length();
    if length < needs {
        return Err(OpeningError::ShortMembers { array, needs, length });
    }
    for (number, drive) in drives.iter_mut().enumerate() {
        drive.join(name, number, length)?;
    }
    let created = NewArray {
        array: identity(Kind::Array, 0),
        session: identity(Kind::Session, 0),
        members: drives.iter().map(|drive| (drive.info().identity, length)).collect(),
        name: "simulated".to_owned(),
        created: 0,
        zeroed: true,
    };
    for (image, drive) in create(geometry, &created).into_iter().zip(&mut drives) {
        // Of what is written twice the last counts.
        image.iter().for_each(|(at, bytes)| drive.metadata.write(*at, bytes));
    }
    let (array, members) = assemble(name, drives, 1, (tuning, simulated), sink)?;
    Ok(Volume::new(name.to_owned(), (tuning, simulated), array, members))
}

/// Opens what these drives hold. Says the array, and the drives by its numbers.
pub(crate) fn assemble(
    name: &str,
    drives: Vec<Member>,
    session: u64,
    settings: (Tuning, Simulated),
    sink: Option<Box<dyn Sink>>,
) -> Result<(Recorded, Vec<Member>), OpeningError> {
    let wrong = |source| OpeningError::Assembly { array: name.to_owned(), source };
    let mut inputs = inputs(&drives, session, settings);
    let assembly = inputs.assemble().map_err(wrong)?;
    read_metadata(&mut inputs, &assembly, &drives);
    let spares = assembly.spares.iter().map(|spare| Some(*spare));
    let order: Vec<Option<usize>> = assembly.slots.iter().copied().chain(spares).collect();
    let array = inputs.open(assembly).map_err(wrong)?;
    let mut drives: Vec<Option<Member>> = drives.into_iter().map(Some).collect();
    let members = order.iter().map(|index| index.and_then(|index| drives[index].take()).unwrap_or_default());
    Ok((Recorded::new(array, &inputs, sink), members.collect()))
}

/// What drives say of themselves.
fn inputs(drives: &[Member], session: u64, (tuning, simulated): (Tuning, Simulated)) -> OpeningInputs {
    let candidate = |(number, drive): (usize, &Member)| {
        let length = drive.info().length;
        let block = |at: Sector| drive.metadata.read_out(at, SUPERBLOCK);
        CandidateInput {
            name: format!("drive {number}"),
            length: length.get(),
            unmaps: drive.info().unmaps,
            superblocks: Geometry::superblocks_at(length).map(block),
        }
    };
    OpeningInputs {
        candidates: drives.iter().enumerate().map(candidate).collect(),
        bitmaps: Vec::new(),
        tables: Vec::new(),
        bad_block_logs: Vec::new(),
        commits: Vec::new(),
        session: identity(Kind::Session, session),
        read_only: false,
        force: false,
        tuning,
        simulated,
    }
}

/// Takes in what else the members of an array hold.
fn read_metadata(inputs: &mut OpeningInputs, assembly: &Assembly, drives: &[Member]) {
    let geometry = &assembly.geometry;
    let standing: Vec<Option<&Member>> =
        assembly.slots.iter().map(|slot| slot.map(|index| &drives[index])).collect();
    type Area = (Sector, Sectors);
    let banks = |read: &dyn Fn(&Member, Area) -> Option<Vec<u8>>, area: &dyn Fn(usize) -> Area| {
        let own = |member: &Option<&Member>| [0, 1].map(|bank| read((*member)?, area(bank)));
        standing.iter().map(own).collect::<Vec<Banks>>()
    };
    let read = |member: &Member, (at, length): Area| Some(member.metadata.read_out(at, length));
    // Lists and commit logs are long, and most hold nothing.
    let written = |member: &Member, area: Area| {
        member.metadata.holds_any(area.0, area.1).then(|| read(member, area)).flatten()
    };
    inputs.bitmaps = banks(&read, &|bank| (geometry.bitmap_at(bank), geometry.bitmap_length()));
    if geometry.layout().logs().is_some() {
        inputs.tables = banks(&read, &|bank| (geometry.table_at(bank), geometry.table_length()));
    }
    if let Some((first, length)) = geometry.bad_block_log_at(0) {
        inputs.bad_block_logs = banks(&written, &|bank| (first + length * bank as u64, length));
    }
    let commits = standing.iter().map(|member| written((*member)?, geometry.commit_log()));
    inputs.commits = commits.map(Option::unwrap_or_default).collect();
}
