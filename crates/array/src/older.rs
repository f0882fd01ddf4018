//! Finds members whose own metadata is older than the others': copies that were taken earlier, or
//! members that lost writes which they had reported as durable (G5). Their data is not believed.
//!
//! A write of the bitmap, the table or the bad-block log begins only when the write before is
//! durable on all members. So a member that was always there holds at least the version before the
//! newest, and at least the version that a superblock calls durable on all members. If a member's
//! banks cannot be read, or are torn, its age is not known.

use crate::assembly::Assembly;
use crate::format::bad_block_log::BadBlockLog;
use crate::format::banks::Banks;
use crate::format::bitmap::{StoredBitmap, decode_table};
use crate::format::superblock::Recorded;
use crate::identity::Identity;
use parlour_units::Slot;

/// Slots of `assembly` whose members are older than others.
pub(crate) fn older_slots(
    assembly: &Assembly,
    bitmaps: &[Banks],
    tables: &[Banks],
    bad_block_logs: &[Banks],
) -> Vec<u16> {
    let (array, regions) = (assembly.superblock.array, assembly.geometry.layout().region_count());
    let Recorded { map, table, list, .. } = assembly.superblock.recorded;
    let block = assembly.geometry.block();
    // A version with a number from a session that never was is ignored.
    let horizon = assembly.horizon();
    let within = |sequence: &u64| horizon.reaches(*sequence);
    let bitmap_sequence =
        |bytes: &[u8]| Some(StoredBitmap::decode(bytes, array, regions)?.sequence).filter(within);
    let table_sequence = |bytes: &[u8]| Some(decode_table(bytes, array, regions)?.0).filter(within);
    let bad_block_log_sequence =
        |bytes: &[u8]| Some(BadBlockLog::decode(bytes, array, block)?.0).filter(within);
    let mut older = older_of(assembly, bitmaps, map, bitmap_sequence);
    // Where no commit log is kept it is written when the array stops: who came later has it since
    // then.
    if assembly.geometry.is_journaled() || assembly.superblock.clean {
        older.extend(older_of(assembly, tables, table, table_sequence));
    }
    older.extend(older_of(assembly, bad_block_logs, list, bad_block_log_sequence));
    older.sort_unstable();
    older.dedup();
    older
}

/// The slots whose newest bank is older than what all members should hold.
fn older_of(
    assembly: &Assembly,
    banks: &[Banks],
    recorded: u64,
    sequence: impl Fn(&[u8]) -> Option<u64>,
) -> Vec<u16> {
    let slots = assembly.geometry.slots().map(Slot::get);
    let active = slots.filter(|slot| assembly.is_whole(*slot));
    let held: Vec<(u16, [Held; 2])> = active
        .filter_map(|slot| {
            let banks = banks.get(usize::from(slot))?;
            Some((slot, [0, 1].map(|bank| held(banks[bank].as_deref(), &sequence))))
        })
        .collect();
    let banks = held.iter().flat_map(|(_, banks)| banks);
    let sequences: Vec<u64> = banks.filter_map(|one| one.sequence()).collect();
    let newest = sequences.iter().copied().max().unwrap_or(0);
    // The last version of the session before may not have reached all members.
    let in_session = |sequence: &u64| *sequence < newest && sequence >> 32 == newest >> 32;
    let before = sequences.iter().copied().filter(in_session).max().unwrap_or(0);
    let least = before.max(recorded.min(newest));
    let is_older = |banks: &[Held; 2]| {
        let own = banks.iter().map(|one| one.sequence());
        own.collect::<Option<Vec<u64>>>().is_some_and(|own| own.iter().all(|sequence| *sequence < least))
    };
    held.iter().filter(|(_, banks)| is_older(banks)).map(|(slot, _)| *slot).collect()
}

/// The sequence number of the newest bitmap in a member's banks; `None` if a bank cannot be read or
/// is torn.
pub(crate) fn newest_bitmap(banks: &Banks, array: Identity, regions: u32) -> Option<u64> {
    let sequence = |bytes: &[u8]| Some(StoredBitmap::decode(bytes, array, regions)?.sequence);
    let [first, second] = [0, 1].map(|bank| held(banks[bank].as_deref(), sequence).sequence());
    Some(first?.max(second?))
}

/// The content of a bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// It cannot be read, or is torn.
    Unknown,
    /// The version with this number; 0 if none was ever written.
    Sequence(u64),
}

impl Held {
    fn sequence(self) -> Option<u64> {
        match self {
            Held::Unknown => None,
            Held::Sequence(sequence) => Some(sequence),
        }
    }
}

fn held(bytes: Option<&[u8]>, sequence: impl Fn(&[u8]) -> Option<u64>) -> Held {
    match bytes {
        Some(bytes) if bytes.iter().all(|byte| *byte == 0) => Held::Sequence(0),
        Some(bytes) => sequence(bytes).map_or(Held::Unknown, Held::Sequence),
        None => Held::Unknown,
    }
}
