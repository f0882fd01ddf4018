//! Finds metadata with a valid checksum and a number of a session that never was.

use parlour_units::Slot;

use crate::assembly::Assembly;
use crate::format::bad_block_log::BadBlockLog;
use crate::format::banks::Banks;
use crate::format::bitmap::{StoredBitmap, decode_table};
use crate::status::Event;

/// Bitmaps, tables and bad-block logs, as read by slot, with numbers of sessions that never were.
pub(crate) fn beyond(
    assembly: &Assembly,
    bitmaps: &[Banks],
    tables: &[Banks],
    bad_block_logs: &[Banks],
) -> Vec<Event> {
    let (array, geometry) = (assembly.superblock.array, &assembly.geometry);
    let regions = geometry.layout().region_count();
    let horizon = assembly.horizon();
    let map = |bytes: &[u8]| {
        StoredBitmap::decode(bytes, array, regions).is_some_and(|map| !horizon.reaches(map.sequence))
    };
    let table = |bytes: &[u8]| {
        let table = decode_table(bytes, array, regions);
        table.is_some_and(|(sequence, table)| !horizon.has_table(sequence, &table))
    };
    let list = |bytes: &[u8]| {
        let list = BadBlockLog::decode(bytes, array, geometry.block());
        list.is_some_and(|(sequence, _)| !horizon.reaches(sequence))
    };
    let found = |what: &'static str, banks: &[Banks], is_beyond: &dyn Fn(&[u8]) -> bool| -> Vec<Event> {
        let slots = banks
            .iter()
            .enumerate()
            .filter(|(_, banks)| banks.iter().flatten().any(|bytes| is_beyond(bytes)));
        slots.map(|(slot, _)| Event::Implausible { slot: Slot::new(slot as u16), what }).collect()
    };
    [
        found("write-intent bitmap", bitmaps, &map),
        found("table of applied records", tables, &table),
        found("bad-block log", bad_block_logs, &list),
    ]
    .concat()
}
