//! A journal of all events while an array is served, in their order: the changes of members that
//! the kernel was asked for and has completed, and hosts' requests and their answers.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use parlour_array::RequestError;
use parlour_engine::{Change, Choice, Witness};

use crate::common::host::HostWatch;
use crate::content::{self, SECTOR, Value};

/// The longest time for which an access is held back.
const LONGEST_HOLD: Duration = Duration::from_millis(1);

/// Not yet, or never.
pub(crate) const NEVER: usize = usize::MAX;

/// An event. Its index in the journal is its time.
#[derive(Debug)]
pub(crate) enum Event {
    /// The kernel is asked to change a member's file.
    Asked { file: usize, change: Change },
    /// The kernel has completed this number of bytes of the change that was asked for at this time.
    Answered { asked: usize, done: Option<u64> },
    /// A host's request is submitted to the array, or is answered.
    Host,
    /// From here on the array consists of these files.
    Whole(Vec<usize>),
    /// From here on a member is missing, or will soon be: the array can work without any one of
    /// these files.
    Degraded(Vec<usize>),
    /// The member is excluded now.
    Excluded,
}

impl Event {
    pub(crate) fn is_degraded(&self) -> bool {
        matches!(self, Event::Degraded(_))
    }

    pub(crate) fn is_excluded(&self) -> bool {
        matches!(self, Event::Excluded)
    }
}

/// The kind of a host's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Write { value: Value, durable: bool },
    Read,
    Flush,
}

/// A host's request, in sectors.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) kind: Kind,
    pub(crate) at: u64,
    pub(crate) length: u64,
    pub(crate) begun: usize,
    pub(crate) ended: usize,
    pub(crate) succeeded: bool,
    /// The values that were read, by sector.
    pub(crate) read: Vec<Value>,
}

/// A file that is or becomes a member, with its initial content.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) initial: Arc<Vec<u8>>,
    /// The time at which it was added.
    pub(crate) since: usize,
}

#[derive(Debug, Default)]
struct Pages {
    events: Vec<Event>,
    files: Vec<File>,
    requests: Vec<Request>,
}

/// The accesses that are delayed in the thread backend, so that others overtake them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "planted-bugs"), expect(dead_code, reason = "the others find what is planted"))]
pub(crate) enum Slow {
    /// Some changes, and often metadata on all members.
    #[default]
    Some,
    /// All changes of metadata.
    Metadata,
    /// All other changes.
    Data,
}

/// Records the journal. Its lock orders the events: a request to the kernel is recorded before it
/// is made, a completion after it has happened.
#[derive(Debug)]
pub(crate) struct Journal {
    pages: Mutex<Pages>,
    /// An event was recorded.
    more: Condvar,
    io: Choice,
    slow: Slow,
    metadata: u64,
}

impl Journal {
    /// A journal for an array with the backend `io`. `metadata` is the length of the metadata at
    /// the start of each member, in bytes.
    pub(crate) fn new(io: Choice, slow: Slow, metadata: u64) -> Journal {
        Journal { pages: Mutex::default(), more: Condvar::new(), io, slow, metadata }
    }

    pub(crate) fn metadata(&self) -> u64 {
        self.metadata
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds an access back until others have overtaken it.
    fn hold_back(&self, now: usize, change: &Change) {
        let drawn = |of: usize| (of as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let metadata = matches!(change, Change::Write { at, .. } if *at < self.metadata);
        let slow = match self.slow {
            Slow::Some if metadata => drawn(now / 64).is_multiple_of(3),
            Slow::Some => drawn(now).is_multiple_of(32),
            Slow::Metadata => metadata,
            Slow::Data => !metadata && *change != Change::Flush,
        };
        if self.io == Choice::Threads && slow {
            let enough = now + 32 + drawn(now) as usize % 32;
            let too_few = |pages: &mut Pages| pages.events.len() < enough;
            // Where everything waits for this access, no other overtakes it: then it goes on.
            drop(self.more.wait_timeout_while(self.pages(), LONGEST_HOLD, too_few));
        }
    }

    fn note(&self, event: Event) -> usize {
        self.note_in(&mut self.pages(), event)
    }

    fn note_in(&self, pages: &mut Pages, event: Event) -> usize {
        pages.events.push(event);
        self.more.notify_all();
        pages.events.len() - 1
    }

    /// Adds a file that will be a member, and returns its number.
    pub(crate) fn add_file(&self, path: &Path, initial: Vec<u8>) -> usize {
        let mut pages = self.pages();
        let since = pages.events.len();
        pages.files.push(File { path: path.to_owned(), initial: Arc::new(initial), since });
        pages.files.len() - 1
    }

    /// Adds a request that will be posted, and returns its tag.
    pub(crate) fn add_request(&self, kind: Kind, at: u64, length: u64) -> usize {
        let mut pages = self.pages();
        let request =
            Request { kind, at, length, begun: NEVER, ended: NEVER, succeeded: false, read: Vec::new() };
        pages.requests.push(request);
        pages.requests.len() - 1
    }

    /// Records that from here on the array consists of these files.
    pub(crate) fn whole(&self, files: &[usize]) {
        self.note(Event::Whole(files.to_vec()));
    }

    /// Records that from here on a member is missing, or will soon be: the array can work without
    /// any one of these files.
    pub(crate) fn degraded(&self, files: &[usize]) {
        self.note(Event::Degraded(files.to_vec()));
    }

    /// Records that the member is excluded now.
    pub(crate) fn excluded(&self) {
        self.note(Event::Excluded);
    }

    /// Returns all recorded events, when the array is no longer served.
    pub(crate) fn close(&self) -> (Vec<Event>, Vec<File>, Vec<Request>) {
        let pages = std::mem::take(&mut *self.pages());
        (pages.events, pages.files, pages.requests)
    }
}

impl Witness for Journal {
    fn asked(&self, member: &Path, change: Change) -> u64 {
        let mut pages = self.pages();
        let file = pages.files.iter().position(|file| file.path == member).expect("a file that is known");
        let now = self.note_in(&mut pages, Event::Asked { file, change: change.clone() });
        drop(pages);
        self.hold_back(now, &change);
        now as u64
    }

    fn answered(&self, number: u64, done: Option<u64>) {
        self.note(Event::Answered { asked: number as usize, done });
    }
}

impl HostWatch for Journal {
    fn begins(&self, tag: usize) {
        let mut pages = self.pages();
        let now = self.note_in(&mut pages, Event::Host);
        // Requests that are not recorded have no number here.
        if let Some(request) = pages.requests.get_mut(tag) {
            request.begun = now;
        }
    }

    fn ends(&self, tag: usize, answer: &Result<Vec<u8>, RequestError>) {
        let mut pages = self.pages();
        let now = self.note_in(&mut pages, Event::Host);
        let Some(request) = pages.requests.get_mut(tag) else { return };
        (request.ended, request.succeeded) = (now, answer.is_ok());
        if let (Ok(bytes), Kind::Read) = (answer, request.kind) {
            let sectors = (request.at..).zip(bytes.chunks_exact(SECTOR));
            request.read = sectors.map(|(sector, bytes)| content::of(sector, bytes)).collect();
        }
    }
}
