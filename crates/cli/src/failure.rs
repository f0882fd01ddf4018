//! The failures of commands: one message, and an exit status.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use parlour_array::ExplainError;
use parlour_engine::{CreateError, ExamineError, MemberError, OpenError};
use parlour_lab::file::FileError;

use crate::commands::drives::DriveError;
use crate::commands::experiments::FilesError;
use crate::commands::reproduce::ReproduceError;
use crate::control::{self, CommandError, Holder};
use crate::interrupt::INTERRUPTED;
use crate::members::MembersError;
use crate::serve::ServiceError;
use crate::settings::{SettingError, ShapeError, TuningError};
use crate::status::OfflineError;

/// The exit status of `status --check` if the state is unknown.
pub(crate) const CANNOT_TELL: u8 = 3;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error("say what to do: 'parlour --help' lists it, and 'parlour up' is a good beginning")]
    NoCommand,
    #[error(transparent)]
    Config(#[from] FileError),
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Tuning(#[from] TuningError),
    #[error("no members were named; write 'parlour {0} MEMBER…', or name them in a configuration file")]
    NoMembers(&'static str),
    #[error("this layout has no regions; --region is for organizations with a parity log")]
    NoRegions,
    #[error("there is no region {0}; this array has regions 0 to {1}")]
    NoSuchRegion(u32, u32),
    #[error(transparent)]
    Drive(#[from] DriveError),
    #[error(transparent)]
    Experiments(#[from] FilesError),
    #[error(transparent)]
    Reproduce(#[from] ReproduceError),
    #[error(transparent)]
    Explain(#[from] ExplainError),
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error(transparent)]
    Create(#[from] CreateError),
    #[error("{path}: no such file or device; check the path, or give --size to make a file", path = .path.display())]
    MissingMember { path: PathBuf },
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    Offline(#[from] OfflineError),
    #[error(transparent)]
    Examine(#[from] ExamineError),
    #[error(transparent)]
    Members(#[from] MembersError),
    #[error("{path}: {}; use another --dir", unmade(.source), path = .path.display())]
    Directory { path: PathBuf, source: std::io::Error },
    #[error("the rebuild has stopped before its end; 'parlour status' shows why")]
    RebuildStopped,
    #[error("member {0} is not rebuilt: the new member has failed meanwhile; 'parlour status' shows why")]
    RebuildFailed(u64),
    #[error("{path}: {}", is_served(.name, *.process, .command), path = .path.display())]
    Served { path: PathBuf, name: String, process: Option<u32>, command: String },
    /// With `status --check`: why the state is unknown.
    #[error("{0}")]
    CannotTell(Box<Failure>),
    #[error(
        "the scrub compared nothing: {skipped} of {skipped} stripes were skipped, because a member is missing or they are yet \
         to be resynced; 'parlour status' shows which, and what to do"
    )]
    NothingCompared { skipped: u64 },
    #[error("the scrub was cancelled before its end")]
    ScrubCancelled,
    #[error("the server tells nothing of the scrub; was the array opened again meanwhile?")]
    ScrubVanished,
    #[error(
        "the scrub was broken off before its end, because the array can only be read now; 'parlour status' shows why"
    )]
    ScrubBroken,
    #[error("{}", mismatches(*.left, *.unreadable, *.repairing))]
    Mismatches { left: u64, unreadable: u64, repairing: bool },
    #[error("seed {seed}: {violation}")]
    Tortured { seed: u64, violation: String },
    #[error("interrupted: {whole} of {of} are whole, of the others it is shown how far they came")]
    Interrupted { whole: usize, of: String },
    #[error("cannot write the answer: {0}")]
    Output(#[from] std::io::Error),
}

/// Why a directory cannot be made.
fn unmade(source: &std::io::Error) -> String {
    match source.kind() {
        std::io::ErrorKind::AlreadyExists => "is no directory".to_owned(),
        std::io::ErrorKind::PermissionDenied => "cannot be made: permission denied".to_owned(),
        _ => format!("cannot be made: {source}"),
    }
}

/// The message for an array that is served already. `command` is the option that names it in
/// commands.
fn is_served(name: &str, process: Option<u32>, command: &str) -> String {
    let process = process.map_or(String::new(), |process| format!(" by process {process}"));
    format!(
        "the array '{name}' is served already{process}; 'parlour status{command}' shows how it is, and 'parlour stop{command}' \
         ends it"
    )
}

impl Failure {
    /// The failure to open an array. If it is served already, the message names `directory` or the
    /// member in use.
    pub(crate) fn opening(error: OpenError, directory: Option<&Path>) -> Failure {
        match &error {
            OpenError::Member(MemberError::InUse { path }) => {
                let path = path.clone();
                Failure::in_use(&path, directory.unwrap_or(&path), error)
            }
            _ => error.into(),
        }
    }

    /// The failure to open a member that is in use. Names the server, if it can be found.
    pub(crate) fn in_use(path: &Path, shown: &Path, otherwise: impl Into<Failure>) -> Failure {
        match control::holder_of(path) {
            Some(Holder { name, process }) => {
                Failure::Served { path: shown.to_owned(), name, process, command: control::naming(shown) }
            }
            None => otherwise.into(),
        }
    }
}

fn mismatches(left: u64, unreadable: u64, repairing: bool) -> String {
    let what =
        format!("the scrub found {left} mismatches that are not repaired and {unreadable} unreadable places");
    match repairing || left == 0 {
        true => what,
        false => format!("{what}; --repair says which side to believe"),
    }
}

impl Failure {
    /// The exit status: 2 for misuse, 1 for failure, 3 if a check cannot tell the state, 130 if an
    /// interrupt ended the command.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Failure::CannotTell(_) => ExitCode::from(CANNOT_TELL),
            Failure::Interrupted { .. } => ExitCode::from(INTERRUPTED),
            _ if self.is_misuse() => ExitCode::from(2),
            _ => ExitCode::from(1),
        }
    }

    fn is_misuse(&self) -> bool {
        match self {
            Failure::Usage(_)
            | Failure::NoCommand
            | Failure::Config(_)
            | Failure::Setting(_)
            | Failure::Tuning(_)
            | Failure::NoMembers(_)
            | Failure::NoRegions
            | Failure::NoSuchRegion(..)
            | Failure::Explain(_) => true,
            Failure::Experiments(error) => !matches!(
                error,
                FilesError::NoFigures(..) | FilesError::NoModel(..) | FilesError::NotAssessed(..)
            ),
            Failure::Shape(error) => !matches!(error, ShapeError::Members(_)),
            Failure::Create(error) => matches!(
                error,
                CreateError::Geometry(_)
                    | CreateError::Unit(_)
                    | CreateError::BadBlock(_)
                    | CreateError::Block { .. }
                    | CreateError::Name(_)
                    | CreateError::Repeated { .. }
            ),
            _ => false,
        }
    }
}
