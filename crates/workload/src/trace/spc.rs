//! The Storage Performance Council's format, as UMass publishes it: unit, block, bytes, operation,
//! seconds.

use super::line::{Recorded, What, fields, number, sectors, time};

pub(super) fn line(text: &str) -> Result<Recorded, String> {
    // Fields after the fifth are optional.
    let [unit, block, bytes, operation, at] = fields(text.split(','))?;
    let block: u64 = number(block, "block")?;
    let offset = block.checked_mul(512).ok_or_else(|| format!("block {block} is too far away"))?;
    let (first, length) = sectors(offset, number(bytes, "size")?)?;
    let what = match operation {
        "R" | "r" => What::Read(first, length),
        "W" | "w" => What::Write(first, length),
        other => return Err(format!("'{other}' is neither R nor W")),
    };
    Ok(Recorded { at: Some(time(at, 1e9)?), device: number(unit, "unit")?, what })
}
