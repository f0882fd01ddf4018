//! A frontend without a protocol: hosts are threads of the test that send requests through a
//! channel.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use parlour_array::{BufferId, Operation, RequestError};
use parlour_engine::{Frontend, Port};
use parlour_units::{Bytes, Sector, Sectors};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};

/// A request, and the channel for its answer.
struct Job {
    operation: Operation,
    at: u64,
    length: u64,
    payload: Vec<u8>,
    reply: Sender<Reply>,
    tag: usize,
}

/// A request that was submitted to the array.
struct Pending {
    reply: Sender<Reply>,
    tag: usize,
    buffer: Option<BufferId>,
    /// The number of bytes that are read.
    reads: usize,
}

/// An answer: the tag of the request, and the payload of a read.
pub(crate) type Reply = (usize, Result<Vec<u8>, RequestError>);

/// Observes requests in the order in which the array gets them.
pub(crate) trait HostWatch: Send + Sync {
    /// The request that was posted with `tag` is submitted to the array.
    fn begins(&self, tag: usize);
    /// The request is answered.
    fn ends(&self, tag: usize, answer: &Result<Vec<u8>, RequestError>);
}

enum Message {
    Job(Job),
    /// End the server like a signal that cannot be caught.
    Kill,
}

/// The hosts' side of the frontend. Each clone is another host.
#[derive(Clone)]
pub(crate) struct Host {
    jobs: Sender<Message>,
    event: Arc<OwnedFd>,
}

/// The server's side of the frontend.
pub(crate) struct Double {
    jobs: Receiver<Message>,
    event: Arc<OwnedFd>,
    starved: VecDeque<Job>,
    in_flight: HashMap<u64, Pending>,
    next: u64,
    closed: bool,
    watch: Option<Arc<dyn HostWatch>>,
}

/// Makes the two sides of a frontend.
pub(crate) fn host(watch: Option<Arc<dyn HostWatch>>) -> (Host, Double) {
    let (sender, jobs) = channel();
    let event = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).expect("an eventfd"));
    let host = Host { jobs: sender, event: Arc::clone(&event) };
    let double = Double {
        jobs,
        event,
        starved: VecDeque::new(),
        in_flight: HashMap::new(),
        next: 0,
        closed: false,
        watch,
    };
    (host, double)
}

impl Host {
    fn send(&self, message: Message) {
        // A server that has ended sends no answer; then the channel of replies is closed.
        let _ = self.jobs.send(message);
        rustix::io::write(&*self.event, &1_u64.to_ne_bytes()).expect("an eventfd takes this");
    }

    /// Sends a request. Its answer goes to `reply` with `tag`.
    pub(crate) fn post(
        &self,
        tag: usize,
        operation: Operation,
        (at, length): (u64, u64),
        payload: &[u8],
        reply: &Sender<Reply>,
    ) {
        let payload = payload.to_vec();
        self.send(Message::Job(Job { operation, at, length, payload, reply: reply.clone(), tag }));
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn ask(
        &self,
        operation: Operation,
        range: (u64, u64),
        payload: &[u8],
    ) -> Result<Vec<u8>, RequestError> {
        let (reply, answers) = channel();
        self.post(0, operation, range, payload, &reply);
        drop(reply);
        answers.recv_timeout(Duration::from_secs(60)).expect("an answer within a minute").1
    }

    pub(crate) fn read(&self, at: u64, length: usize) -> Result<Vec<u8>, RequestError> {
        self.ask(Operation::Read, (at, length as u64), &[])
    }

    pub(crate) fn write(&self, at: u64, bytes: &[u8]) -> Result<(), RequestError> {
        self.ask(Operation::Write { durable: false }, (at, bytes.len() as u64), bytes).map(drop)
    }

    pub(crate) fn flush(&self) -> Result<(), RequestError> {
        self.ask(Operation::Flush, (0, 0), &[]).map(drop)
    }

    pub(crate) fn kill(&self) {
        self.send(Message::Kill);
    }
}

impl Double {
    fn start(&mut self, job: Job, port: &mut Port<'_>) {
        let payload = matches!(job.operation, Operation::Read | Operation::Write { .. });
        let buffer = if payload {
            let Some(buffer) = port.reserve(Bytes::new(job.length)) else {
                self.starved.push_back(job);
                return;
            };
            port.bytes_mut(buffer)[..job.payload.len()].copy_from_slice(&job.payload);
            Some(buffer)
        } else {
            None
        };
        if let Some(watch) = &self.watch {
            watch.begins(job.tag);
        }
        let reads = if job.operation == Operation::Read { job.length as usize } else { 0 };
        self.in_flight.insert(self.next, Pending { reply: job.reply, tag: job.tag, buffer, reads });
        let at = Sector::from_bytes(job.at).expect("whole sectors");
        let length = Sectors::from_bytes(Bytes::new(job.length)).expect("whole sectors");
        port.submit(0, self.next, job.operation, at, length, buffer);
        self.next += 1;
    }
}

impl Frontend for Double {
    fn wait_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }

    fn poll(&mut self, _now: Duration, port: &mut Port<'_>) -> io::Result<()> {
        let _ = rustix::io::read(&*self.event, &mut [0; 8]);
        while let Ok(message) = self.jobs.try_recv() {
            match message {
                Message::Job(_) if self.closed => {}
                Message::Job(job) => self.start(job, port),
                Message::Kill => return Err(io::Error::other("killed")),
            }
        }
        Ok(())
    }

    fn complete(&mut self, tag: u64, result: Result<(), RequestError>, port: &mut Port<'_>) {
        let pending = self.in_flight.remove(&tag).expect("answered once");
        let answer = result.map(|()| match pending.buffer {
            Some(buffer) => port.bytes(buffer)[..pending.reads].to_vec(),
            None => Vec::new(),
        });
        if let Some(buffer) = pending.buffer {
            port.release(buffer);
        }
        if let Some(watch) = &self.watch {
            watch.ends(pending.tag, &answer);
        }
        // After a failed test the receiver may be gone.
        let _ = pending.reply.send((pending.tag, answer));
    }

    fn flush(&mut self, port: &mut Port<'_>) {
        for _ in 0..self.starved.len() {
            if let Some(job) = self.starved.pop_front() {
                self.start(job, port);
            }
        }
    }

    fn deadline(&self) -> Option<Duration> {
        None
    }

    fn close(&mut self, _port: &mut Port<'_>) {
        self.closed = true;
        self.starved.clear();
    }

    fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }
}
