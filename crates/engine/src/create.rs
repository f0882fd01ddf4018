//! Creates an array on members. All members are examined before anything is written.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use parlour_array::organization::{Consistency, Organization};
use parlour_array::{
    Creation, CreationError, Geometry, Identity, Image, LogCreation, MAXIMUM_MEMBERS, NewArray, Superblock,
    SuperblockError,
};
use parlour_units::{Bytes, Sector, Sectors, Slot};

use crate::fault::Failure;
use crate::identity::{self, RandomError};
use crate::member::{Member, MemberError, Mode};
use crate::opening::{repeated, superblock_copies, unequal};
use crate::space;

/// An array with a journal has at least so many slots for journal devices.
const JOURNAL_SLOTS: u16 = 4;

/// The longest name of an array, in bytes.
const LONGEST_NAME: usize = 64;

/// A request to create an array.
#[derive(Clone, Debug)]
pub struct CreateRequest {
    /// Files or devices, in the order of slots.
    pub members: Vec<PathBuf>,
    /// Journal devices: they take the entries of the commit log.
    pub journals: Vec<PathBuf>,
    /// The organization: the choices of layout, code, update and read.
    pub organization: Organization,
    /// The number of check units of a stripe.
    pub checks: u16,
    /// The number of parity groups side by side.
    pub groups: u16,
    /// Units of a stripe, for layouts whose stripes are narrower than a group.
    pub width: Option<u16>,
    /// Failure domains, to which the members belong in turn.
    pub domains: Option<u16>,
    /// Distributed spares: room on the members for so many that fail.
    pub spares: u16,
    /// The stripe unit.
    pub unit: Bytes,
    /// The block size; by default the largest block size of the members.
    pub block: Option<Bytes>,
    /// The sizes of the logs, in organizations that have logs.
    pub log: LogCreation,
    /// The consistency: what a crash may cost.
    pub consistency: Consistency,
    /// The array's name.
    pub name: String,
    /// Make missing files: sparse and with this length, or as long as a journal device needs to be.
    pub size: Option<Bytes>,
    /// Overwrite foreign data on the members.
    pub force: bool,
}

/// What was created.
#[derive(Clone, Debug)]
pub struct CreateReport {
    /// The array's identity.
    pub array: Identity,
    /// The array's geometry.
    pub geometry: Geometry,
    /// Notes for people, one line each.
    pub notes: Vec<String>,
    /// Whether the check units fit from the start, because all members held zeroes.
    pub zeroed: bool,
}

