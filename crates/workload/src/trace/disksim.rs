//! DiskSim's ASCII format: milliseconds, device, first block, blocks, flags (1: read).

use parlour_units::{Sector, Sectors};

use super::line::{Recorded, What, fields, number, time};

pub(super) fn line(text: &str) -> Result<Recorded, String> {
    let [at, device, block, blocks, flags] = fields(text.split_whitespace())?;
    let (block, blocks) = (Sector::new(number(block, "block")?), Sectors::new(number(blocks, "count")?));
    let flags = u64::from_str_radix(flags.trim_start_matches("0x"), 16);
    let reads = flags.map_err(|_| "the flags are no hexadecimal number".to_owned())? & 1 == 1;
    let what = if reads { What::Read(block, blocks) } else { What::Write(block, blocks) };
    Ok(Recorded { at: Some(time(at, 1e6)?), device: number(device, "device")?, what })
}
