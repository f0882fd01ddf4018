//! The content of sectors. The 512 bytes of a sector are a function of the write and the sector
//! number, so the bytes identify their write, and no mixture of two writes is mistaken for either.

use std::cell::Cell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use parlour_codec::galois::multiply_into;
use parlour_codec::sector::SectorKey;
use parlour_codec::xor::{is_zero, xor_into};

use crate::random::mix;

pub(crate) const SECTOR: usize = 512;

/// Identifies the content of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Value(u64);

const FIRST_WRITE: u64 = 256;
const STRANGE: u64 = 1 << 63;

impl Value {
    /// Any content: nothing is promised of the sector.
    pub(crate) const ANY: Value = Value(u64::MAX);
    pub(crate) const ZERO: Value = Value::fill(0);

    /// One byte repeated.
    pub(crate) const fn fill(byte: u8) -> Value {
        Value(byte as u64)
    }

    /// The content of write `number`.
    pub(crate) const fn written(number: u64) -> Value {
        Value(FIRST_WRITE + number)
    }

    /// Fills `bytes` with the value's content for `sector`.
    pub(crate) fn put(self, sector: u64, bytes: &mut [u8]) {
        if self.0 < FIRST_WRITE {
            bytes.fill(self.0 as u8);
            return;
        }
        let (head, rest) = bytes.split_at_mut(16);
        head[..8].copy_from_slice(&self.0.to_le_bytes());
        head[8..].copy_from_slice(&sector.to_le_bytes());
        for (chunk, word) in rest.chunks_exact_mut(8).zip(stream(self.0, sector)) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// The value whose content `bytes` are, in `sector`.
    pub(crate) fn of(sector: u64, bytes: &[u8]) -> Value {
        let word = |index: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[index * 8..index * 8 + 8]);
            u64::from_le_bytes(word)
        };
        let number = word(0);
        if (FIRST_WRITE..STRANGE).contains(&number) && word(1) == sector {
            let words = bytes[16..].chunks_exact(8).zip(stream(number, sector));
            let differ = words.fold(0, |differ, (chunk, word)| {
                differ | (word ^ u64::from_le_bytes(chunk.try_into().expect("eight bytes")))
            });
            if differ == 0 {
                return Value(number);
            }
        }
        if is_zero(bytes) {
            return Value::ZERO;
        }
        if bytes[1..] == bytes[..bytes.len() - 1] {
            return Value::fill(bytes[0]);
        }
        let hash = bytes.chunks_exact(8).enumerate().fold(0, |hash, (index, _)| mix(hash ^ word(index)));
        // This is never ANY, whose bits are all set.
        Value((hash | STRANGE) & !1)
    }
}

/// The words after the first two of a sector. Words of different streams differ in about every
/// second bit, and each word is computed without the previous one.
fn stream(number: u64, sector: u64) -> impl Iterator<Item = u64> {
    let first = mix(number ^ mix(sector));
    (1..).map(move |index: u64| {
        let word = (first ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd134_2543_de82_ef95);
        word ^ word >> 32
    })
}

/// The bytes of a sector. They never change: buffers and members share them without copying, and
/// their value and checksum are computed only once.
#[derive(Clone)]
pub(crate) struct SectorBytes(Rc<Bytes>);

struct Bytes {
    bytes: [u8; SECTOR],
    whose: Cell<Whose>,
    /// Their checksum, and the name of its key.
    sum: Cell<Option<(u64, u64)>>,
}

/// The value of the bytes.
#[derive(Clone, Copy)]
enum Whose {
    Unknown,
    /// The bytes have this value in every sector.
    Everywhere(Value),
    /// The bytes have this value in this sector.
    In(u64, Value),
}

impl SectorBytes {
    pub(crate) fn new(bytes: &[u8; SECTOR]) -> SectorBytes {
        SectorBytes::filled_by(Whose::Unknown, |new| *new = *bytes)
    }

    /// One byte repeated.
    pub(crate) fn filled(byte: u8) -> SectorBytes {
        SectorBytes::filled_by(Whose::Everywhere(Value::fill(byte)), |new| new.fill(byte))
    }

    /// The content of `value` in `sector`.
    pub(crate) fn written(value: Value, sector: u64) -> SectorBytes {
        SectorBytes::filled_by(Whose::In(sector, value), |new| value.put(sector, new))
    }

