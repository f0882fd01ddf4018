//! Drives an array by hand: RAID 5 on four members in memory; one member is lost, and all data is
//! read back.
//!
//! The array itself reads and writes nothing. It asks for effects; its driver carries them out and
//! reports the outcomes. This driver is as simple as possible: one effect at a time, in memory,
//! while no time passes.
//!
//! Read `main`, then `request` and `carry_out`. The rest handles bytes and creates the array.
//!
//! `cargo run -p parlour-array --example drive`

use std::collections::BTreeMap;
use std::error::Error;
use std::ops::Range;

use parlour_array::organization::{Consistency, Organization};
use parlour_array::{
    Action, Array, Assembly, Banks, BufferId, Candidate, CommitLogContent, Creation, Effect, Fault, Geometry,
    Identity, LogCreation, MemberInfo, NewArray, Opening, Operation, Outcome, Part, Request,
    SUPERBLOCK_BYTES, Slice, Superblock, Tag, Tuning, create,
};
use parlour_units::{Instant, Sector, Sectors};

const MEMBERS: u16 = 4;
const LENGTH: Sectors = Sectors::new(20_000);
const NOW: Instant = Instant::ZERO;

/// The example.
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let mut driver = Driver::new()?;
    let written = b"What must not be lost. 32 bytes.".repeat(2_000);
    let at = Sector::new(40);
    driver.request(Operation::Write { durable: true }, at, written.clone())?;
    driver.members[1] = None;
    let read = driver.request(Operation::Read, at, vec![0; written.len()])?;
    assert!(read == written, "one member may be lost");
    println!("{} bytes are there after the loss of a member of {MEMBERS}", read.len());
    Ok(())
}

/// An array; the bytes of its members (`None` for a lost member); and the memory of the buffers
/// that the array knows by name only.
struct Driver {
    array: Array,
    members: Vec<Option<Vec<u8>>>,
    buffers: BTreeMap<BufferId, Vec<u8>>,
}

impl Driver {
    /// Submits a request and carries out effects until it is answered. Returns the content of the
    /// request's buffer.
    fn request(
        &mut self,
        operation: Operation,
        at: Sector,
        payload: Vec<u8>,
    ) -> Result<Vec<u8>, Box<dyn Error>> {
        let length = Sectors::new(payload.len() as u64 / 512);
        let buffer = self.array.reserve(length).ok_or("the memory for requests is used up")?;
        self.buffers.insert(buffer, payload);
        self.array.submit(NOW, Request { tag: Tag(0), operation, at, length, buffer: Some(buffer) });
        let completion = loop {
            match self.array.poll_completion() {
                Some(completion) => break completion,
                None => {
                    let effect = self.array.poll_effect().ok_or("the array waits for something else")?;
                    self.carry_out(effect);
                }
            }
        };
        let payload = self.buffers.remove(&buffer).unwrap_or_default();
        self.array.release(buffer);
        completion.result?;
        Ok(payload)
    }

    /// Carries out one effect and reports its outcome.
    fn carry_out(&mut self, effect: Effect) {
        let contents = self.contents(effect);
        let mut none = None;
        let member = effect.action.member().map_or(&mut none, |member| &mut self.members[member.as_usize()]);
        let outcome = match (effect.action, member) {
            (Action::Write { at, .. }, Some(member)) => {
                let bytes = contents.concat();
                member[from(at, bytes.len())].copy_from_slice(&bytes);
                Outcome::Done
            }
            (Action::Read { at, length, .. }, Some(member)) => {
                let bytes = member[from(at, length.bytes().as_usize())].to_vec();
                self.put(effect, &bytes);
                Outcome::Done
            }
            (Action::Flush { .. }, Some(_)) => Outcome::Done,
            // With one check unit all coefficients are 1. The first part is where the result goes;
            // if the sum is added to it, it is a source too.
            (Action::Sum { outputs: 1, adds }, _) => {
                self.put(effect, &xor(&contents[usize::from(!adds)..]));
                Outcome::Done
            }
            (_, None) => Outcome::Failed(Fault::Gone),
            (other, _) => unreachable!("nothing here needs {other:?}"),
        };
        self.array.complete(NOW, effect.id, outcome);
    }

    /// The content of each part of an effect.
    fn contents(&mut self, effect: Effect) -> Vec<Vec<u8>> {
        let parts = self.array.parts(effect.id);
        let content = |part| match part {
            Part::Zeroes(length) => vec![0; length.bytes().as_usize()],
            Part::Metadata(bytes) => bytes.to_vec(),
            Part::Buffer(slice) => memory(&self.array, &mut self.buffers, slice).to_vec(),
        };
        parts.map(content).collect()
    }