/// Why an array cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// Two paths lead to the same file.
    #[error("{one} and {other} are the same file; name each member once", one = .one.display(), other = .other.display())]
    Repeated {
        /// One path.
        one: PathBuf,
        /// One path.
        other: PathBuf,
    },
    /// A member cannot be opened or prepared.
    #[error(transparent)]
    Member(#[from] MemberError),
    /// A member holds foreign data.
    #[error("{path}: holds {what}; use --force to overwrite it, and lose what is on it", path = .path.display())]
    Foreign {
        /// The member's path.
        path: PathBuf,
        /// What it holds.
        what: String,
    },
    /// A journal device is too short.
    #[error(
        "{path}: {has} are too little for a journal device of this array: it needs {needs}", path = .path.display()
    )]
    JournalTooSmall {
        /// The device's path.
        path: PathBuf,
        /// Its length.
        has: Bytes,
        /// The least length.
        needs: Bytes,
    },
    /// The members do not allow this geometry.
    #[error(transparent)]
    Geometry(#[from] CreationError),
    /// The stripe unit is not whole sectors.
    #[error("a stripe unit of {0} is not possible: use a multiple of the block size, 512 B at the least")]
    Unit(Bytes),
    /// The block size is smaller than a member's.
    #[error("a block of {asked} is too small for {path}, which has blocks of {block}", path = .path.display())]
    Block {
        /// The block size in the request.
        asked: Bytes,
        /// The member's path.
        path: PathBuf,
        /// Its block size.
        block: Bytes,
    },
    /// The block size is not possible.
    #[error("a block of {0} is not possible: use 512 B or 4 KiB")]
    BadBlock(Bytes),
    /// The name is too long.
    #[error("the name '{0}' is too long: {LONGEST_NAME} bytes are the most")]
    Name(String),
    /// A member could not be written.
    #[error("{path}: cannot be written: {failure}; the array is not usable, create it again", path = .path.display())]
    Write {
        /// The member's path.
        path: PathBuf,
        /// The kernel's error.
        failure: Failure,
    },
    /// There are no random numbers for the identity of the array or a member.
    #[error(transparent)]
    Random(#[from] RandomError),
}

/// Creates an array.
///
/// # Errors
/// If the array is impossible, or a member holds foreign data and [`CreateRequest::force`] is not
/// set. In these cases nothing is changed, and files that were made are removed again.
pub fn create(request: &CreateRequest) -> Result<CreateReport, CreateError> {
    if request.name.len() > LONGEST_NAME {
        return Err(CreateError::Name(request.name.clone()));
    }
    let paths: Vec<PathBuf> = request.members.iter().chain(&request.journals).cloned().collect();
    if let Some((one, other)) = repeated(&paths) {
        return Err(CreateError::Repeated { one, other });
    }
    let mut made = MadeFiles::default();
    let mut members = open_members(request, &mut made)?;
    let found = open_journals(request)?;
    let geometry = Geometry::create(&creation(request, &members, &found)?)?;
    let data = members.len();
    members.extend(complete_journals(request, found, &geometry, &mut made)?);
    let mut report = create_on(request, geometry, &members, data)?;
    report.notes.extend(space::overcommitted(&made.0));
    made.keep();
    Ok(report)
}

/// Files that were made. Dropping this removes them, unless they are kept.
#[derive(Default)]
struct MadeFiles(Vec<PathBuf>);

impl MadeFiles {
    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for MadeFiles {
    fn drop(&mut self) {
        for path in &self.0 {
            // The file was made a moment ago and has been locked since, so it holds no other data.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn open_members(request: &CreateRequest, made: &mut MadeFiles) -> Result<Vec<Member>, CreateError> {
    let mut members = Vec::new();
    for path in &request.members {
        let member = match (Member::open(path, Mode::ReadWrite), request.size) {
            (Err(MemberError::Missing { .. }), Some(size)) => {
                let member = Member::create_file(path, size)?;
                made.0.push(path.clone());
                member
            }
            (opened, _) => opened?,
        };
        members.push(member);
    }
    Ok(members)
}

/// The journal devices that are there; `None` for those that are to be made.
fn open_journals(request: &CreateRequest) -> Result<Vec<Option<Member>>, CreateError> {
    let open = |path: &PathBuf| match Member::open(path, Mode::ReadWrite) {
        Err(MemberError::Missing { .. }) if request.size.is_some() => Ok(None),
        opened => Ok(Some(opened?)),
    };
    request.journals.iter().map(open).collect()
}

/// Makes missing journal devices, and checks the length of the others.
fn complete_journals(
    request: &CreateRequest,
    found: Vec<Option<Member>>,
    geometry: &Geometry,
    made: &mut MadeFiles,
) -> Result<Vec<Member>, CreateError> {
    let needs = geometry.least_length(Slot::new(geometry.members())).bytes();
    let mut journals = Vec::new();
    for (path, found) in request.journals.iter().zip(found) {
        let journal = match found {
            Some(journal) => journal,
            None => {
                let journal = Member::create_file(path, needs)?;
                made.0.push(path.clone());
                journal
            }
        };
        let has = journal.length().bytes();
        if has < needs {
            return Err(CreateError::JournalTooSmall { path: path.clone(), has, needs });
        }
        journals.push(journal);
    }
    Ok(journals)
}

/// Creates the array on `members`, of which those behind the first `data` are journal devices.
fn create_on(
    request: &CreateRequest,
    geometry: Geometry,
    members: &[Member],
    data: usize,
) -> Result<CreateReport, CreateError> {
    let occupied = members.iter().map(held).collect::<Result<Vec<_>, _>>()?;
    if !request.force
        && let Some((member, what)) = members.iter().zip(&occupied).find(|(_, what)| what.is_some())
    {
        let what = what.clone().unwrap_or_default();
        return Err(CreateError::Foreign { path: member.path().into(), what });
    }
    let (of_data, journals) = members.split_at(data);
    let zeroed = of_data.iter().all(Member::is_known_zero);
    let new = new_array(request, members, zeroed)?;
    prepare(members, &occupied, &geometry)?;
    for (member, image) in members.iter().zip(parlour_array::create(&geometry, &new)) {
        write_image(member, image)
            .map_err(|failure| CreateError::Write { path: member.path().into(), failure })?;
    }
    let notes = unequal(&of_data.iter().collect::<Vec<_>>()).into_iter().map(|note| note.to_string());
    let fast = !of_data.iter().all(Member::rotates);
    let slow = journals.iter().filter(|journal| fast && journal.rotates()).map(slow_journal);
    Ok(CreateReport { array: new.array, geometry, notes: notes.chain(slow).collect(), zeroed })
}

fn slow_journal(journal: &Member) -> String {
    format!(
        "{}: rotates, and not all members do: as a journal device it may be slower than they are",
        journal.path().display()
    )
}

fn creation(
    request: &CreateRequest,
    members: &[Member],
    journals: &[Option<Member>],
) -> Result<Creation, CreateError> {
    let all = members.iter().chain(journals.iter().flatten());
    let shortest = members.iter().map(Member::length).min().unwrap_or(Sectors::ZERO);
    let journals = u16::try_from(request.journals.len()).unwrap_or(u16::MAX);
    Ok(Creation {
        organization: request.organization,
        checks: request.checks,
        // A number of members that does not fit is refused later because it is too large.
        members: u16::try_from(members.len()).unwrap_or(u16::MAX),
        groups: request.groups,
        width: request.width,
        domains: request.domains,
        spares: request.spares,
        unit: Sectors::from_bytes(request.unit).ok_or(CreateError::Unit(request.unit))?,
        block: block(request, all)?,
        member_length: shortest,
        log: LogCreation { journals, journal_slots: journal_slots(request, journals), ..request.log },
        consistency: request.consistency,
    })
}

/// Slots for journal devices: some are left vacant, for those that are added later.
fn journal_slots(request: &CreateRequest, journals: u16) -> Option<u16> {
    let room = usize::from(MAXIMUM_MEMBERS).saturating_sub(request.members.len()) as u16;
    request.consistency.is_journal().then(|| journals.max(JOURNAL_SLOTS.min(room)))
}

fn block<'a>(
    request: &CreateRequest,
    members: impl Iterator<Item = &'a Member>,
) -> Result<Sectors, CreateError> {
    let largest = members.max_by_key(|member| member.block());
    let needed = largest.map_or(Bytes::new(512), Member::block);
    let block = request.block.unwrap_or(needed);
    match largest {
        Some(member) if block < needed => {
            Err(CreateError::Block { asked: block, path: member.path().into(), block: needed })
        }
        _ => Sectors::from_bytes(block).ok_or(CreateError::BadBlock(block)),
    }
}

/// What `member` holds, in words; nothing if it holds no known data.
pub(crate) fn held(member: &Member) -> Result<Option<String>, MemberError> {
    for copy in superblock_copies(member).into_iter().flatten() {
        match Superblock::decode(&copy) {
            Ok(superblock) => {
                return Ok(Some(membership(&superblock)));
            }
            Err(SuperblockError::Absent) => {}
            Err(error) => return Ok(Some(format!("what was a member of an array ({error})"))),
        }
    }
    Ok(member.probe_foreign()?.first().map(ToString::to_string))
}

/// What a member with this superblock holds.
pub(crate) fn membership(superblock: &Superblock) -> String {
    format!("a member of the array '{}' ({})", superblock.name, superblock.array)
}

fn new_array(request: &CreateRequest, members: &[Member], zeroed: bool) -> Result<NewArray, CreateError> {
    let identified = |member: &Member| Ok((identity::fresh()?, member.length()));
    let created = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Ok(NewArray {
        array: identity::fresh()?,
        session: identity::fresh()?,
        members: members.iter().map(identified).collect::<Result<_, RandomError>>()?,
        name: request.name.clone(),
        created,
        zeroed,
    })
}

/// Sets space aside for metadata, and wipes the signatures of earlier content.
fn prepare(members: &[Member], occupied: &[Option<String>], geometry: &Geometry) -> Result<(), CreateError> {
    for (member, held) in members.iter().zip(occupied) {
        space::preallocate_metadata(member, geometry)?;
        if held.is_some() {
            wipe(member, geometry.data_start())
                .map_err(|failure| CreateError::Write { path: member.path().into(), failure })?;
        }
    }
    Ok(())
}

/// Zeroes the places where the array keeps metadata and other software keeps signatures.
pub(crate) fn wipe(member: &Member, data_start: Sector) -> Result<(), Failure> {
    let [_, tail] = Geometry::superblocks_at(member.length());
    let blocks = Sectors::from_bytes(member.block()).unwrap_or(Sectors::new(8));
    write_zeroes(member, Sector::ZERO, data_start.from_start())?;
    write_zeroes(member, tail, (Sector::ZERO + member.length() - tail).round_down(blocks))?;
    member.flush()
}

/// Writes zeroes instead of punching holes, so that the space stays set aside.
fn write_zeroes(member: &Member, at: Sector, length: Sectors) -> Result<(), Failure> {
    let chunk = Sectors::new(2_048);
    let zeroes = vec![0; chunk.bytes().as_usize()];
    let mut done = Sectors::ZERO;
    while done < length {
        let part = chunk.min(length - done);
        member.write_at(at + done, &zeroes[..part.bytes().as_usize()], false)?;
        done += part;
    }
    Ok(())
}

fn write_image(member: &Member, image: Image) -> Result<(), Failure> {
    image.iter().try_for_each(|(at, bytes)| member.write_at(*at, bytes, true))
}