    /// The XOR of two sectors and of `others`.
    pub(crate) fn sum<'a>(
        first: &SectorBytes,
        second: &SectorBytes,
        others: impl Iterator<Item = &'a SectorBytes>,
    ) -> SectorBytes {
        SectorBytes::filled_by(Whose::Unknown, |new| {
            *new = *first.bytes();
            xor_into(new, second.bytes());
            others.for_each(|other| xor_into(new, other.bytes()));
        })
    }

    /// This sector, and each of `others` times `coefficient`.
    pub(crate) fn plus<'a>(
        &self,
        others: impl Iterator<Item = &'a SectorBytes>,
        coefficient: u8,
    ) -> SectorBytes {
        SectorBytes::filled_by(Whose::Unknown, |new| {
            *new = *self.bytes();
            others.for_each(|other| multiply_into(new, other.bytes(), coefficient));
        })
    }

    /// The same bytes with one bit flipped, which `number` selects.
    pub(crate) fn with_flipped_bit(&self, number: u64) -> SectorBytes {
        SectorBytes::filled_by(Whose::Unknown, |new| {
            *new = *self.bytes();
            new[(number >> 16) as usize % SECTOR] ^= 1 << (number % 8);
        })
    }

    fn filled_by(whose: Whose, fill: impl FnOnce(&mut [u8; SECTOR])) -> SectorBytes {
        let mut bytes = [0; SECTOR];
        fill(&mut bytes);
        SectorBytes(Rc::new(Bytes { bytes, whose: Cell::new(whose), sum: Cell::new(None) }))
    }

    /// Splits `bytes` into sectors.
    pub(crate) fn of(bytes: &[u8]) -> impl Iterator<Item = SectorBytes> {
        let (sectors, rest) = bytes.as_chunks();
        assert!(rest.is_empty(), "members hold whole sectors");
        sectors.iter().map(SectorBytes::new)
    }

    pub(crate) fn bytes(&self) -> &[u8; SECTOR] {
        &self.0.bytes
    }

    /// The value of the bytes in `sector`.
    pub(crate) fn whose(&self, sector: u64) -> Value {
        match self.0.whose.get() {
            Whose::Everywhere(value) => return value,
            Whose::In(known, value) if known == sector => return value,
            _ => {}
        }
        let value = Value::of(sector, self.bytes());
        let uniform = value.0 < FIRST_WRITE;
        self.0.whose.set(if uniform { Whose::Everywhere(value) } else { Whose::In(sector, value) });
        value
    }

    /// Their checksum under `key`, which has a unique name.
    pub(crate) fn checksum(&self, (name, key): (u64, &SectorKey)) -> u64 {
        if let Some((_, sum)) = self.0.sum.get().filter(|(known, _)| *known == name) {
            return sum;
        }
        let sum = key.checksum(self.bytes());
        self.0.sum.set(Some((name, sum)));
        sum
    }
}

impl PartialEq for SectorBytes {
    fn eq(&self, other: &SectorBytes) -> bool {
        Rc::ptr_eq(&self.0, &other.0) || self.bytes() == other.bytes()
    }
}

impl Hash for SectorBytes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // The same hash as a slice's, which begins with the length.
        self.bytes()[..].hash(state);
    }
}

impl fmt::Debug for SectorBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}…", &self.bytes()[..16])
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Value::ANY => write!(f, "anything"),
            Value::ZERO => write!(f, "zeroes"),
            Value(byte) if byte < FIRST_WRITE => write!(f, "bytes {byte:#04x}"),
            Value(strange) if strange >= STRANGE => write!(f, "content that nobody wrote here"),
            Value(number) => write!(f, "write {}", number - FIRST_WRITE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sector_says_whose_it_is_and_a_mixture_is_nobodys() {
        let sector = |value: Value, at| {
            let mut bytes = [0; SECTOR];
            value.put(at, &mut bytes);
            bytes
        };
        for value in [Value::ZERO, Value::fill(7), Value::written(0), Value::written(1_000)] {
            assert_eq!(Value::of(9, &sector(value, 9)), value);
        }
        let (a, b) = (sector(Value::written(1), 9), sector(Value::written(2), 9));
        let mut mixed = a;
        parlour_codec::xor::xor_into(&mut mixed, &b);
        assert!(Value::of(9, &mixed) >= Value(STRANGE));
        mixed = a;
        mixed[256..].copy_from_slice(&b[256..]);
        assert!(Value::of(9, &mixed) >= Value(STRANGE));
        assert!(Value::of(8, &a) >= Value(STRANGE), "a sector in another's place");
    }

    #[test]
    fn shared_bytes_say_in_each_sector_whose_they_are() {
        let bytes = SectorBytes::written(Value::written(1), 9);
        assert_eq!(bytes.whose(9), Value::written(1));
        assert!(bytes.whose(8) >= Value(STRANGE), "a sector in another's place");
        assert_eq!(bytes.whose(9), Value::written(1));
        let copy = SectorBytes::new(bytes.bytes());
        assert!(copy == bytes && copy.whose(9) == Value::written(1));
        assert_eq!(SectorBytes::filled(0).whose(9), Value::ZERO);
        assert_eq!(SectorBytes::new(&[7; SECTOR]).whose(9), Value::fill(7));
        let sum = SectorBytes::sum(&bytes, &copy, [SectorBytes::filled(3)].iter());
        assert_eq!([9, 10].map(|sector| sum.whose(sector)), [Value::fill(3); 2]);
    }

    #[test]
    fn a_checksum_is_found_out_once_for_each_key() {
        let [one, other] = [1, 2].map(|byte| SectorKey::new([byte; 16]));
        let bytes = SectorBytes::new(&[5; SECTOR]);
        for _ in 0..2 {
            assert_eq!(bytes.checksum((1, &one)), one.checksum(&[5; SECTOR]));
            assert_eq!(bytes.checksum((2, &other)), other.checksum(&[5; SECTOR]));
        }
    }
}
