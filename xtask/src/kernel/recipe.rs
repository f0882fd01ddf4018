//! The recipe of the lab's kernel: its source, its configuration, and changes to the source.

use std::path::{Path, PathBuf};

/// The series of the kernel. Debian's package of its source is `linux-source-` and this.
const SERIES: &str = "6.12";
/// The lines that are added to `make allnoconfig`.
const CONFIGURATION: &str = include_str!("config");
/// Sources that this configuration does not compile, and that take most of the time to unpack. The
/// other files of their directories (`Kconfig`, `Makefile`) are needed by every build.
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

/// A change to one line of the source.
pub(super) struct Change {
    pub(super) file: &'static str,
    pub(super) from: &'static str,
    pub(super) to: &'static str,
}

/// User-mode Linux stores the floating-point state of its processes in 2,696 bytes, and the host's
/// kernel restores it only as a whole. With AMX the state has 11,008 bytes, and the first process
/// dies ("ptrace set fp regs failed").
const CHANGES: [Change; 1] = [Change {
    file: "arch/x86/um/user-offsets.c",
    from: "DEFINE_LONGS(HOST_FP_SIZE, 2696);",
    to: "DEFINE_LONGS(HOST_FP_SIZE, 12288);",
}];

/// All that defines a kernel before it is built.
pub(super) struct Recipe {
    pub(super) configuration: &'static str,
    pub(super) changes: &'static [Change],
    pub(super) not_unpacked: &'static [&'static str],
}

/// The lab's kernel.
pub(super) const LAB: Recipe =
    Recipe { configuration: CONFIGURATION, changes: &CHANGES, not_unpacked: &NOT_UNPACKED };

impl Recipe {
    /// The key of the kernel. It changes with the configuration and the changes, but not with a
    /// newer point release.
    pub(super) fn key(&self) -> String {
        let changes = self.changes.iter().flat_map(|change| [change.file, change.from, change.to]);
        let sum = options(self.configuration)
            .chain(changes)
            .fold(0, |sum, text| crc32c::crc32c_append(sum, text.as_bytes()));
        format!("linux-{SERIES}-{sum:08x}")
    }

    /// The archive of the source, as Debian's package installs it.
    pub(super) fn archive(&self) -> PathBuf {
        Path::new("/usr/src").join(format!("linux-source-{SERIES}.tar.xz"))
    }
}

impl Change {
    /// Returns the changed text, or `None` if the text is not the expected one.
    pub(super) fn apply(&self, text: &str) -> Option<String> {
        (text.matches(self.from).count() == 1).then(|| text.replace(self.from, self.to))
    }
}

/// The lines of a configuration that set options.
fn options(configuration: &str) -> impl Iterator<Item = &str> {
    configuration.lines().filter(|line| line.starts_with("CONFIG_"))
}

/// The lines of the configuration that are missing from the one that `make` has made: an option was
/// renamed, or another option that it needs is missing.
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
