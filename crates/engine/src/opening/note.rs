//! Notes about the members of an array that is opened, one line each.

use std::fmt;
use std::path::PathBuf;

use parlour_array::{Assembly, EntryState, SuperblockError, Verdict};
use parlour_units::{Bytes, Slot};

use super::found::{Found, Unread};
use crate::fault::Failure;
use crate::member::{Member, MemberError};

/// A note for people about an array that was opened.
#[derive(Debug)]
pub enum Note {
    /// A named path cannot be opened.
    Unavailable(MemberError),
    /// Neither copy of a superblock can be read.
    Unreadable {
        /// The path.
        path: PathBuf,
        /// The kernel's error.
        failure: Failure,
    },
    /// The member was excluded from the array, or missed a session.
    Stale {
        /// The path.
        path: PathBuf,
        /// The slot in which it stood.
        slot: Slot,
    },
    /// The member belongs to another array.
    Foreign {
        /// The path.
        path: PathBuf,
        /// The other array's name and identity.
        array: String,
    },
    /// The array does not know the member any more.
    Unknown {
        /// The path.
        path: PathBuf,
    },
    /// The member is shorter than it was.
    Truncated {
        /// The path.
        path: PathBuf,
        /// The slot in which it stood.
        slot: Slot,
        /// Its length.
        length: Bytes,
        /// The length that a member needs.
        needs: Bytes,
    },
    /// A spare is too small.
    SmallSpare {
        /// The path.
        path: PathBuf,
        /// Its length.
        length: Bytes,
        /// The length that a member needs.
        needs: Bytes,
    },
    /// The member has no valid superblock.
    Damaged {
        /// The path.
        path: PathBuf,
        /// Its length.
        length: Bytes,
        /// What is wrong.
        error: SuperblockError,
    },
    /// A journal device was excluded, or missed a session.
    StaleJournal {
        /// Its path.
        path: PathBuf,
        /// Its slot.
        slot: Slot,
    },
    /// The slot has no member.
    Missing {
        /// The slot.
        slot: Slot,
    },
    /// A journal device is not there.
    MissingJournal {
        /// Its slot.
        slot: Slot,
    },
    /// The array is degraded.
    Degraded {
        /// The number of missing members.
        missing: u16,
        /// The number of members that the array should have.
        members: u16,
    },
    /// A rebuild continues where it stopped.
    Rebuilding {
        /// The slot.
        slot: Slot,
    },
    /// Members are of different lengths.
    Unequal {
        /// The shortest one.
        smallest: PathBuf,
        /// Its length.
        length: Bytes,
        /// The length of the longest one.
        longest: Bytes,
    },
    /// The array was not shut down cleanly.
    Unclean {
        /// Whether the array is opened for reading only.
        read_only: bool,
    },
}

impl Note {
    pub(super) fn damaged(member: &Member, error: SuperblockError) -> Note {
        Note::Damaged { path: member.path().into(), length: member.length().bytes(), error }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Unavailable(error) => write!(f, "{error}"),
            Note::Unreadable { path, failure } => {
                write!(f, "{}: its superblocks cannot be read ({failure}); it is left out", path.display())
            }
            Note::Stale { path, slot } => write!(
                f,
                "{}: was {slot} and is stale, because the array was used without it; it is left out (to use it \
                 again, replace {slot} with it: if it was whole, only what it missed is rebuilt)",
                path.display()
            ),
            Note::StaleJournal { path, slot } => write!(
                f,
                "{}: was {slot}, a journal device, and is stale; it is left out (to use it again, replace {slot} with it \
                 and --force: what it holds is not needed)",
                path.display()
            ),
            Note::Foreign { path, array } => {
                write!(f, "{}: belongs to another array, {array}; it is left out", path.display())
            }
            Note::Unknown { path } => {
                write!(f, "{}: is no member of this array any more; it is left out", path.display())
            }
            Note::Truncated { path, slot, length, needs } => write!(
                f,
                "{}: {slot} was truncated to {length} and needs {needs}; it is left out",
                path.display()
            ),
            Note::SmallSpare { path, length, needs } => write!(
                f,
                "{}: a spare of {length} is too small, {needs} are needed; it is left out",
                path.display()
            ),
            Note::Damaged { path, length, error } if length.get() == 0 => {
                write!(f, "{}: {error}, because it is empty; it is left out", path.display())
            }
            Note::Damaged { path, error, .. } => write!(f, "{}: {error}; it is left out", path.display()),
            Note::Missing { slot } => write!(f, "{slot} is missing"),
            Note::MissingJournal { slot } => {
                write!(f, "{slot}, a journal device, is missing: where too few are left, members take the entries")
            }
            Note::Degraded { missing, members } => {
                write!(f, "the array is degraded: {missing} of its {members} members cannot be used")
            }
            Note::Rebuilding { slot } => write!(f, "the rebuild of {slot} goes on where it stopped"),
            Note::Unequal { smallest, length, longest } => write!(
                f,
                "members are of unequal size, up to {longest}: the smallest counts, {} with {length}",
                smallest.display()
            ),
            Note::Unclean { read_only: false } => f.write_str(
                "the array was not shut down cleanly: what was being written then is resynced while it serves",
            ),
            Note::Unclean { read_only: true } => f.write_str(
                "the array was not shut down cleanly; serve it for writing once, so that it can be resynced",
            ),
        }
    }
}

