//! Which kernel the lab runs: its source, its configuration, and what is changed in it.

use std::path::{Path, PathBuf};

/// The series; Debian packages its source as `linux-source-` and this.
const SERIES: &str = "6.12";
/// `make allnoconfig` and these lines.
const CONFIGURATION: &str = include_str!("config");
/// Sources that nothing of the configuration compiles, and that take most of the time to unpack.
/// What is left of their folders (`Kconfig`, `Makefile`) is read by every build.
const NOT_UNPACKED: [&str; 14] = [
    "*/Documentation/*.rst",
    "*/Documentation/*.yaml",
    "*/arch/[!ux]*/*.[chS]",
    "*/arch/*/*.dts",
    "*/arch/*/*.dtsi",
    "*/drivers/gpu/*.[ch]",
    "*/drivers/infiniband/*.[ch]",
    "*/drivers/media/*.[ch]",
    "*/drivers/net/ethernet/*.[ch]",
    "*/drivers/net/wireless/*.[ch]",
    "*/drivers/staging/*.[ch]",
    "*/sound/*.[ch]",
    "*/tools/perf/*",
    "*/tools/testing/*",
];

/// A line of the source that is changed.
pub(super) struct Change {
    pub(super) file: &'static str,
    pub(super) from: &'static str,
    pub(super) to: &'static str,
}

/// User-mode Linux keeps its processes' floating-point state in room for 2,696 bytes, and the
/// host's kernel takes it back only whole. With AMX it has 11,008 bytes, and the first process dies
/// ("ptrace set fp regs failed").
const CHANGES: [Change; 1] = [Change {
    file: "arch/x86/um/user-offsets.c",
    from: "DEFINE_LONGS(HOST_FP_SIZE, 2696);",
    to: "DEFINE_LONGS(HOST_FP_SIZE, 12288);",
}];

/// A kernel, as far as it is settled before it is built.
pub(super) struct Recipe {
    pub(super) configuration: &'static str,
    pub(super) changes: &'static [Change],
    pub(super) not_unpacked: &'static [&'static str],
}

/// The lab's kernel.
pub(super) const LAB: Recipe =
    Recipe { configuration: CONFIGURATION, changes: &CHANGES, not_unpacked: &NOT_UNPACKED };

impl Recipe {
    /// Names what is built: another configuration or change is another kernel, and a newer point
    /// release is not.
    pub(super) fn key(&self) -> String {
        let changes = self.changes.iter().flat_map(|change| [change.file, change.from, change.to]);
        let sum = options(self.configuration)
            .chain(changes)
            .fold(0, |sum, text| crc32c::crc32c_append(sum, text.as_bytes()));
        format!("linux-{SERIES}-{sum:08x}")
    }

    /// The source, packed, as Debian's package installs it.
    pub(super) fn archive(&self) -> PathBuf {
        Path::new("/usr/src").join(format!("linux-source-{SERIES}.tar.xz"))
    }
}

impl Change {
    /// The file's text, changed; `None` if it is not the text that this is meant for.
    pub(super) fn apply(&self, text: &str) -> Option<String> {
        (text.matches(self.from).count() == 1).then(|| text.replace(self.from, self.to))
    }
}

/// The lines of a configuration that are no remarks.
fn options(configuration: &str) -> impl Iterator<Item = &str> {
    configuration.lines().filter(|line| line.starts_with("CONFIG_"))
}

/// Lines of the configuration that are not in what `make` has made of it: an option that was
/// renamed, or lacks another.
pub(super) fn ignored<'a>(wanted: &'a str, made: &str) -> Vec<&'a str> {
    options(wanted).filter(|option| !made.lines().any(|line| line == *option)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_configuration_or_change_has_another_key() {
        static OTHER: [Change; 1] = [Change { file: "a.c", from: "1", to: "2" }];
        let other = Recipe { changes: &OTHER, ..LAB };
        let smaller = Recipe { configuration: "CONFIG_UML=y\n", ..LAB };
        assert_ne!(LAB.key(), other.key());
        assert_ne!(LAB.key(), smaller.key());
        assert_eq!(LAB.key(), Recipe { not_unpacked: &[], ..LAB }.key());
        let remarked = CONFIGURATION.replace("# ", "# so: ");
        assert_eq!(LAB.key(), Recipe { configuration: remarked.leak(), ..LAB }.key());
        assert!(LAB.key().starts_with("linux-6.12-"), "{}", LAB.key());
    }

    #[test]
    fn a_change_applies_once_and_only_to_what_it_is_meant_for() {
        let change = Change { file: "a.c", from: "small", to: "large" };
        assert_eq!(change.apply("a small room").as_deref(), Some("a large room"));
        assert_eq!(change.apply("a large room"), None);
        assert_eq!(change.apply("small, small"), None);
    }

    #[test]
    fn an_option_that_make_has_dropped_is_named() {
        let wanted = "# why\nCONFIG_A=y\nCONFIG_B=y\n";
        assert_eq!(ignored(wanted, "CONFIG_A=y\n# CONFIG_B is not set\n"), ["CONFIG_B=y"]);
        assert!(ignored(wanted, "CONFIG_B=y\nCONFIG_A=y\n").is_empty());
    }

    #[test]
    fn no_option_is_listed_twice() {
        let mut options: Vec<&str> = options(CONFIGURATION).collect();
        let listed = options.len();
        options.sort_unstable();
        options.dedup();
        assert_eq!(options.len(), listed);
    }
}
