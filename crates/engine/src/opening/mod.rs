//! Opens an array from its members, which may be named in any order.

mod found;
mod note;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::{Duration, Instant as Clock};

use parlour_array::record::OpeningInputs;
use parlour_array::{
    Array, Assembly, AssemblyError, Geometry, Identity, Simulated, Superblock, Tuning, Verdict,
};
use parlour_units::Bytes;
use rustix::io::Errno;

use crate::helper;
use crate::identity::{self, RandomError};
use crate::io::Choice;
use crate::member::{Member, MemberError, Mode};
use crate::roster::Roster;
use found::{Found, LastAnswer, Records};
pub use note::Note;

pub(crate) use found::{read_block, superblock_copies};
pub(crate) use note::unequal;

/// How often superblocks are read again, to find out whether another server has opened the array.
const LOOK_AGAIN: parlour_units::Duration = parlour_units::Duration::from_secs(2);

/// A request to open an array.
#[derive(Clone, Debug)]
pub struct OpenRequest {
    /// Members and spares, in any order.
    pub members: Vec<PathBuf>,
    /// Open for reading only: nothing is written.
    pub read_only: bool,
    /// Open even if data may be lost.
    pub force: bool,
    /// The limits, thresholds and rates of the array.
    pub tuning: Tuning,
    /// The choice of backend.
    pub io: Choice,
    /// A member that does not answer for this long while the array is opened is left out.
    pub access_timeout: parlour_units::Duration,
    /// Whether the calls between the array and the driver are to be recorded. The inputs of the
    /// opening, including the commit log, are then kept in memory.
    pub recorded: bool,
}

/// Why an array cannot be opened. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No member is named.
    #[error("no members were named; name the files or devices that the array is made of")]
    NoMembers,
    /// Two paths refer to the same file.
    #[error("{one} and {other} are the same file; name each member once", one = .one.display(), other = .other.display())]
    Repeated {
        /// One path.
        one: PathBuf,
        /// The other.
        other: PathBuf,
    },
    /// A member is in use, or no member can be opened.
    #[error(transparent)]
    Member(#[from] MemberError),
    /// The members do not form an array, or the array may not be opened.
    #[error("{source}{}", hints(.notes))]
    Assembly {
        /// The reason.
        source: AssemblyError,
        /// Notes about the members.
        notes: Vec<Note>,
    },
    /// A member's blocks are larger than the array's.
    #[error(
        "{path}: has blocks of {block}, and this array was made for blocks of {array}; put the member back on a device with such blocks",
        path = .path.display()
    )]
    Block {
        /// The member's path.
        path: PathBuf,
        /// Its block size.
        block: Bytes,
        /// The array's block size.
        array: Bytes,
    },
    /// No thread can be started to open or read a member. Without it the member's content is
    /// unknown.
    #[error(
        "no thread can be started to open a member: {source}; free memory, or raise the limit on threads"
    )]
    Thread {
        /// The system's error.
        source: std::io::Error,
    },
    /// There are no random numbers for the session's identity.
    #[error(transparent)]
    Random(#[from] RandomError),
}

/// An array that is open but not yet served. Nothing has been written so far.
#[derive(Debug)]
pub struct OpenArray {
    pub(crate) array: Array,
    pub(crate) inputs: OpeningInputs,
    pub(crate) roster: Roster,
    pub(crate) io: Choice,
    pub(crate) began: Clock,
    /// Whether `inputs` are complete.
    pub(crate) recorded: bool,
    identity: Identity,
    name: String,
    notes: Vec<Note>,
    /// The members that were found, including those that are not used.
    present: Vec<Identity>,
    control_path: PathBuf,
}

