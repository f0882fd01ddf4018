//! What blkparse prints, in its default format: requests as they were queued (`Q`).

use parlour_units::{Sector, Sectors};

use super::{Line, Recorded, What, number, time};

pub(super) fn line(text: &str) -> Result<Line, String> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    // After the requests come sums.
    if text.starts_with("CPU") || text.starts_with("Total") {
        return Ok(Line::End);
    }
    let [device, _cpu, _sequence, at, _process, action, kind, rest @ ..] = &fields[..] else {
        return Err(format!("{} fields instead of 7 at least", fields.len()));
    };
    let device = device_number(device)?;
    if *action != "Q" {
        return Ok(Line::Nothing);
    }
    let at = Some(time(at, 1e9)?);
    let area = || match rest {
        [sector, "+", count, ..] => {
            Ok((Sector::new(number(sector, "sector")?), Sectors::new(number(count, "count")?)))
        }
        _ => Err("a queued request says `SECTOR + COUNT`".to_owned()),
    };
    let what = match kind {
        kind if kind.starts_with('F') && area().is_ok_and(|(_, length)| !length.is_zero()) => {
            let (sector, length) = area()?;
            What::Write(sector, length)
        }
        kind if kind.starts_with('F') => What::Flush,
        kind if kind.contains('D') => area().map(|(sector, length)| What::Trim(sector, length))?,
        kind if kind.contains('R') => area().map(|(sector, length)| What::Read(sector, length))?,
        kind if kind.contains('W') => area().map(|(sector, length)| What::Write(sector, length))?,
        // Notes of programs.
        _ => return Ok(Line::Nothing),
    };
    Ok(Line::Request(Recorded { at, device, what }))
}

/// `8,16` as the kernel numbers it.
fn device_number(text: &str) -> Result<u32, String> {
    let (major, minor) = text.split_once(',').ok_or_else(|| format!("'{text}' is no device"))?;
    let (major, minor): (u32, u32) = (number(major, "device")?, number(minor, "device")?);
    Ok(major << 20 | minor)
}
