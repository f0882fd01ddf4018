//! How an array is served, and why it cannot be.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use parlour_units::Duration;

use crate::control::ControlError;
use crate::io::StartError;
use crate::recorder::Recorder;
use crate::witness::Witness;

/// How long an access may take unless somebody says otherwise: longer than a drive needs for its
/// own retries, and than a path needs to be tried again.
pub const ACCESS_TIMEOUT: Duration = Duration::from_secs(30);

/// How an array is served.
#[derive(Debug)]
pub struct ServeOptions {
    /// Where to take commands; nowhere if absent.
    /// [`OpenArray::control_path`](crate::OpenArray::control_path) is where clients look.
    pub control: Option<PathBuf>,
    /// Who writes down what passes between the array and its driver.
    pub recorder: Option<Recorder>,
    /// Who sees what the kernel is asked to do with members.
    pub witness: Option<Arc<dyn Witness>>,
    /// How long an access of a member may take: then the member is excluded, and goes on without
    /// anybody waiting for it.
    pub access_timeout: Duration,
    /// Where members may come back from: their paths, and directories.
    pub watched: Vec<PathBuf>,
    /// How often it is looked there while a member is away, and how long one that has gone away is
    /// left alone at first.
    pub look_every: Duration,
    /// How long hosts may take to finish when the server is stopped.
    pub grace: Duration,
    /// The time between two calls of the observer.
    pub pulse: Duration,
}

impl Default for ServeOptions {
    fn default() -> ServeOptions {
        ServeOptions {
            control: None,
            recorder: None,
            witness: None,
            access_timeout: ACCESS_TIMEOUT,
            watched: Vec::new(),
            look_every: Duration::from_secs(5),
            grace: Duration::from_secs(5),
            pulse: Duration::from_secs(1),
        }
    }
}

/// Why an array cannot be served (any more).
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// There is no way to carry accesses out.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Commands cannot be taken.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// Another server has opened the array meanwhile.
    #[error(
        "another server has opened this array while it was served here: nothing more was written from here, and what was not \
         flushed may be lost; check that no two hosts serve it (a disk that both see, a loop device over a member), then \
         serve it on one, and scrub it"
    )]
    Superseded,
    /// A member has no space, or the system no memory, for the array's metadata.
    #[error(
        "there is no space or memory for the array's metadata (its events say on which member): nothing more was written, \
         and the array comes back as after a crash (with a member missing perhaps only by --force); free some, then serve it \
         again"
    )]
    Halted,
    /// What a recording begins with was not kept.
    #[error("the array was opened without what its recording begins with; open it to be recorded")]
    NotRecorded,
    /// The system fails the server itself.
    #[error("the system fails the server: {0}; serve the array again")]
    System(#[source] io::Error),
}
