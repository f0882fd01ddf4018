//! Recording what an array was told and what it answered, and replaying it into a fresh array.
//!
//! The array is a state machine: told the same, it answers the same, in whatever world. A [`Recording`] holds
//! what it was opened from and then, in order, each input and each answer. [`replay()`] opens a fresh array,
//! feeds it the inputs and compares the answers one for one.

mod entry;
mod inputs;
mod recorded;
mod replay;
mod tuning;

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

pub use entry::{Asked, Became, Entry, Input, Newcomer};
pub use inputs::{CandidateInput, OpeningInputs};
pub(crate) use recorded::Recorded;
pub use replay::{FirstDifference, replay};

/// What an array was opened from, was told, and answered.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// What it was opened from; absent until a server has begun.
    pub opening: Option<OpeningInputs>,
    /// What happened, in order.
    pub entries: Vec<Entry>,
}

/// Why a recording cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be made, written or read.
    #[error("{path}: {source}", path = .path.display())]
    File {
        /// The recording.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A line is not one of a recording.
    #[error("{path}, line {line}: not a line of a recording ({source}); record again", path = .path.display())]
    Line {
        /// The recording.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// Where a recording goes.
#[derive(Debug)]
pub enum Recorder {
    /// Into memory that the giver shares.
    Memory(Arc<Mutex<Recording>>),
    /// Into a file: one JSON value a line, the opening first.
    File(BufWriter<File>),
}

impl Recorder {
    /// Records into memory; the recording is complete when the server has ended.
    pub fn memory() -> (Recorder, Arc<Mutex<Recording>>) {
        let recording = Arc::new(Mutex::default());
        (Recorder::Memory(Arc::clone(&recording)), recording)
    }

    /// Records into a new file at `path`.
    ///
    /// # Errors
    /// If there is a file already, or none can be made.
    pub fn file(path: &Path) -> Result<Recorder, RecordingError> {
        let file = File::create_new(path).map_err(failed(path))?;
        Ok(Recorder::File(BufWriter::new(file)))
    }

    pub(crate) fn begin(&mut self, opening: &OpeningInputs) {
        match self {
            Recorder::Memory(recording) => lock(recording).opening = Some(opening.clone()),
            Recorder::File(file) => write_line(file, opening),
        }
    }

    pub(crate) fn note(&mut self, entry: Entry) {
        match self {
            Recorder::Memory(recording) => lock(recording).entries.push(entry),
            Recorder::File(file) => write_line(file, &entry),
        }
    }
}

impl Recording {
    /// Reads what [`Recorder::file`] wrote.
    ///
    /// # Errors
    /// If the file cannot be read or is no recording.
    pub fn read(path: &Path) -> Result<Recording, RecordingError> {
        let file = BufReader::new(File::open(path).map_err(failed(path))?);
        let mut recording = Recording::default();
        for (number, line) in file.lines().enumerate() {
            let line = line.map_err(failed(path))?;
            let wrong = |source| RecordingError::Line { path: path.into(), line: number + 1, source };
            if number == 0 {
                recording.opening = Some(serde_json::from_str(&line).map_err(wrong)?);
            } else {
                recording.entries.push(serde_json::from_str(&line).map_err(wrong)?);
            }
        }
        Ok(recording)
    }
}

/// What cannot be written is missing from the file, and replaying it will say so: serving goes on.
fn write_line(file: &mut BufWriter<File>, value: &impl serde::Serialize) {
    let _ = serde_json::to_writer(&mut *file, value)
        .map_err(io::Error::from)
        .and_then(|()| file.write_all(b"\n"));
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> RecordingError + use<> {
    let path = path.to_owned();
    move |source| RecordingError::File { path, source }
}

fn lock(recording: &Mutex<Recording>) -> std::sync::MutexGuard<'_, Recording> {
    recording.lock().unwrap_or_else(PoisonError::into_inner)
}
