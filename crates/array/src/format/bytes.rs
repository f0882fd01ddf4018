//! Little-endian fields at fixed places. Superblock, write-intent bitmap and log headers are made
//! of these.

/// Writes fields one after another into a block of fixed length.
pub(crate) struct Writer {
    bytes: Vec<u8>,
    at: usize,
}

impl Writer {
    /// A zeroed block of `length` bytes.
    pub(crate) fn new(length: usize) -> Writer {
        Writer { bytes: vec![0; length], at: 0 }
    }

    /// Continues at byte `at`.
    pub(crate) fn seek(&mut self, at: usize) -> &mut Writer {
        self.at = at;
        self
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Writer {
        self.bytes[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
        self
    }

    pub(crate) fn u8(&mut self, value: u8) -> &mut Writer {
        self.bytes(&[value])
    }

    pub(crate) fn u16(&mut self, value: u16) -> &mut Writer {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Writer {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut Writer {
        self.bytes(&value.to_le_bytes())
    }

    /// Puts the checksum of the whole block, with zero in the checksum's own place, at byte `at`.
    pub(crate) fn sealed(mut self, at: usize) -> Vec<u8> {
        let checksum = parlour_codec::checksum::crc32c(&self.bytes);
        self.seek(at).u32(checksum);
        self.bytes
    }
}

/// Whether the checksum at byte `at` fits the block.
pub(crate) fn seal_holds(block: &[u8], at: usize) -> bool {
    let Some(stored) = block.get(at..at + 4) else { return false };
    let mut copy = block.to_vec();
    copy[at..at + 4].fill(0);
    parlour_codec::checksum::crc32c(&copy).to_le_bytes() == stored
}

/// Reads fields one after another. Fields past the end are zero, and no valid structure has zeroes
/// there.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }

    pub(crate) fn seek(&mut self, at: usize) -> &mut Reader<'a> {
        self.at = at;
        self
    }

    pub(crate) fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut field = [0; N];
        if let Some(bytes) = self.bytes.get(self.at..self.at + N) {
            field.copy_from_slice(bytes);
        }
        self.at += N;
        field
    }

    pub(crate) fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }
}
