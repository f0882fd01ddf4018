//! The format of the MSR Cambridge traces: time (100 ns), host, disk, type, offset, bytes, response time.

use parlour_units::Duration;

use super::{Line, Recorded, What, number, sectors};

/// Times count from the year 1601; what comes before this (2006) does not.
const EPOCH: u64 = 127_805_472_000_000_000;

pub(super) fn line(text: &str) -> Result<Line, String> {
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    let [at, _host, disk, kind, offset, bytes, _response] = fields[..] else {
        return Err(format!("{} fields instead of 7", fields.len()));
    };
    if at == "Timestamp" {
        return Ok(Line::Nothing);
    }
    let at: u64 = number(at, "time")?;
    let (first, length) = sectors(number(offset, "offset")?, number(bytes, "size")?)?;
    let what = match kind {
        "Read" => What::Read(first, length),
        "Write" => What::Write(first, length),
        other => return Err(format!("'{other}' is neither Read nor Write")),
    };
    let since = at.saturating_sub(EPOCH);
    let since = since.checked_mul(100).ok_or_else(|| format!("{at} is too late"))?;
    let at = Some(Duration::from_nanoseconds(since));
    Ok(Line::Request(Recorded { at, device: number(disk, "disk")?, what }))
}
