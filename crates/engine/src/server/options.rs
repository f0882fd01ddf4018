//! The options for serving an array, and why serving fails.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use parlour_units::Duration;

use crate::backend::IoBackend;
use crate::control::ControlError;
use crate::io::StartError;
use crate::recorder::Recorder;
use crate::witness::Witness;

/// The default limit on the time of an access. It is longer than a drive's own retries, and longer
/// than a path failover.
pub const ACCESS_TIMEOUT: Duration = Duration::from_secs(30);

/// The options for serving an array.
#[derive(Debug)]
pub struct ServeOptions {
    /// The path of the control socket; none for no control socket. Clients look for it at
    /// [`OpenArray::control_path`](crate::OpenArray::control_path).
    pub control: Option<PathBuf>,
    /// Records the calls between the array and its driver.
    pub recorder: Option<Recorder>,
    /// Sees the changes that the kernel is asked to make on members.
    pub witness: Option<Arc<dyn Witness>>,
    /// Carries accesses out instead of the backend that the opening chose, for example to make
    /// members as slow as others would be.
    pub backend: Option<Box<dyn IoBackend>>,
    /// The longest time of an access. If an access takes longer, its member is excluded, and the
    /// access is given up.
    pub access_timeout: Duration,
    /// Where to look for returning members: paths of members, and directories.
    pub watched: Vec<PathBuf>,
    /// How often to look there while a member is missing. Also the first waiting time of a member
    /// that has disappeared, before it may return.
    pub look_every: Duration,
    /// How long hosts may take to complete their requests when the server is stopped.
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
            backend: None,
            access_timeout: ACCESS_TIMEOUT,
            watched: Vec::new(),
            look_every: Duration::from_secs(5),
            grace: Duration::from_secs(5),
            pulse: Duration::from_secs(1),
        }
    }
}

/// Why an array cannot be served, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// No backend can be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The control socket cannot be opened.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// Another server has opened the array in the meantime.
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
    /// The inputs of the opening, with which a recording begins, were not kept.
    #[error("the array was opened without what its recording begins with; open it to be recorded")]
    NotRecorded,
    /// A system call of the server itself failed.
    #[error("the system fails the server: {0}; serve the array again")]
    System(#[source] io::Error),
}
