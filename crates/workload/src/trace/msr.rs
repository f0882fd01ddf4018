//! The format of the MSR Cambridge traces: time (100 ns), host, disk, type, offset, bytes, response
//! time.

use parlour_units::Duration;

use super::line::{Line, Recorded, What, fields, number, sectors};

pub(super) fn line(text: &str) -> Result<Line, String> {
    let [at, _host, disk, kind, offset, bytes, _response] = fields(text.split(','))?;
    if at == "Timestamp" {
        return Ok(Line::Nothing);
    }
    // Times count from the year 1601; in nanoseconds they fit until 2185.
    let at: u64 = number(at, "time")?;
    let at = at.checked_mul(100).ok_or_else(|| format!("{at} is too late"))?;
    let (first, length) = sectors(number(offset, "offset")?, number(bytes, "size")?)?;
    let what = match kind {
        "Read" => What::Read(first, length),
        "Write" => What::Write(first, length),
        other => return Err(format!("'{other}' is neither Read nor Write")),
    };
    let at = Some(Duration::from_nanoseconds(at));
    Ok(Line::Request(Recorded { at, device: number(disk, "disk")?, what }))
}
