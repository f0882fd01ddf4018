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
pub(super) const CIRCLES: &[Circle] = &[Circle {
    folder: "crates/array/src",
    files: &[
        "abandon.rs",
        "array.rs",
        "returning.rs",
        "metadata/fence.rs",
        "host.rs",
        "metadata/bad_blocks.rs",
        "stripe/blind.rs",
        "log/append.rs",
        "log/commit.rs",
        "log/load.rs",
        "log/lost.rs",
        "log/pool.rs",
        "log/recover.rs",
        "log/recover/zeroed.rs",
        "log/reintegrate.rs",
        "log/reintegrate/intent.rs",
        "log/reintegrate/parity_repair.rs",
        "log/reintegrate/suspend.rs",
        "log/reintegrate/unrecoverable.rs",
        "maintenance/members.rs",
        "maintenance/mod.rs",
        "maintenance/rebuild.rs",
        "maintenance/resync.rs",
        "maintenance/scrub.rs",
        "metadata.rs",
        "metadata/informed.rs",
        "metadata/stop.rs",
        "metadata/table.rs",
        "repair.rs",
        "inspect.rs",
        "stripe.rs",
        "stripe/cached.rs",
    ],
}];

/// The files of the array that still name `Array`.
pub(super) const NAMING_ARRAY: &[&str] = &[
    "abandon.rs",
    "returning.rs",
    "metadata/fence.rs",
    "floated.rs",
    "host.rs",
    "metadata/bad_blocks.rs",
    "stripe/blind.rs",
    "log/append.rs",
    "log/commit.rs",
    "log/load.rs",
    "log/lost.rs",
    "log/pool.rs",
    "log/recover.rs",
    "log/recover/zeroed.rs",
    "log/reintegrate.rs",
    "log/reintegrate/intent.rs",
    "log/reintegrate/parity_repair.rs",
    "log/reintegrate/suspend.rs",
    "log/reintegrate/unrecoverable.rs",
    "maintenance/members.rs",
    "maintenance/mod.rs",
    "maintenance/rebuild.rs",
    "maintenance/resync.rs",
    "maintenance/risk.rs",
    "maintenance/scrub.rs",
    "metadata.rs",
    "metadata/informed.rs",
    "metadata/stop.rs",
    "metadata/table.rs",
    "opening.rs",
    "repair.rs",
    "inspect.rs",
    "stripe.rs",
    "stripe/cached.rs",
];

/// The packages in which comments may still be too wide.
pub(super) const WIDE_COMMENTS: &[&str] = &[];

/// The line of these lists that names a file, searched from the first line that contains `after`.
pub(super) fn line_of(after: &str, file: &str) -> usize {
    let lines = (1..).zip(include_str!("debts.rs").lines());
    let mut lines = lines.skip_while(|(_, line)| !line.contains(after));
    lines.find(|(_, line)| line.contains(&format!("\"{file}\""))).map_or(1, |(number, _)| number)
}
