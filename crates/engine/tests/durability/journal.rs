//! What happened while an array was served, in order: what the kernel was asked to change on
//! members and when it had done it, and what hosts asked and were answered.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use parlour_array::RequestError;
use parlour_engine::{Change, Choice, Witness};

use crate::common::host::HostWatch;
use crate::content::{self, SECTOR, Value};

/// Not yet, or never.
pub(crate) const NEVER: usize = usize::MAX;

/// One thing that happened. Its place in the journal is its time.
#[derive(Debug)]
pub(crate) enum Event {
    /// The kernel is asked to change a member's file.
    Asked { file: usize, change: Change },
    /// It has done so many bytes of what it was asked at a time.
    Answered { asked: usize, done: Option<u64> },
    /// A host's request goes to the array, or is answered.
    Host,
    /// From here on these files hold the array.
    Whole(Vec<usize>),
    /// From here on a member is missing, or is about to: the array does without any one of these.
    Degraded(Vec<usize>),
    /// That member is missing by now.
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

/// What a host asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Write { value: Value, durable: bool },
    Read,
    Flush,
}

/// A host's request, of sectors.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) kind: Kind,
    pub(crate) at: u64,
    pub(crate) length: u64,
    pub(crate) begun: usize,
    pub(crate) ended: usize,
    pub(crate) succeeded: bool,
    /// What was read, by sector.
    pub(crate) read: Vec<Value>,
}

/// A file that is or becomes a member, and what it holds at first.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) initial: Arc<Vec<u8>>,
    /// When it came.
    pub(crate) since: usize,
}

#[derive(Debug, Default)]
struct Pages {
    events: Vec<Event>,
    files: Vec<File>,
    requests: Vec<Request>,
}

/// What takes long, where accesses are done by several threads, so that others overtake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "planted-bugs"), expect(dead_code, reason = "the others find what is planted"))]
pub(crate) enum Slow {
    /// Now and then a change, and often metadata on all members.
    #[default]
    Some,
    /// Always metadata.
    Metadata,
    /// Always all else.
    Data,
}

/// Writes it down. Its lock gives each event its time: what the kernel is asked is noted before it
/// is, what it has done after that.
#[derive(Debug)]
pub(crate) struct Journal {
    pages: Mutex<Pages>,
    io: Choice,
    slow: Slow,
    metadata: u64,
}

impl Journal {
    /// Of an array whose accesses are carried out by `io`. `metadata` is how far metadata reaches
    /// from the start of each member, in bytes.
    pub(crate) fn new(io: Choice, slow: Slow, metadata: u64) -> Journal {
        Journal { pages: Mutex::default(), io, slow, metadata }
    }

    pub(crate) fn metadata(&self) -> u64 {
        self.metadata
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets others overtake.
    fn dawdle(&self, now: usize, change: &Change) {
        let drawn = |of: usize| (of as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let metadata = matches!(change, Change::Write { at, .. } if *at < self.metadata);
        let slow = match self.slow {
            Slow::Some if metadata => drawn(now / 64).is_multiple_of(3),
            Slow::Some => drawn(now).is_multiple_of(32),
            Slow::Metadata => metadata,
            Slow::Data => !metadata && *change != Change::Flush,
        };
        if self.io == Choice::Threads && slow {
            std::thread::sleep(Duration::from_micros(500 + drawn(now) % 500));
        }
    }

    fn note(&self, event: Event) -> usize {
        let mut pages = self.pages();
        pages.events.push(event);
        pages.events.len() - 1
    }

    /// A file that will be a member. Returns its number.
    pub(crate) fn add_file(&self, path: &Path, initial: Vec<u8>) -> usize {
        let mut pages = self.pages();
        let since = pages.events.len();
        pages.files.push(File { path: path.to_owned(), initial: Arc::new(initial), since });
        pages.files.len() - 1
    }

    /// A request that is going to be posted. Returns the tag to post it with.
    pub(crate) fn add_request(&self, kind: Kind, at: u64, length: u64) -> usize {
        let mut pages = self.pages();
        let request =
            Request { kind, at, length, begun: NEVER, ended: NEVER, succeeded: false, read: Vec::new() };
        pages.requests.push(request);
        pages.requests.len() - 1
    }

    /// From here on these files hold the array.
    pub(crate) fn whole(&self, files: &[usize]) {
        self.note(Event::Whole(files.to_vec()));
    }

    /// From here on a member is missing, or is about to: the array does without any one of these.
    pub(crate) fn degraded(&self, files: &[usize]) {
        self.note(Event::Degraded(files.to_vec()));
    }

    /// The member that was about to be missing is.
    pub(crate) fn excluded(&self) {
        self.note(Event::Excluded);
    }

    /// All that was written down, when nobody writes any more.
    pub(crate) fn close(&self) -> (Vec<Event>, Vec<File>, Vec<Request>) {
        let pages = std::mem::take(&mut *self.pages());
        (pages.events, pages.files, pages.requests)
    }
}

impl Witness for Journal {
    fn asked(&self, member: &Path, change: Change) -> u64 {
        let mut pages = self.pages();
        let file = pages.files.iter().position(|file| file.path == member).expect("a file that is known");
        pages.events.push(Event::Asked { file, change: change.clone() });
        let now = pages.events.len() - 1;
        drop(pages);
        self.dawdle(now, &change);
        now as u64
    }

    fn answered(&self, number: u64, done: Option<u64>) {
        self.note(Event::Answered { asked: number as usize, done });
    }
}

impl HostWatch for Journal {
    fn begins(&self, tag: usize) {
        let mut pages = self.pages();
        pages.events.push(Event::Host);
        let now = pages.events.len() - 1;
        // Those that are not written down have no number here.
        if let Some(request) = pages.requests.get_mut(tag) {
            request.begun = now;
        }
    }

    fn ends(&self, tag: usize, answer: &Result<Vec<u8>, RequestError>) {
        let mut pages = self.pages();
        pages.events.push(Event::Host);
        let now = pages.events.len() - 1;
        let Some(request) = pages.requests.get_mut(tag) else { return };
        (request.ended, request.succeeded) = (now, answer.is_ok());
        if let (Ok(bytes), Kind::Read) = (answer, request.kind) {
            let sectors = (request.at..).zip(bytes.chunks_exact(SECTOR));
            request.read = sectors.map(|(sector, bytes)| content::of(sector, bytes)).collect();
        }
    }
}
