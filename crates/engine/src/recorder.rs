//! Records the calls between the array and its driver ([`parlour_array::record`]), in memory or in
//! a file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use parlour_array::record::{Entry, OpeningInputs, Recording, Sink};

/// Why a recording cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be made, written or read.
    #[error("{path}: {source}", path = .path.display())]
    File {
        /// The path of the recording.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A line is not a line of a recording.
    #[error("{path}, line {line}: not a line of a recording ({source}); record again", path = .path.display())]
    Line {
        /// The path of the recording.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// The error in the line.
        source: serde_json::Error,
    },
}

/// The destination of a server's recording.
#[derive(Debug)]
pub struct Recorder(pub(crate) Box<dyn Sink>);

impl Recorder {
    /// Records into memory; the recording is complete when the server has ended.
    pub fn memory() -> (Recorder, Arc<Mutex<Recording>>) {
        let recording: Arc<Mutex<Recording>> = Arc::default();
        (Recorder(Box::new(Shared(Arc::clone(&recording)))), recording)
    }

    /// Records into a new file at `path`, one JSON value per line, the opening first.
    ///
    /// # Errors
    /// If the file exists already, or cannot be made.
    pub fn file(path: &Path) -> Result<Recorder, RecordingError> {
        let file = File::create_new(path).map_err(failed(path))?;
        Ok(Recorder(Box::new(Lines(BufWriter::new(file)))))
    }
}

/// A recording in memory, shared with the caller of [`Recorder::memory`].
#[derive(Debug)]
struct Shared(Arc<Mutex<Recording>>);

impl Sink for Shared {
    fn begin(&mut self, opening: &OpeningInputs) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).begin(opening);
    }

    fn note(&mut self, entry: Entry) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).note(entry);
    }
}

/// A file with one JSON value per line.
#[derive(Debug)]
struct Lines(BufWriter<File>);

impl Lines {
    /// A line that cannot be written is missing from the file, and a replay of the file reports
    /// that. The server continues.
    fn write(&mut self, value: &impl serde::Serialize) {
        let _ = serde_json::to_writer(&mut self.0, value)
            .map_err(io::Error::from)
            .and_then(|()| self.0.write_all(b"\n"));
    }
}

impl Sink for Lines {
    fn begin(&mut self, opening: &OpeningInputs) {
        self.write(opening);
    }

    fn note(&mut self, entry: Entry) {
        self.write(&entry);
    }
}

/// Reads a file that [`Recorder::file`] wrote.
///
/// # Errors
/// If the file cannot be read or is not a recording.
pub fn read_recording(path: &Path) -> Result<Recording, RecordingError> {
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

fn failed(path: &Path) -> impl FnOnce(io::Error) -> RecordingError + use<> {
    let path = path.to_owned();
    move |source| RecordingError::File { path, source }
}