/// Opens an array.
///
/// # Errors
/// If the members do not form an array that may be opened as requested, or one of them is in use. A
/// member that cannot be opened is noted, if the array can be opened without it.
pub fn open(request: &OpenRequest) -> Result<OpenArray, OpenError> {
    let first = request.members.first().ok_or(OpenError::NoMembers)?;
    if let Some((one, other)) = repeated(&request.members) {
        return Err(OpenError::Repeated { one, other });
    }
    let (found, mut notes) = open_members(request)?;
    let Together { found, mut inputs, assembly, records } = put_together(request, found, &mut notes)?;
    notes.extend(note::of_assembly(&assembly, &found, request.read_only));
    let geometry = &assembly.geometry;
    let commits = records.into_iter().map(|records| records.add_to(geometry, &mut inputs)).collect();
    if !request.recorded {
        (inputs.commits, inputs.commit_gaps) = (Vec::new(), Vec::new());
    }
    let superblock = assembly.superblock.clone();
    let order: Vec<Option<usize>> =
        assembly.slots.iter().copied().chain(inputs.usable_spares(&assembly).into_iter().map(Some)).collect();
    let slots = assembly.slots.len();
    let began = Clock::now();
    let array = match inputs.open_with(assembly, commits) {
        Ok(array) => array,
        Err(source) => {
            // The error names the missing members already.
            notes.retain(|note| !matches!(note, Note::Missing { .. } | Note::Degraded { .. }));
            return Err(OpenError::Assembly { source, notes });
        }
    };
    let present = found.iter().filter_map(Found::identity).collect();
    let roster = enrol(found, &order, slots, array.geometry().members());
    Ok(assembled(array, inputs, roster, request, began, &superblock, notes, present, first))
}

#[expect(clippy::too_many_arguments, reason = "they are the fields, gathered in one place")]
fn assembled(
    array: Array,
    inputs: OpeningInputs,
    roster: Roster,
    request: &OpenRequest,
    began: Clock,
    superblock: &Superblock,
    notes: Vec<Note>,
    present: Vec<Identity>,
    first: &Path,
) -> OpenArray {
    OpenArray {
        array,
        inputs,
        roster,
        io: request.io,
        began,
        recorded: request.recorded,
        identity: superblock.array,
        name: superblock.name.clone(),
        notes,
        present,
        control_path: crate::control::place_for(first, superblock.array),
    }
}

impl OpenArray {
    /// Notes about the members.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The members that were found, including those that are not used.
    pub(crate) fn present(&self) -> &[Identity] {
        &self.present
    }

    /// The array's geometry.
    pub fn geometry(&self) -> &Geometry {
        self.array.geometry()
    }

    /// The array's identity.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// The array's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The array as it was opened.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// The default path of the array's control socket.
    pub fn control_path(&self) -> PathBuf {
        self.control_path.clone()
    }
}

/// Two of `paths` that refer to the same file.
pub(crate) fn repeated(paths: &[PathBuf]) -> Option<(PathBuf, PathBuf)> {
    let mut seen: Vec<((u64, u64), &PathBuf)> = Vec::new();
    for path in paths {
        let Ok(found) = rustix::fs::stat(path) else {
            // A path that does not exist yet can be named twice too.
            let twin = paths.iter().filter(|other| *other == path).count() > 1;
            if twin {
                return Some((path.clone(), path.clone()));
            }
            continue;
        };
        // Two device nodes with one device number are the same member.
        let device = rustix::fs::FileType::from_raw_mode(found.st_mode) == rustix::fs::FileType::BlockDevice;
        let key = if device { (found.st_rdev, u64::MAX) } else { (found.st_dev, found.st_ino) };
        if let Some((_, other)) = seen.iter().find(|(other, _)| *other == key) {
            return Some(((*other).clone(), path.clone()));
        }
        seen.push((key, path));
    }
    None
}

/// Opens and locks the members that can be opened, and reads their superblocks.
fn open_members(request: &OpenRequest) -> Result<(Vec<Found>, Vec<Note>), OpenError> {
    let mode = if request.read_only { Mode::ReadOnly } else { Mode::ReadWrite };
    let mut found = Vec::new();
    let mut refused = Vec::new();
    let begun = request.members.iter().map(|path| open_apart(path, mode));
    let answers: Vec<Receiver<Opened>> = begun.collect::<Result<_, _>>()?;
    let until = Clock::now() + Duration::from_nanos(request.access_timeout.nanoseconds());
    let mut in_use = None;
    for (path, answer) in request.members.iter().zip(answers) {
        let opened = answer.recv_timeout(until.saturating_duration_since(Clock::now()));
        match opened.unwrap_or_else(|error| Err(unanswered(path, "be opened in time", error))) {
            Ok(Ok(member)) => found.push(member),
            Ok(Err(note)) => refused.push(note),
            // The others are waited for: when this returns, none of them is held any more.
            Err(error) if error.is_in_use() => in_use = in_use.or(Some(error)),
            Err(error) => refused.push(Note::Unavailable(error)),
        }
    }
    if let Some(error) = in_use {
        return Err(error.into());
    }
    if found.is_empty() { Err(no_members(request, refused)) } else { Ok((found, refused)) }
}

