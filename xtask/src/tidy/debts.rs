//! The known violations of house rules, which are allowed until they are fixed. Entries may only be
//! removed from these lists.

/// The files of a cycle that is still allowed.
pub(super) struct Circle {
    /// Their directory.
    pub(super) folder: &'static str,
    pub(super) files: &'static [&'static str],
}

/// The path of this file.
pub(super) const PATH: &str = "xtask/src/tidy/debts.rs";

/// The cycles that are still allowed.
pub(super) const CIRCLES: &[Circle] = &[];

/// The files of the array that still name `Array`.
pub(super) const NAMING_ARRAY: &[&str] = &[];

/// The packages in which comments may still be too wide.
pub(super) const WIDE_COMMENTS: &[&str] = &[];

/// The line of these lists that names a file, searched from the first line that contains `after`.
pub(super) fn line_of(after: &str, file: &str) -> usize {
    let lines = (1..).zip(include_str!("debts.rs").lines());
    let mut lines = lines.skip_while(|(_, line)| !line.contains(after));
    lines.find(|(_, line)| line.contains(&format!("\"{file}\""))).map_or(1, |(number, _)| number)
}
