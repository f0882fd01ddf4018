//! How a command fails: one clear line, and an exit status.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use parlour_array::ExplainError;
use parlour_engine::{CreateError, ExamineError, OpenError};
use parlour_lab::file::FileError;

use crate::commands::drives::DriveError;
use crate::commands::experiments::FilesError;
use crate::commands::reproduce::ReproduceError;
use crate::control::CommandError;
use crate::interrupt::INTERRUPTED;
use crate::members::MembersError;
use crate::serve::ServiceError;
use crate::settings::{SettingError, ShapeError, TuningError};
use crate::status::OfflineError;

/// Why a command did not do what was asked.
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
    #[error("say where to serve: --unix PATH, --tcp ADDRESS, or both")]
    Nowhere,
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
    #[error("{path}: cannot be made: {source}; use another --dir", path = .path.display())]
    Directory { path: PathBuf, source: std::io::Error },
    #[error("the rebuild has stopped before its end; 'parlour status' shows why")]
    RebuildStopped,
    #[error("the server tells nothing of the scrub; was the array opened again meanwhile?")]
    ScrubVanished,
    #[error("the scrub was broken off before its end")]
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

fn mismatches(left: u64, unreadable: u64, repairing: bool) -> String {
    let what =
        format!("the scrub found {left} mismatches that are not repaired and {unreadable} unreadable places");
    match repairing || left == 0 {
        true => what,
        false => format!("{what}; --repair says which side to believe"),
    }
}

impl Failure {
    /// 2 where something else was to be asked, 1 where it could not be done, 130 where an interrupt broke it off.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Interrupted { .. } => ExitCode::from(INTERRUPTED),
            misuse if misuse.is_misuse() => ExitCode::from(2),
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
            | Failure::Nowhere
            | Failure::NoRegions
            | Failure::NoSuchRegion(..)
            | Failure::Explain(_) => true,
            Failure::Experiments(error) => {
                !matches!(error, FilesError::NoFigures(..) | FilesError::NoModel(..))
            }
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

impl From<clap::Error> for Failure {
    /// Clap's account of a misuse, brought to one line.
    fn from(error: clap::Error) -> Failure {
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            return Failure::NoCommand;
        }
        let text = error.to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let (told, usage) = text.split_once("\n\nUsage: ").unwrap_or((text, ""));
        let told = told.split("\n\nFor more information").next().unwrap_or(told);
        let told =
            told.replace("tip: ", "; ").split_whitespace().collect::<Vec<_>>().join(" ").replace(" ; ", "; ");
        let command = usage.split_whitespace().take_while(|word| !word.starts_with(['[', '<', '-']));
        let command: Vec<&str> = command.collect();
        let command = if command.is_empty() { "parlour".to_owned() } else { command.join(" ") };
        Failure::Usage(format!("{told}; see '{command} --help'"))
    }
}