fn no_members(request: &OpenRequest, notes: Vec<Note>) -> OpenError {
    let paths: Vec<String> = request.members.iter().map(|path| path.display().to_string()).collect();
    OpenError::Assembly { source: AssemblyError::NoMembers(paths.join(", ")), notes }
}

/// The result of opening a member and reading its superblocks.
type Opened = Result<Result<Found, Note>, MemberError>;

/// Opens the member at `path` in a separate thread: if it never answers, the other members do not
/// wait for it.
fn open_apart(path: &Path, mode: Mode) -> Result<Receiver<Opened>, OpenError> {
    let (sender, receiver) = channel();
    let owned = path.to_owned();
    let open = move || {
        // After a timeout the receiver is gone, and the member is closed again.
        let _ = sender.send(Member::open(&owned, mode).map(|member| Found::read(member).map_err(Note::from)));
    };
    Builder::new().name("member-open".into()).spawn(open).map_err(|source| OpenError::Thread { source })?;
    Ok(receiver)
}

fn unanswered(path: &Path, action: &'static str, error: RecvTimeoutError) -> MemberError {
    let errno = match error {
        RecvTimeoutError::Timeout => Errno::TIMEDOUT,
        RecvTimeoutError::Disconnected => Errno::AGAIN,
    };
    MemberError::Refused { path: path.into(), action, errno }
}

/// Members that form an array, and what was read from them.
#[derive(Debug)]
struct Together {
    found: Vec<Found>,
    inputs: OpeningInputs,
    assembly: Assembly,
    /// By slot.
    records: Vec<Records>,
}

/// Assembles the array from the members found, and reads their records. If some members do not
/// answer, assembles it again without them.
fn put_together(
    request: &OpenRequest,
    mut found: Vec<Found>,
    notes: &mut Vec<Note>,
) -> Result<Together, OpenError> {
    loop {
        let inputs = inputs_of(request, &found)?;
        let assembly = match inputs.assemble() {
            Ok(assembly) => assembly,
            Err(source) => {
                notes.extend(found.iter().zip(&inputs.candidates).filter_map(|(found, input)| {
                    input.superblock().err().map(|error| Note::damaged(&found.member, error))
                }));
                return Err(OpenError::Assembly { source, notes: std::mem::take(notes) });
            }
        };
        check_blocks(&assembly, &found)?;
        let answers = read_records(request, found, &assembly, notes)?;
        if answers.iter().any(Option::is_none) {
            found = without_silent(answers, &assembly, notes);
            if found.is_empty() {
                return Err(no_members(request, std::mem::take(notes)));
            }
            continue;
        }
        let (answered, mut records): (Vec<Found>, Vec<Option<Records>>) =
            answers.into_iter().flatten().unzip();
        let of_place =
            |slot: &Option<usize>| slot.and_then(|index| records[index].take()).unwrap_or_default();
        let records = assembly.slots.iter().map(of_place).collect();
        return Ok(Together { found: answered, inputs, assembly, records });
    }
}

/// The members to assemble again, after others did not answer. The superblocks of the silent
/// members still count: a member that they call stale, or do not know, is not used.
fn without_silent(answers: Vec<Option<Answer>>, assembly: &Assembly, notes: &mut Vec<Note>) -> Vec<Found> {
    let mut counted = Vec::new();
    for (answer, verdict) in answers.into_iter().zip(&assembly.verdicts) {
        let Some((found, _)) = answer else { continue };
        match verdict {
            Verdict::Member(_) | Verdict::Spare => counted.push(found),
            other => notes.extend(note::of_verdict(other, assembly, &found)),
        }
    }
    counted
}

