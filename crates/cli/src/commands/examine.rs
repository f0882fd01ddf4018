//! `parlour examine`: shows a member's metadata.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::Args;
use parlour_array::{Geometry, SegmentSummary};
use parlour_engine::{BadBlockLogSummary, BitmapSummary, Examination, SuperblockSummary};
use parlour_units::Bytes;

use crate::console::{Columns, Console};
use crate::failure::Failure;
use crate::settings::describe;

/// Show the metadata of a member: superblocks, write-intent bitmaps, bad-block logs and logs
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// A file or block device
    member: PathBuf,
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let examination = parlour_engine::examine(&options.member)?;
    console.answer(&examination, || text(&examination))?;
    Ok(())
}

fn text(examination: &Examination) -> String {
    let Examination { path, length, block, .. } = examination;
    let mut text = format!("{}: {length} in blocks of {block}\n\n", path.display());
    for (which, superblock) in ["First", "Second"].iter().zip(&examination.superblocks) {
        text += &superblock_text(which, superblock);
    }
    let sound = examination.superblocks.iter().filter(|superblock| superblock.error.is_none());
    if let Some(newest) = sound.max_by_key(|superblock| superblock.sequence) {
        text += &format!("\n{}\n{}", array_text(examination, newest), table(newest));
    }
    if !examination.bitmaps.is_empty() {
        text += "\n";
        examination.bitmaps.iter().for_each(|map| text += &map_text(map));
    }
    examination.bad_block_logs.iter().for_each(|list| text += &list_text(list));
    if !examination.log.is_empty() {
        text += &log_text(examination);
    }
    text
}

/// A bad-block log.
fn list_text(list: &BadBlockLogSummary) -> String {
    const SHOWN: usize = 8;
    let block = |(place, at): &(u16, u64)| format!("member {place} at byte {at}");
    let told = |blocks: &[(u16, u64)], what: &str| {
        let shown: Vec<String> = blocks.iter().take(SHOWN).map(block).collect();
        let more = if blocks.len() > SHOWN { ", …" } else { "" };
        (!blocks.is_empty()).then(|| format!("{} {what} blocks: {}{more}", blocks.len(), shown.join(", ")))
    };
    let told = [told(&list.blocks, "unreadable"), told(&list.lost, "lost")];
    let told: Vec<String> = told.into_iter().flatten().collect();
    let blocks = if told.is_empty() { "empty".to_owned() } else { told.join("; ") };
    format!("Bad-block log at byte {}: sequence {}, {blocks}\n", list.at, list.sequence)
}

/// The log segments on the member, one line per region.
fn log_text(examination: &Examination) -> String {
    let mut columns =
        Columns::new(["Region", "Segments", "Updates", "Overwrites", "Cancels", "Records"]).right(0..5);
    for region in examination.log.chunk_by(|a, b| a.region == b.region) {
        let sum = |count: fn(&SegmentSummary) -> u32| region.iter().map(count).sum::<u32>().to_string();
        let first = region.iter().map(|segment| segment.first).min().unwrap_or(0);
        let last = region.iter().map(|segment| segment.last).max().unwrap_or(0);
        columns.row([
            region[0].region.to_string(),
            region.len().to_string(),
            sum(|segment| segment.updates),
            sum(|segment| segment.overwrites),
            sum(|segment| segment.cancels),
            format!("{first} to {last}"),
        ]);
    }
    format!("\nLog segments in dirty regions (some may be in the parity already):\n{}", columns.text())
}

fn superblock_text(which: &str, superblock: &SuperblockSummary) -> String {
    let at = superblock.at.map_or("nowhere".to_owned(), |at| format!("at byte {at}"));
    match &superblock.error {
        Some(error) => format!("{which} superblock {at}: {error}\n"),
        None => format!(
            "{which} superblock {at}: sound, sequence {}, session {}, {}\n",
            superblock.sequence,
            superblock.session_number,
            if superblock.clean { "shut down cleanly" } else { "in use, or not shut down cleanly" }
        ),
    }
}

fn array_text(examination: &Examination, newest: &SuperblockSummary) -> String {
    let geometry = Geometry::from_stored(examination.geometry);
    let sectors = |count: u64| Bytes::new(count * 512);
    let mut text = String::new();
    let mut line = |label: &str, value: String| text += &format!("{label:>12}: {value}\n");
    line("array", format!("{} ({})", newest.name, newest.array));
    line("created", date(newest.created));
    line("layout", describe(&examination.geometry));
    line("members", format!("{} in {} group(s)", geometry.members(), geometry.layout().groups()));
    line("stripe unit", geometry.layout().unit_length().to_string());
    line("block", geometry.block().to_string());
    line("for data", examination.capacity.to_string());
    line(
        "data area",
        format!(
            "from byte {}, {}",
            geometry.data_start().bytes(),
            sectors(examination.geometry.layout.length)
        ),
    );
    if let Some(shape) = geometry.layout().logs().map(|logs| logs.shape()) {
        line("regions", format!("{} of {} stripes", geometry.layout().region_count(), shape.stripes));
        let sublog = sectors(shape.segment * u64::from(shape.sublog_segments));
        line(
            "log",
            format!("{} sublog(s) of {sublog}, in segments of {}", shape.sublogs, sectors(shape.segment)),
        );
    }
    line("this member", format!("entry {} ({})", newest.entry, newest.member));
    text
}

fn table(newest: &SuperblockSummary) -> String {
    let mut columns = Columns::new(["Entry", "State", "Member"]).right([0]);
    for (index, (member, state)) in newest.table.iter().enumerate() {
        columns.row([index.to_string(), state.clone(), member.clone()]);
    }
    columns.text()
}

fn map_text(map: &BitmapSummary) -> String {
    let out_of_sync = match map.out_of_sync {
        0 => String::new(),
        count => format!(", {count} out of sync with members that may return"),
    };
    format!(
        "Write-intent bitmap at byte {}: sequence {}, {} of {} regions dirty, {} to be resynced{out_of_sync}\n",
        map.at, map.sequence, map.dirty, map.regions, map.resync
    )
}

/// Seconds since 1970 as date and time (UTC).
fn date(seconds: u64) -> String {
    let days = seconds / 86_400;
    let (year, month, day) = civil(days);
    let (hour, minute) = (seconds % 86_400 / 3_600, seconds % 3_600 / 60);
    let age = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
        .map_or(0, |age| age.as_secs() / 86_400);
    let ago = if age == 0 { "today".to_owned() } else { format!("{age} days ago") };
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC ({ago})")
}

/// Converts days since 1970-01-01 to year, month and day of the Gregorian calendar. Years are
/// counted from March, so that a leap day is the last day of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_777), (2026, 11, 20));
    }
}
