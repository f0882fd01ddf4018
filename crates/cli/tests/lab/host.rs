//! A host that writes, records what it has written, and reads it back.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::tools::{Random, until};

/// The size of each write.
const BLOCK: usize = 32 << 10;
/// The number of writes under way.
const DEPTH: usize = 8;
/// The time after which an answer counts as missing. No test depends on its length.
const PATIENCE: Duration = Duration::from_secs(90);

const READ: u16 = 0;
const WRITE: u16 = 1;
const FLUSH: u16 = 3;

/// A connection to an NBD server, with the simplest form of the protocol.
pub(crate) struct Client(UnixStream);

impl Client {
    pub(crate) fn connect(socket: &Path) -> Client {
        let stream = UnixStream::connect(socket).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time is set");
        let mut client = Client(stream);
        let greeting = client.take(18).expect("a greeting");
        assert!(greeting.starts_with(b"NBDMAGICIHAVEOPT"), "{greeting:?}");
        // Fixed newstyle, no zeroes; then the default export.
        let hello = [&3_u32.to_be_bytes()[..], b"IHAVEOPT", &[0, 0, 0, 1, 0, 0, 0, 0]].concat();
        client.0.write_all(&hello).expect("the server reads");
        client.take(10).expect("size and flags");
        client
    }

    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn ask(&mut self, kind: u16, cookie: u64, offset: u64, length: usize, payload: &[u8]) {
        let mut request = 0x2560_9513_u32.to_be_bytes().to_vec();
        request.extend([0, 0]);
        request.extend(kind.to_be_bytes());
        request.extend(cookie.to_be_bytes());
        request.extend(offset.to_be_bytes());
        request.extend((length as u32).to_be_bytes());
        request.extend(payload);
        self.0.write_all(&request).expect("the server reads");
    }

    /// Waits for an answer, and returns the request's cookie and its error.
    fn answer(&mut self) -> (u64, u32) {
        let answer = self.take(16).expect("an answer, in time");
        assert_eq!(answer[..4], 0x6744_6698_u32.to_be_bytes(), "a simple reply");
        let error = u32::from_be_bytes(answer[4..8].try_into().expect("four bytes"));
        (u64::from_be_bytes(answer[8..].try_into().expect("eight bytes")), error)
    }

    /// Reads; returns the data or the error.
    pub(crate) fn read(&mut self, offset: u64, length: usize) -> Result<Vec<u8>, u32> {
        self.ask(READ, 0, offset, length, &[]);
        match self.answer() {
            (_, 0) => Ok(self.take(length).expect("what was read")),
            (_, error) => Err(error),
        }
    }

    pub(crate) fn write(&mut self, offset: u64, payload: &[u8]) -> Result<(), u32> {
        self.ask(WRITE, 0, offset, payload.len(), payload);
        match self.answer() {
            (_, 0) => Ok(()),
            (_, error) => Err(error),
        }
    }

    pub(crate) fn flush(&mut self) -> Result<(), u32> {
        self.ask(FLUSH, 0, 0, 0, &[]);
        match self.answer() {
            (_, 0) => Ok(()),
            (_, error) => Err(error),
        }
    }
}

/// The record of written data: the version of each block.
#[derive(Clone)]
pub(crate) struct Written(Vec<u32>);

impl Written {
    /// No writes yet, for this capacity in bytes.
    pub(crate) fn none(capacity: u64) -> Written {
        Written(vec![0; capacity as usize / BLOCK])
    }

    /// Writes each block once, or only one block in `one_of`.
    pub(crate) fn write_each(&mut self, one_of: usize, client: &mut Client) {
        for block in (0..self.0.len()).step_by(one_of) {
            self.0[block] += 1;
            let payload = content(block, self.0[block]);
            assert_eq!(client.write((block * BLOCK) as u64, &payload), Ok(()));
        }
        assert_eq!(client.flush(), Ok(()));
    }

    /// Checks that every block has the content that was written last.
    pub(crate) fn verify(&self, client: &mut Client) {
        let blocks = 0..self.0.len();
        let wrong: Vec<String> = blocks.filter_map(|block| self.wrong(block, client)).collect();
        assert!(wrong.is_empty(), "{} blocks: {}", wrong.len(), wrong.join(", "));
    }

    fn wrong(&self, block: usize, client: &mut Client) -> Option<String> {
        let expected = match self.0[block] {
            0 => vec![0; BLOCK],
            version => content(block, version),
        };
        match client.read((block * BLOCK) as u64, BLOCK) {
            Ok(read) if read == expected => None,
            Ok(_) => Some(format!("{block} is wrong")),
            Err(error) => Some(format!("{block} has error {error}")),
        }
    }
}

fn content(block: usize, version: u32) -> Vec<u8> {
    Random::new((block as u64) << 32 | u64::from(version)).bytes(BLOCK)
}

/// A host that writes to random blocks until it is told to stop.
pub(crate) struct Host {
    answered: Arc<AtomicU64>,
    enough: Arc<AtomicBool>,
    thread: JoinHandle<Written>,
}

impl Host {
    pub(crate) fn start(client: Client, written: Written) -> Host {
        let (answered, enough) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let writing = Writing { client, written, under_way: BTreeMap::new(), random: Random::new(1) };
        let thread = {
            let (answered, enough) = (answered.clone(), enough.clone());
            thread::spawn(move || writing.run(&answered, &enough))
        };
        Host { answered, enough, thread }
    }

    /// Waits until this number of further writes are answered.
    pub(crate) fn until_more(&self, count: u64) {
        let enough = self.answered.load(Ordering::Relaxed) + count;
        until("the host's writes go on", || {
            assert!(!self.thread.is_finished(), "the host has ended");
            (self.answered.load(Ordering::Relaxed) >= enough).then_some(())
        });
    }

    /// Waits until all writes under way are answered.
    pub(crate) fn stop(self) -> Written {
        self.enough.store(true, Ordering::Relaxed);
        self.thread.join().expect("every write is answered, and well")
    }
}

struct Writing {
    client: Client,
    written: Written,
    /// The blocks that are being written, by the requests' cookies.
    under_way: BTreeMap<u64, usize>,
    random: Random,
}

impl Writing {
    fn run(mut self, answered: &AtomicU64, enough: &AtomicBool) -> Written {
        for cookie in 0.. {
            if enough.load(Ordering::Relaxed) {
                break;
            }
            self.begin(cookie);
            if self.under_way.len() == DEPTH {
                self.end_one();
                answered.fetch_add(1, Ordering::Relaxed);
            }
        }
        while !self.under_way.is_empty() {
            self.end_one();
        }
        self.written
    }

    fn begin(&mut self, cookie: u64) {
        let blocks = self.written.0.len() as u64;
        let block = loop {
            let block = (self.random.next() % blocks) as usize;
            if !self.under_way.values().any(|busy| *busy == block) {
                break block;
            }
        };
        self.under_way.insert(cookie, block);
        self.written.0[block] += 1;
        let payload = content(block, self.written.0[block]);
        self.client.ask(WRITE, cookie, (block * BLOCK) as u64, BLOCK, &payload);
    }

    fn end_one(&mut self) {
        let (cookie, error) = self.client.answer();
        let block = self.under_way.remove(&cookie).expect("a write that is under way");
        assert_eq!(error, 0, "the write of block {block} failed");
    }
}
