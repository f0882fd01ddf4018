//! The buffers of hosts' requests.

use std::collections::BTreeMap;

use parlour_array::{Array, BufferId, Operation};
use parlour_units::Sectors;

use crate::content::{SectorBytes, Value};
use crate::payload::Payload;
use crate::violation::Violation;

/// By tag: the buffers of requests, and whether they are read into.
#[derive(Debug, Default)]
pub(super) struct Buffers(BTreeMap<u64, (BufferId, bool)>);

impl Buffers {
    /// Reserves a buffer for the payload of request `tag`. Returns false if there is no memory for
    /// it.
    pub(super) fn reserve(&mut self, array: &mut Array, tag: u64, operation: Operation, length: u64) -> bool {
        let reads = operation == Operation::Read;
        if !reads && !matches!(operation, Operation::Write { .. }) {
            return true;
        }
        let buffer = array.reserve(Sectors::new(length));
        self.0.extend(buffer.map(|buffer| (tag, (buffer, reads))));
        buffer.is_some()
    }

    /// The buffer of a request for sectors from `at` on. If it is a write, the buffer gets the
    /// content of `value`.
    pub(super) fn fill(
        &mut self,
        array: &Array,
        payload: &mut Payload,
        tag: u64,
        at: u64,
        value: Value,
    ) -> Option<BufferId> {
        let (buffer, reads) = *self.0.get(&tag)?;
        if !reads {
            for (sector, memory) in (at..).zip(payload.buffer(array, buffer)) {
                *memory = SectorBytes::written(value, sector);
            }
        }
        Some(buffer)
    }

    /// The request is answered, and the host needs its buffer no more. Returns what was read, if it
    /// is a read that is `done`.
    pub(super) fn take(
        &mut self,
        array: &mut Array,
        payload: &mut Payload,
        tag: u64,
        done: bool,
    ) -> Result<Vec<SectorBytes>, Violation> {
        let Some((buffer, reads)) = self.0.remove(&tag) else { return Ok(Vec::new()) };
        array.release(buffer);
        if !reads || !done {
            return Ok(Vec::new());
        }
        // The array releases the buffer, unless it needs it for a repair.
        while let Some(released) = array.poll_release() {
            if released == buffer {
                return payload.take(buffer);
            }
            payload.release(released)?;
        }
        Ok(payload.buffer(array, buffer).clone())
    }
}
