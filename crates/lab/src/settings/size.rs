//! Sizes on the command line and in configuration files: `64KiB`, or a number of bytes.

use std::fmt;
use std::str::FromStr;

use parlour_units::{Bytes, ParseBytesError, SECTOR_BYTES, Sectors};
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A size that is a whole number of sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(Sectors);

/// Why a text is not a size.
#[derive(Debug, thiserror::Error)]
pub enum SizeError {
    /// It is not a number of bytes.
    #[error(transparent)]
    Parse(#[from] ParseBytesError),
    /// It is not a whole number of sectors.
    #[error("{0} bytes are no multiple of {SECTOR_BYTES} bytes")]
    NotSectors(u64),
}

impl Size {
    /// The size in sectors.
    pub fn sectors(self) -> Sectors {
        self.0
    }

    /// The size in bytes.
    pub fn bytes(self) -> Bytes {
        self.0.bytes()
    }
}

impl From<Sectors> for Size {
    fn from(sectors: Sectors) -> Size {
        Size(sectors)
    }
}

impl TryFrom<Bytes> for Size {
    type Error = SizeError;

    fn try_from(bytes: Bytes) -> Result<Size, SizeError> {
        Sectors::from_bytes(bytes).map(Size).ok_or(SizeError::NotSectors(bytes.get()))
    }
}

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Size, SizeError> {
        text.parse::<Bytes>()?.try_into()
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        deserializer.deserialize_any(SizeVisitor)
    }
}

struct SizeVisitor;

impl Visitor<'_> for SizeVisitor {
    type Value = Size;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size such as \"64KiB\", or a number of bytes")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Size, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, bytes: i64) -> Result<Size, E> {
        let bytes = u64::try_from(bytes).map_err(|_| E::custom("a size is not negative"))?;
        Bytes::new(bytes).try_into().map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, bytes: u64) -> Result<Size, E> {
        Bytes::new(bytes).try_into().map_err(E::custom)
    }
}
