//! Serves a disk in memory over NBD: `memory SIZE_IN_MIB SOCKET_OR_ADDRESS...`, until it is killed.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use parlour_nbd::{
    Backend, BufferHandle, Export, Extent, Features, Limits, Request, RequestToken, Server, Terms,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Credits: the number of buffers that may be in use at a time.
const BUFFERS: usize = 256;
/// The granularity of the reported allocation, in bytes.
const BLOCK: usize = 64 << 10;

/// The disk, its buffers, and the requests that are answered but not yet reported.
struct Memory {
    disk: Vec<u8>,
    buffers: Vec<Vec<u8>>,
    free: Vec<usize>,
    done: Vec<(RequestToken, Request)>,
}

impl Memory {
    fn new(size: usize) -> Self {
        Self {
            disk: vec![0; size],
            buffers: vec![Vec::new(); BUFFERS],
            free: (0..BUFFERS).collect(),
            done: Vec::new(),
        }
    }

    fn range(&mut self, offset: u64, length: u32) -> &mut [u8] {
        &mut self.disk[offset as usize..][..length as usize]
    }

    fn extents(&self, offset: u64, length: u32) -> Vec<Extent> {
        let range = &self.disk[offset as usize..][..length as usize];
        let zero = |block: &[u8]| block.iter().all(|byte| *byte == 0);
        range
            .chunks(BLOCK)
            .map(|block| Extent { length: block.len() as u64, hole: zero(block), zero: zero(block) })
            .collect()
    }
}

impl Backend for Memory {
    fn reserve(&mut self, length: u32) -> Option<BufferHandle> {
        let index = self.free.pop()?;
        if self.buffers[index].len() < length as usize {
            self.buffers[index].resize(length as usize, 0);
        }
        Some(BufferHandle(index as u64))
    }

    fn bytes(&self, buffer: BufferHandle) -> &[u8] {
        &self.buffers[buffer.0 as usize]
    }

    fn bytes_mut(&mut self, buffer: BufferHandle) -> &mut [u8] {
        &mut self.buffers[buffer.0 as usize]
    }

    fn release(&mut self, buffer: BufferHandle) {
        self.free.push(buffer.0 as usize);
    }

    fn submit(&mut self, token: RequestToken, request: Request, buffer: Option<BufferHandle>) {
        match (request, buffer) {
            (Request::Read { offset, length }, Some(buffer)) => {
                let source = &self.disk[offset as usize..][..length as usize];
                self.buffers[buffer.0 as usize][..length as usize].copy_from_slice(source);
            }
            (Request::Write { offset, length, .. }, Some(buffer)) => {
                let target = &mut self.disk[offset as usize..][..length as usize];
                target.copy_from_slice(&self.buffers[buffer.0 as usize][..length as usize]);
            }
            (Request::WriteZeroes { offset, length, .. } | Request::Trim { offset, length, .. }, _) => {
                self.range(offset, length).fill(0);
            }
            _ => {}
        }
        self.done.push((token, request));
    }
}

fn report(server: &mut Server, memory: &mut Memory) {
    let mut done = std::mem::take(&mut memory.done);
    for (token, request) in done.drain(..) {
        match request {
            Request::BlockStatus { offset, length, .. } => {
                let extents = memory.extents(offset, length);
                server.complete_block_status(token, &extents, memory);
            }
            _ => server.complete(token, Ok(()), memory),
        }
    }
    // The vector is kept for the next turn.
    memory.done = done;
}

fn wait(server: &Server, now: Duration) -> Result<(), Box<dyn Error>> {
    let timeout =
        server.deadline().map(|deadline| Timespec::try_from(deadline.saturating_sub(now))).transpose()?;
    match poll(&mut [PollFd::new(server, PollFlags::IN)], timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let size =
        arguments.next().ok_or("usage: memory SIZE_IN_MIB SOCKET_OR_ADDRESS...")?.parse::<usize>()? << 20;
    let export = Export {
        name: "memory".into(),
        description: "a disk in memory".into(),
        size: size as u64,
        read_only: false,
        minimum_block: 1,
        preferred_block: 4096,
        features: Features::ALL,
    };
    let mut server = Server::new(Terms::new(export, Limits::default())?)?;
    for address in arguments {
        match address.parse() {
            Ok(address) => println!("listening on {}", server.listen_tcp(address)?),
            Err(_) => server.listen_unix(Path::new(&address))?,
        }
    }
    let mut memory = Memory::new(size);
    let start = Instant::now();
    loop {
        wait(&server, start.elapsed())?;
        server.poll(start.elapsed(), &mut memory)?;
        report(&mut server, &mut memory);
        server.flush_replies(&mut memory);
        // Released buffers let waiting connections continue, and their requests may complete at
        // once.
        server.resume(&mut memory);
        while !memory.done.is_empty() {
            report(&mut server, &mut memory);
            server.flush_replies(&mut memory);
            server.resume(&mut memory);
        }
    }
}