fn inputs_of(request: &OpenRequest, found: &[Found]) -> Result<OpeningInputs, OpenError> {
    Ok(OpeningInputs {
        candidates: found.iter().map(Found::input).collect(),
        bitmaps: Vec::new(),
        tables: Vec::new(),
        bad_block_logs: Vec::new(),
        commits: Vec::new(),
        commit_gaps: Vec::new(),
        session: identity::fresh()?,
        read_only: request.read_only,
        force: request.force,
        tuning: Tuning { fence: request.tuning.fence.or(Some(LOOK_AGAIN)), ..request.tuning },
        simulated: Simulated::default(),
    })
}

/// A member that was read, and its records if it stands in a slot.
type Answer = (Found, Option<Records>);

/// Reads the records of the members in slots, with one thread for each. Returns the members in
/// their order, with their records. Members that did not answer in time are noted.
fn read_records(
    request: &OpenRequest,
    found: Vec<Found>,
    assembly: &Assembly,
    notes: &mut Vec<Note>,
) -> Result<Vec<Option<Answer>>, OpenError> {
    let shared = Arc::new(assembly.clone());
    let start = |(index, found): (usize, Found)| {
        let path = found.member.path().to_owned();
        let (sender, receiver) = channel();
        let last = Arc::new(LastAnswer::now());
        let waited = (path, receiver, Arc::clone(&last));
        if !assembly.slots.contains(&Some(index)) {
            // The receiver exists, so this does not fail.
            let _ = sender.send((found, None));
            return Ok(waited);
        }
        let (assembly, recorded) = (Arc::clone(&shared), request.recorded);
        let read = move || {
            let records = Records::read(&found.member, &assembly, recorded, &last);
            // After a timeout the receiver is gone, and the member is closed.
            let _ = sender.send((found, Some(records)));
        };
        helper::spawn("member-records", read).map_err(|source| OpenError::Thread { source })?;
        Ok(waited)
    };
    let waited: Vec<_> = found.into_iter().enumerate().map(start).collect::<Result<_, OpenError>>()?;
    let patience = Duration::from_nanos(request.access_timeout.nanoseconds());
    let read = |(path, answer, last): (PathBuf, Receiver<_>, Arc<LastAnswer>)| {
        let silent = |error| notes.push(Note::Unavailable(unanswered(&path, "be read in time", error)));
        receive(&answer, &last, patience).map_err(silent).ok()
    };
    Ok(waited.into_iter().map(read).collect())
}

/// Receives a member's records, unless the member does not answer for longer than `patience`.
fn receive<T>(answer: &Receiver<T>, last: &LastAnswer, patience: Duration) -> Result<T, RecvTimeoutError> {
    loop {
        let until = last.at() + patience;
        match answer.recv_timeout(until.saturating_duration_since(Clock::now())) {
            Err(RecvTimeoutError::Timeout) if last.at() + patience > until => {}
            received => return received,
        }
    }
}

fn check_blocks(assembly: &Assembly, found: &[Found]) -> Result<(), OpenError> {
    let array = assembly.geometry.block().bytes();
    let used = assembly.slots.iter().flatten().chain(&assembly.spares).map(|index| &found[*index].member);
    match used.into_iter().find(|member| member.block() > array) {
        Some(member) => Err(OpenError::Block { path: member.path().into(), block: member.block(), array }),
        None => Ok(()),
    }
}

/// Numbers the members as the array does: slots in order, of which the first `data` are not for
/// journal devices, then spares. Unused members are closed.
fn enrol(found: Vec<Found>, order: &[Option<usize>], slots: usize, data: u16) -> Roster {
    let mut members: Vec<Option<Member>> = found.into_iter().map(|found| Some(found.member)).collect();
    let mut take = |index: &Option<usize>| index.and_then(|index| members[index].take());
    let in_slots = order[..slots].iter().map(&mut take).collect();
    let mut roster = Roster::of_slots(in_slots, data);
    for spare in &order[slots..] {
        roster.push(take(spare));
    }
    roster
}

/// The notes, to be appended to the reason why an array cannot be opened.
fn hints(notes: &[Note]) -> String {
    notes.iter().map(|note| format!("; {note}")).collect()
}
