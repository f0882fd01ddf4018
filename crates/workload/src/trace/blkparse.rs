//! The format of blkparse's default output. Queued requests (`Q`) are read.

use parlour_units::{Sector, Sectors};

use super::line::{Line, Recorded, What, fields, number, time};

pub(super) fn line(text: &str) -> Result<Line, String> {
    // Sums follow the requests.
    if text.starts_with("CPU") || text.starts_with("Total") {
        return Ok(Line::End);
    }
    let mut words = text.split_whitespace();
    let [device, _cpu, _sequence, at, _process, action, kind] = fields(words.by_ref())?;
    let device = device_number(device)?;
    if action != "Q" {
        return Ok(Line::Nothing);
    }
    let at = Some(time(at, 1e9)?);
    let what = match (words.next(), words.next(), words.next()) {
        (Some(sector), Some("+"), Some(count)) => {
            let (first, length) =
                (Sector::new(number(sector, "sector")?), Sectors::new(number(count, "count")?));
            match kind {
                // A flush comes before written data (kind `FW`), or alone.
                kind if kind.starts_with('F') && length.is_zero() => What::Flush,
                kind if kind.contains('D') => What::Trim(first, length),
                kind if kind.contains('W') => What::Write(first, length),
                kind if kind.contains('R') => What::Read(first, length),
                _ => return Ok(Line::Nothing),
            }
        }
        _ if kind.starts_with('F') => What::Flush,
        // A command passed through to the device, with its bytes; or a request without data.
        (Some(_), Some(bytes), _) if bytes.starts_with(['(', '[']) => return Ok(Line::Nothing),
        _ if kind.starts_with('N') => return Ok(Line::Nothing),
        _ => return Err("a queued request says `SECTOR + COUNT`".to_owned()),
    };
    Ok(Line::Request(Recorded { at, device, what }))
}

/// The kernel's number of a device such as `8,16`.
fn device_number(text: &str) -> Result<u32, String> {
    let (major, minor) = text.split_once(',').ok_or_else(|| format!("'{text}' is no device"))?;
    let (major, minor): (u32, u32) = (number(major, "device")?, number(minor, "device")?);
    Ok(major << 20 | minor)
}
