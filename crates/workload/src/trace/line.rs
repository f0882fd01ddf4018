//! The content of a line of a trace, and fields that several formats have.

use parlour_units::{Duration, Sector, Sectors};

/// A recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The recorded time, from the trace's own beginning; none if the trace has no times.
    pub at: Option<Duration>,
    /// The device's number in the trace.
    pub device: u32,
    /// The operation.
    pub what: What,
}

/// The operation of a recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A read.
    Read(Sector, Sectors),
    /// A write.
    Write(Sector, Sectors),
    /// A trim.
    Trim(Sector, Sectors),
    /// A flush.
    Flush,
}

/// The kind of a line.
pub(super) enum Line {
    Request(Recorded),
    /// A comment, or a line without a request.
    Nothing,
    /// The following lines are a summary.
    End,
}

/// Takes the first `N` fields; more fields are ignored.
pub(super) fn fields<'a, const N: usize>(
    mut all: impl Iterator<Item = &'a str>,
) -> Result<[&'a str; N], String> {
    let mut fields = [""; N];
    for (count, field) in fields.iter_mut().enumerate() {
        *field = all.next().map(str::trim).ok_or_else(|| format!("{count} fields instead of {N}"))?;
    }
    Ok(fields)
}

/// A whole number.
pub(super) fn number<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| format!("'{}' is no {what}", text.trim()))
}

/// A time in units of `unit` nanoseconds.
pub(super) fn time(text: &str, unit: f64) -> Result<Duration, String> {
    let value: f64 = number(text, "time")?;
    let nanoseconds = (value * unit).round();
    match (0.0..9e18).contains(&nanoseconds) {
        true => Ok(Duration::from_nanoseconds(nanoseconds as u64)),
        false => Err(format!("'{}' is no time", text.trim())),
    }
}

/// Bytes as sectors, extended to whole sectors.
pub(super) fn sectors(offset: u64, bytes: u64) -> Result<(Sector, Sectors), String> {
    let end =
        offset.checked_add(bytes).ok_or_else(|| format!("{bytes} bytes at {offset} are too far away"))?;
    let first = offset / 512;
    Ok((Sector::new(first), Sectors::new(end.div_ceil(512) - first)))
}