impl From<Unread> for Note {
    fn from(Unread { path, failure }: Unread) -> Note {
        Note::Unreadable { path, failure }
    }
}

/// The notes about each candidate and about the array.
pub(super) fn of_assembly(assembly: &Assembly, found: &[Found], read_only: bool) -> Vec<Note> {
    let mut notes: Vec<Note> = assembly
        .verdicts
        .iter()
        .zip(found)
        .filter_map(|(verdict, found)| of_verdict(verdict, assembly, found))
        .collect();
    let missing = assembly.missing();
    let accounted = |slot: &u16| {
        assembly.verdicts.iter().any(
            |verdict| matches!(verdict, Verdict::Stale(named) | Verdict::Older(named) | Verdict::Truncated(named) if named == slot),
        )
    };
    let absent = missing.iter().filter(|slot| !accounted(slot));
    notes.extend(absent.map(|slot| Note::Missing { slot: Slot::new(*slot) }));
    if !missing.is_empty() {
        let members = assembly.geometry.members();
        notes.push(Note::Degraded { missing: missing.len() as u16, members });
    }
    let absent = assembly.missing_journals().into_iter().filter(|slot| !accounted(&slot.get()));
    notes.extend(absent.map(|slot| Note::MissingJournal { slot }));
    notes.extend(rebuilding(assembly));
    let data = &assembly.slots[..usize::from(assembly.geometry.members())];
    let members: Vec<&Member> = data.iter().flatten().map(|index| &found[*index].member).collect();
    notes.extend(unequal(&members));
    if !assembly.superblock.clean {
        notes.push(Note::Unclean { read_only });
    }
    notes
}

pub(super) fn of_verdict(verdict: &Verdict, assembly: &Assembly, found: &Found) -> Option<Note> {
    let path = found.member.path().to_owned();
    let length = found.member.length().bytes();
    let slots = assembly.geometry.slots().count();
    match verdict {
        Verdict::Member(_) | Verdict::Spare => None,
        Verdict::Stale(slot) | Verdict::Older(slot) => {
            let slot = Slot::new(*slot);
            Some(match assembly.geometry.is_for_journal(slot) {
                true if slot.as_usize() < slots => Note::StaleJournal { path, slot },
                _ => Note::Stale { path, slot },
            })
        }
        Verdict::Foreign => {
            let superblock = found.input().superblock().ok()?;
            Some(Note::Foreign { path, array: format!("'{}' ({})", superblock.name, superblock.array) })
        }
        Verdict::Unknown => Some(Note::Unknown { path }),
        Verdict::Truncated(slot) if usize::from(*slot) >= slots => {
            let needs = assembly.geometry.least_member_length().bytes();
            Some(Note::SmallSpare { path, length, needs })
        }
        Verdict::Truncated(slot) => {
            let needs = assembly.geometry.least_length(Slot::new(*slot)).bytes();
            let before = found.input().superblock().map(|superblock| superblock.member_length.bytes());
            let needs = before.unwrap_or(needs).max(needs);
            Some(Note::Truncated { path, slot: Slot::new(*slot), length, needs })
        }
        Verdict::Damaged(error) => Some(Note::damaged(&found.member, error.clone())),
    }
}

fn rebuilding(assembly: &Assembly) -> impl Iterator<Item = Note> {
    let table = assembly.superblock.table.iter().zip(&assembly.slots).enumerate();
    table.filter_map(|(slot, (entry, member))| {
        let under_way = matches!(entry.state, EntryState::Rebuilding { .. }) && member.is_some();
        under_way.then(|| Note::Rebuilding { slot: Slot::new(slot as u16) })
    })
}

/// A note if the members' lengths differ by at least the alignment of metadata.
pub(crate) fn unequal(members: &[&Member]) -> Option<Note> {
    let smallest = members.iter().min_by_key(|member| member.length())?;
    let longest = members.iter().map(|member| member.length()).max()?;
    (longest - smallest.length() >= parlour_array::ALIGNMENT).then(|| Note::Unequal {
        smallest: smallest.path().into(),
        length: smallest.length().bytes(),
        longest: longest.bytes(),
    })
}