    /// Puts bytes into the first parts of an effect, in order. They are in buffers: this array
    /// reads no metadata.
    fn put(&mut self, effect: Effect, mut bytes: &[u8]) {
        for slice in self.array.parts(effect.id).filter_map(Part::buffer) {
            let (part, rest) = bytes.split_at(slice.length.bytes().as_usize().min(bytes.len()));
            memory(&self.array, &mut self.buffers, slice)[..part.len()].copy_from_slice(part);
            bytes = rest;
        }
    }
}

/// The memory of a slice of a buffer. A buffer's name may have been used before for another buffer
/// of another length.
fn memory<'a>(array: &Array, buffers: &'a mut BTreeMap<BufferId, Vec<u8>>, slice: Slice) -> &'a mut [u8] {
    let buffer = buffers.entry(slice.buffer).or_default();
    buffer.resize(array.buffer_length(slice.buffer).bytes().as_usize(), 0);
    &mut buffer[from(Sector::ZERO + slice.start, slice.length.bytes().as_usize())]
}

fn from(at: Sector, length: usize) -> Range<usize> {
    let start = at.bytes() as usize;
    start..start + length
}

fn xor(sources: &[Vec<u8>]) -> Vec<u8> {
    let byte = |at: usize| sources.iter().fold(0, |sum, source| sum ^ source[at]);
    (0..sources[0].len()).map(byte).collect()
}

impl Driver {
    /// Creates an array on new members, and opens it from their content.
    fn new() -> Result<Driver, Box<dyn Error>> {
        let geometry = Geometry::create(&Creation {
            organization: Organization::named("raid5")?.organization,
            checks: 1,
            members: MEMBERS,
            groups: 1,
            width: None,
            domains: None,
            spares: 0,
            unit: Sectors::new(16),
            block: Sectors::new(1),
            member_length: LENGTH,
            log: LogCreation::default(),
            consistency: Consistency::Bitmap,
        })?;
        // A real driver takes random identities.
        let identities = (0..MEMBERS).map(|member| Identity([10 + member as u8; 16]));
        let images = create(
            &geometry,
            &NewArray {
                array: Identity([1; 16]),
                session: Identity([2; 16]),
                members: identities.clone().map(|identity| (identity, LENGTH)).collect(),
                name: "example".into(),
                created: 0,
                zeroed: true,
            },
        );
        let mut members = vec![vec![0; LENGTH.bytes().as_usize()]; images.len()];
        for (member, image) in members.iter_mut().zip(images) {
            for (at, bytes) in image {
                member[from(at, bytes.len())].copy_from_slice(&bytes);
            }
        }

        let candidate = |member: &Vec<u8>| {
            let copies = Geometry::superblocks_at(LENGTH).map(|at| &member[from(at, SUPERBLOCK_BYTES)]);
            let superblock = Superblock::decode_copies(copies[0], copies[1]);
            Candidate { name: "a member".into(), length: LENGTH, superblock }
        };
        // Each member keeps each kind of metadata in two banks.
        let banks = |first: Sector, length: Sectors| -> Vec<Banks> {
            let bank = |member: &Vec<u8>, bank: u64| {
                Some(member[from(first + length * bank, length.bytes().as_usize())].to_vec())
            };
            members.iter().map(|member| [0, 1].map(|number| bank(member, number))).collect()
        };
        let list = geometry.bad_block_log_at(0).ok_or("no room for a bad-block log")?;
        let opening = Opening {
            assembly: Assembly::new(&members.iter().map(candidate).collect::<Vec<_>>())?,
            members: identities
                .map(|identity| Some(MemberInfo { identity, length: LENGTH, unmaps: false }))
                .collect(),
            spares: Vec::new(),
            bitmaps: banks(geometry.bitmap_at(0), geometry.bitmap_length()),
            tables: Vec::new(),
            bad_block_logs: banks(list.0, list.1),
            commits: vec![CommitLogContent::default(); members.len()],
            session: Identity([3; 16]),
            read_only: false,
            force: false,
            tuning: Tuning::default(),
        };
        let array = Array::open(NOW, opening)?;
        Ok(Driver { array, members: members.into_iter().map(Some).collect(), buffers: BTreeMap::new() })
    }
}
