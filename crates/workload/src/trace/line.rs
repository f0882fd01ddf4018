//! What one line of a trace says, and the fields that formats have in common.

use parlour_units::{Duration, Sector, Sectors};

/// A recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// When it came, counted from whatever the trace counts from; none where the trace does not
    /// say.
    pub at: Option<Duration>,
    /// To which device, as the trace numbers them.
    pub device: u32,
    /// What it asked for.
    pub what: What,
}

/// What a recorded request asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A read.
    Read(Sector, Sectors),
    /// A write.
    Write(Sector, Sectors),
    /// Space was given back.
    Trim(Sector, Sectors),
    /// All before was made durable.
    Flush,
}

/// What a line is.
pub(super) enum Line {
    Request(Recorded),
    /// A comment, or something that asks for nothing.
    Nothing,
    /// What follows is a summary.
    End,
}

/// As many fields as there are to be, and the rest.
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

/// A time in units of so many nanoseconds.
pub(super) fn time(text: &str, unit: f64) -> Result<Duration, String> {
    let value: f64 = number(text, "time")?;
    let nanoseconds = (value * unit).round();
    match (0.0..9e18).contains(&nanoseconds) {
        true => Ok(Duration::from_nanoseconds(nanoseconds as u64)),
        false => Err(format!("'{}' is no time", text.trim())),
    }
}

/// Bytes as sectors, rounded outwards to whole ones.
pub(super) fn sectors(offset: u64, bytes: u64) -> Result<(Sector, Sectors), String> {
    let end =
        offset.checked_add(bytes).ok_or_else(|| format!("{bytes} bytes at {offset} are too far away"))?;
    let first = offset / 512;
    Ok((Sector::new(first), Sectors::new(end.div_ceil(512) - first)))
}
