//! Creates and opens a new array on drives, and opens a stopped array again from its members'
//! metadata.

use parlour_array::record::{CandidateInput, OpeningInputs, Recorded, Recording, Sink};
use parlour_array::{
    Assembly, AssemblyError, Banks, Cylinder, Geometry, NewArray, SUPERBLOCK, Simulated, Tuning, create,
};
use parlour_drive::mechanics::Mechanics;
use parlour_rivals::Rival;
use parlour_units::{Sector, Sectors, Slot};

use crate::identity::{Kind, identity};
use crate::member::Member;
pub use crate::member::TooShort;
use crate::volume::Volume;

/// Why an array cannot be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OpeningError {
    /// The number of drives is not the number of slots.
    #[error("array '{array}' has {slots} members, and {drives} drives were given; give one for each member")]
    Drives {
        /// The array's name.
        array: String,
        /// The number of slots.
        slots: u16,
        /// The number of drives.
        drives: usize,
    },
    /// A drive is too short for its member.
    #[error(transparent)]
    TooShort(#[from] TooShort),
    /// The members are too short for the array.
    #[error(
        "array '{array}': its geometry needs members of {needs} and they are to have {length}; make them longer"
    )]
    ShortMembers {
        /// The array's name.
        array: String,
        /// The length that its geometry needs.
        needs: Sectors,
        /// The length of its members.
        length: Sectors,
    },
    /// The array cannot be assembled.
    #[error("array '{array}': {source}")]
    Assembly {
        /// The array's name.
        array: String,
        /// The reason.
        source: AssemblyError,
    },
    /// A rival is not stopped.
    #[error("'{0}' is simulated only: it is not stopped and opened again")]
    Rival(String),
    /// The array must be stopped first, and does not stop.
    #[error("array '{0}' does not stop: what it began is not done, and nothing happens any more")]
    Stuck(String),
}

/// Data cannot float on this drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "data and parity cannot float on this drive: it has several zones, or spare sectors between its blocks, and floating takes \
     cylinders that are all alike; use a drive with one zone, as ibm-0661"
)]
pub struct UnlikeCylinders;

/// The cylinder of a drive, for an array whose data and parity float.
///
/// # Errors
/// The drive's cylinders are not equal.
pub fn cylinder(mechanics: &Mechanics) -> Result<Cylinder, UnlikeCylinders> {
    let (track, tracks) = mechanics.surface.cylinder().ok_or(UnlikeCylinders)?;
    Ok(Cylinder { track, tracks: u16::try_from(tracks).map_err(|_| UnlikeCylinders)? })
}

/// The parameters of a new array.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    /// Its name, for people.
    pub name: &'a str,
    /// Its geometry.
    pub geometry: &'a Geometry,
    /// The length of each member. (A journal device is as short as it can be.)
    pub length: Sectors,
    /// Its limits, thresholds and rates.
    pub tuning: Tuning,
    /// The settings that only simulated arrays have.
    pub simulated: Simulated,
}

/// Creates an array on these drives, members and then journal devices in the order of slots, and
/// opens it.
///
/// # Errors
/// Drives are missing or too short, or the array cannot be opened.
pub fn open(new: &New<'_>, drives: Vec<Member>) -> Result<Volume, OpeningError> {
    with(new, drives, None)
}

/// The same, and records the calls between the array and its driver in memory until the array is
/// opened again.
///
/// # Errors
/// As [`open`].
pub fn record(new: &New<'_>, drives: Vec<Member>) -> Result<Volume, OpeningError> {
    with(new, drives, Some(Box::new(Recording::default())))
}

fn with(new: &New<'_>, mut drives: Vec<Member>, sink: Option<Box<dyn Sink>>) -> Result<Volume, OpeningError> {
    let New { name, geometry, length, tuning, simulated } = *new;
    let array = name.to_owned();
    let slots = geometry.slots().count();
    if drives.len() != slots {
        return Err(OpeningError::Drives { array, slots: slots as u16, drives: drives.len() });
    }
    let needs = geometry.least_member_length();
    if length < needs {
        return Err(OpeningError::ShortMembers { array, needs, length });
    }
    let length = |slot: Slot| match geometry.is_for_journal(slot) {
        true => geometry.least_length(slot),
        false => length,
    };
    for (slot, drive) in geometry.slots().zip(&mut drives) {
        drive.join(name, slot.as_usize(), length(slot))?;
    }
    let created = NewArray {
        array: identity(Kind::Array, 0),
        session: identity(Kind::Session, 0),
        members: drives.iter().map(|drive| (drive.info().identity, drive.info().length)).collect(),
        name: "simulated".to_owned(),
        created: 0,
        zeroed: true,
    };
    for (image, drive) in create(geometry, &created).into_iter().zip(&mut drives) {
        // If a place is written twice, the last write counts.
        image.iter().for_each(|(at, bytes)| drive.metadata.write(*at, bytes));
    }
    let (array, members) = assemble(name, drives, 1, (tuning, simulated), sink)?;
    Ok(Volume::new(name.to_owned(), (tuning, simulated), array.into(), members))
}

/// A rival on these drives, which are used up to `length`.
///
/// # Errors
/// Drives are missing or too short.
pub fn rival(
    name: &str,
    rival: Box<dyn Rival>,
    length: Sectors,
    mut drives: Vec<Member>,
) -> Result<Volume, OpeningError> {
    let slots = rival.members();
    if drives.len() != usize::from(slots) {
        let array = name.to_owned();
        return Err(OpeningError::Drives { array, slots, drives: drives.len() });
    }
    for (number, drive) in drives.iter_mut().enumerate() {
        drive.join(name, number, length)?;
    }
    let settings = (Tuning::default(), Simulated::default());
    Ok(Volume::new(name.to_owned(), settings, rival.into(), drives))
}

/// Opens the array on these drives. Returns the array, and the drives by their numbers in the
/// array.
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

/// The superblocks of the drives, as inputs of the opening.
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
        commit_gaps: Vec::new(),
        session: identity(Kind::Session, session),
        read_only: false,
        force: false,
        tuning,
        simulated,
    }
}

/// Reads the other metadata of an array's members.
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
    // Bad-block logs and areas of the commit log are long, and most are empty.
    let written = |member: &Member, area: Area| {
        member.metadata.holds_any(area.0, area.1).then(|| read(member, area)).flatten()
    };
    inputs.bitmaps = banks(&read, &|bank| (geometry.bitmap_at(bank), geometry.bitmap_length()));
    if geometry.records_updates() {
        inputs.tables = banks(&read, &|bank| (geometry.table_at(bank), geometry.table_length()));
    }
    if let Some((first, length)) = geometry.bad_block_log_at(0) {
        inputs.bad_block_logs = banks(&written, &|bank| (first + length * bank as u64, length));
    }
    let commits = standing.iter().map(|member| written((*member)?, geometry.commit_log()));
    inputs.commits = commits.map(Option::unwrap_or_default).collect();
}
