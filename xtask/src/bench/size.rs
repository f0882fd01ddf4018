//! Measures the size of the release program, and which crates contribute to it.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use super::error::BenchError;
use crate::command;
use crate::table::of_numbers;
use crate::workspace::target;

/// The largest allowed size, in bytes.
const BOUND: u64 = 12_000_000;

/// The number of crates in the table.
const NAMED: usize = 20;

/// Measures the program, which has been built already.
pub(super) fn measure() -> Result<(), BenchError> {
    let program = target().join("release/parlour");
    let unreadable = |source| BenchError::Unreadable { path: program.clone(), source };
    let size = fs::metadata(&program).map_err(unreadable)?.len();
    let mut nm = Command::new("nm");
    let symbols = command::read(nm.args(["--print-size", "--demangle", "--defined-only"]).arg(&program))?;
    let symbols = String::from_utf8_lossy(&symbols);
    let crates = by_crate(&symbols);
    let mut rows: Vec<(&str, u64)> = crates.iter().map(|(name, bytes)| (*name, *bytes)).collect();
    rows.sort_by_key(|(name, bytes)| (u64::MAX - bytes, *name));
    let named: u64 = rows.iter().map(|(_, bytes)| bytes).sum();
    let mut table = of_numbers(["code and data of", "bytes"]);
    for (name, bytes) in rows.iter().take(NAMED) {
        table.add_row([(*name).to_owned(), bytes.to_string()]);
    }
    let others: u64 = rows.iter().skip(NAMED).map(|(_, bytes)| bytes).sum();
    table.add_row(["other crates".to_owned(), others.to_string()]);
    table.add_row([
        "what has no name: tables, unwinding, symbols".to_owned(),
        size.saturating_sub(named).to_string(),
    ]);
    table.add_row(["all".to_owned(), size.to_string()]);
    println!("{table}");
    if size > BOUND { Err(BenchError::TooLarge { size, bound: BOUND }) } else { Ok(()) }
}

/// The bytes of each crate. `symbols` is the output of nm: address, size, kind and name of each
/// symbol.
fn by_crate(symbols: &str) -> BTreeMap<&str, u64> {
    let mut crates = BTreeMap::new();
    for symbol in symbols.lines() {
        let mut words = symbol.splitn(4, ' ');
        let (Some(_), Some(size), Some(_), Some(name)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        if let Ok(size) = u64::from_str_radix(size, 16) {
            *crates.entry(crate_of(name)).or_default() += size;
        }
    }
    crates
}

/// The crate of the first path in a symbol's name. For `<a::B as c::D>::e` it is the crate of the
/// type.
fn crate_of(name: &str) -> &str {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let before = name.split_once("::").map_or("", |(before, _)| before);
    let start = before.rfind(|c| !is_part(c)).map_or(0, |last| last + 1);
    if before[start..].is_empty() { "no crate" } else { &before[start..] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_counted_by_crate() {
        let symbols = "0000000000001000 0000000000000010 T parlour_array::array::Array::work\n\
            0000000000001010 0000000000000001 t <parlour_array::hash::Hash as core::hash::Hasher>::write\n\
            0000000000001020 0000000000000002 t <[u8] as core::fmt::Debug>::fmt\n\
            0000000000001030 0000000000000004 r anon.1234.llvm.5678\n\
            0000000000001040 T _start\n";
        let crates = by_crate(symbols);
        assert_eq!(
            crates.into_iter().collect::<Vec<_>>(),
            [("core", 2), ("no crate", 4), ("parlour_array", 17)]
        );
    }
}
