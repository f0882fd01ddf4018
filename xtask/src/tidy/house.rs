//! House rule: the crates have an order, and dependencies go only from later crates to earlier
//! ones.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::finding::{File, Finding};
use crate::lines::line_at;

/// The order of the crates. A crate may depend only on crates before it.
const ORDER: [&str; 13] = [
    "units", "codec", "array", "drive", "workload", "rivals", "sim", "model", "engine", "nbd", "fault",
    "lab", "cli",
];

/// Pairs that the order would allow, but that are forbidden: the first crate must not depend on the
/// second.
const STRANGERS: [(&str, &str); 8] = [
    ("drive", "array"),
    ("workload", "array"),
    ("workload", "drive"),
    ("rivals", "array"),
    ("rivals", "drive"),
    ("rivals", "workload"),
    ("nbd", "array"),
    ("fault", "engine"),
];

const PLACE_IT: &str = "give it its place in ORDER in xtask/src/tidy/house.rs, and in ARCHITECTURE.md";
const TURN_AROUND: &str = "move what is needed into a crate that both may depend on";
const KEEP_APART: &str = "pass it as data, or do this in a crate that knows both";
const MEND_TOML: &str = "mend the manifest";

/// Checks a manifest. Packages outside `crates/` may depend on any crate.
pub(super) fn check(file: &File<'_>) -> Vec<Finding> {
    let Some(name) = file.path.strip_prefix("crates/").and_then(|rest| rest.strip_suffix("/Cargo.toml"))
    else {
        return vec![];
    };
    let Some(place) = place_of(name) else {
        return vec![file.finding(1, format!("the crate `{name}` has no place in the house"), PLACE_IT)];
    };
    match DeTable::parse(file.text) {
        Ok(manifest) => {
            let dependencies = dependencies(manifest.get_ref());
            dependencies.iter().filter_map(|dependency| judge(file, place, dependency)).collect()
        }
        Err(error) => {
            let line = line_at(file.text, error.span().map_or(0, |span| span.start));
            vec![file.finding(line, error.message(), MEND_TOML)]
        }
    }
}

/// A dependency in a manifest.
struct Dependency {
    package: String,
    /// Its position in the manifest, in bytes.
    offset: usize,
}

fn judge(file: &File<'_>, place: usize, dependency: &Dependency) -> Option<Finding> {
    let other = crate_of(&dependency.package)?;
    let name = ORDER[place];
    let line = line_at(file.text, dependency.offset);
    match place_of(other) {
        None => Some(file.finding(line, format!("`{other}` has no place in the house"), PLACE_IT)),
        Some(above) if above >= place => Some(file.finding(
            line,
            format!("`{name}` depends on `{other}`, which comes after it"),
            TURN_AROUND,
        )),
        Some(_) if STRANGERS.contains(&(name, other)) => Some(file.finding(
            line,
            format!("`{name}` depends on `{other}`, of which it must not know"),
            KEEP_APART,
        )),
        Some(_) => None,
    }
}

/// All dependencies of a manifest: normal, development and build dependencies, and those for one
/// platform.
fn dependencies(table: &DeTable<'_>) -> Vec<Dependency> {
    let mut found = Vec::new();
    for (key, value) in table {
        let DeValue::Table(inner) = value.get_ref() else { continue };
        if key.get_ref().ends_with("dependencies") {
            found.extend(inner.iter().map(|(key, value)| dependency(key, value)));
        } else {
            found.extend(dependencies(inner));
        }
    }
    found
}

fn dependency<'a>(key: &Spanned<impl AsRef<str>>, value: &Spanned<DeValue<'a>>) -> Dependency {
    // A renamed dependency has its real name under `package`.
    let renamed = value.get_ref().get("package").and_then(|package| package.get_ref().as_str());
    Dependency { package: renamed.unwrap_or(key.get_ref().as_ref()).to_owned(), offset: key.span().start }
}

/// The crate of a package of ours; `None` for other packages.
fn crate_of(package: &str) -> Option<&str> {
    if package == "parlour" { Some("cli") } else { package.strip_prefix("parlour-") }
}

fn place_of(name: &str) -> Option<usize> {
    ORDER.iter().position(|&known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        check(&File { path, text }).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn dependencies_down_the_house_are_fine() {
        let text =
            "[dependencies]\nparlour-units.workspace = true\nparlour-codec = { path = \"../codec\" }\n";
        assert_eq!(findings("crates/array/Cargo.toml", text), [""; 0]);
        assert_eq!(
            findings("crates/cli/Cargo.toml", "[dependencies]\nparlour-lab.workspace = true\n"),
            [""; 0]
        );
    }

    #[test]
    fn a_dependency_up_the_house_is_named_with_its_line() {
        let text =
            "[package]\nname = \"a\"\n\n[dependencies]\nserde = \"1\"\nparlour-engine.workspace = true\n";
        assert_eq!(
            findings("crates/array/Cargo.toml", text),
            [format!(
                "crates/array/Cargo.toml:6: `array` depends on `engine`, which comes after it: {TURN_AROUND}"
            )]
        );
    }

    #[test]
    fn every_kind_of_dependency_counts() {
        for table in ["dev-dependencies", "build-dependencies", "target.'cfg(unix)'.dependencies"] {
            let text = format!("[{table}]\nparlour-sim = {{ workspace = true }}\n");
            assert_eq!(findings("crates/array/Cargo.toml", &text).len(), 1, "{table}");
        }
        let table_of_its_own = "[dependencies.parlour-sim]\nworkspace = true\n";
        assert_eq!(findings("crates/array/Cargo.toml", table_of_its_own).len(), 1);
    }

    #[test]
    fn a_renamed_dependency_is_seen_through() {
        let text = "[dependencies]\nharmless = { package = \"parlour\", path = \"../cli\" }\n";
        let found = findings("crates/lab/Cargo.toml", text);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains(":2: `lab` depends on `cli`"), "{}", found[0]);
    }

    #[test]
    fn strangers_stay_apart_though_the_order_would_allow_it() {
        let found = findings("crates/drive/Cargo.toml", "[dependencies]\nparlour-array.workspace = true\n");
        assert!(found[0].contains("of which it must not know"), "{}", found[0]);
    }

    #[test]
    fn a_crate_without_a_place_is_named() {
        assert_eq!(findings("crates/attic/Cargo.toml", "").len(), 1);
        let found = findings("crates/cli/Cargo.toml", "[dependencies]\nparlour-attic.workspace = true\n");
        assert!(found[0].contains("`attic` has no place"), "{}", found[0]);
    }

    #[test]
    fn a_broken_manifest_is_named_with_its_line() {
        let found = findings("crates/array/Cargo.toml", "[dependencies]\nparlour-units =\n");
        assert!(found[0].starts_with("crates/array/Cargo.toml:2: "), "{}", found[0]);
    }

    #[test]
    fn manifests_outside_the_house_are_free() {
        assert_eq!(findings("fuzz/Cargo.toml", "[dependencies]\nparlour.workspace = true\n"), [""; 0]);
    }
}
