//! DiskSim's ASCII format: milliseconds, device, first block, blocks, flags (1: read).

use parlour_units::{Sector, Sectors};

use super::{Recorded, What, number, time};

pub(super) fn line(text: &str) -> Result<Recorded, String> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [at, device, block, blocks, flags] = fields[..] else {
        return Err(format!("{} fields instead of 5", fields.len()));
    };
    let (block, blocks) = (Sector::new(number(block, "block")?), Sectors::new(number(blocks, "count")?));
    let flags = u64::from_str_radix(flags.trim_start_matches("0x"), 16);
    let reads = flags.map_err(|_| "the flags are no hexadecimal number".to_owned())? & 1 == 1;
    let what = if reads { What::Read(block, blocks) } else { What::Write(block, blocks) };
    Ok(Recorded { at: Some(time(at, 1e6)?), device: number(device, "device")?, what })
}
