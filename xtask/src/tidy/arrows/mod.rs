//! Finds references between files: file A names an item that file B defines. Each is an arrow from
//! A to B.
//!
//! Paths are followed through imports and re-exports to the file that defines the item. A `use` is
//! a reference to what it imports; a `pub use` only passes it on. A module that is declared, or
//! used as a part of a path, is not a reference. A method or associated constant is referenced
//! where it is called; the target is the file with its `impl`. So a type whose `impl` blocks are in
//! several files connects these files. A call of a trait's method refers to the trait, not to its
//! implementations. Files for tests are ignored, and so are items with `#[cfg(test)]`; any other
//! `cfg` is assumed to be set.
//!
//! The method of a call follows from the type of its value. The type follows from `self`,
//! annotations, fields, patterns, and the return types of functions and methods. If the type is
//! unknown, the name is used: if all methods of this target with this name and number of arguments
//! are in one file, the call refers to that file, unless std or another of our crates has a method
//! of that name. So these references are missed: calls of ambiguous or common names on values of
//! unknown type (from a closure, a generic parameter, or a `match`), the expansion of macros other
//! than those that take expressions, and operators and conversions, which call a trait's
//! implementation. Fields are not references by themselves: the compiler checks their privacy.

use std::collections::{BTreeMap, BTreeSet};

use methods::Methods;
use names::Names;
pub(super) use reader::Reference;
pub(super) use tree::{Sources, is_test};

mod infer;
mod methods;
mod names;
mod reader;
mod tree;
mod types;

/// A library or a program of a package, with the references between its files.
pub(super) struct Target {
    /// The directory of its first file.
    pub(super) folder: String,
    /// Its references, in the order of files and lines.
    pub(super) references: Vec<Reference>,
}

/// Returns each library and program among these sources.
pub(super) fn targets(sources: &Sources, texts: &BTreeMap<String, String>) -> Vec<Target> {
    let roots = sources.keys().filter(|path| is_root(path));
    let trees: Vec<(&str, Names<'_>)> =
        roots.map(|root| (root.as_str(), Names::new(tree::grow(sources, root)))).collect();
    let callable: BTreeMap<&str, BTreeSet<String>> = trees
        .iter()
        .filter(|(root, _)| root.ends_with("/lib.rs"))
        .map(|(root, names)| {
            (*root, Methods::new(names, &BTreeSet::new()).names().map(str::to_owned).collect())
        })
        .collect();
    trees
        .iter()
        .map(|(root, names)| {
            let others = callable.iter().filter(|(other, _)| *other != root && uses(names, texts, other));
            let others = others.flat_map(|(_, names)| names).cloned().collect();
            let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
            Target { folder, references: references(names, &others) }
        })
        .collect()
}

fn is_root(path: &str) -> bool {
    path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs") || path.contains("/src/bin/")
}

/// Whether a target's sources name the library whose first file is `other`.
fn uses(names: &Names<'_>, texts: &BTreeMap<String, String>, other: &str) -> bool {
    let Some(package) = other.strip_suffix("/src/lib.rs") else { return false };
    let folder = package.rsplit('/').next().unwrap_or(package);
    let name = if folder == "cli" { "parlour::".to_owned() } else { format!("parlour_{folder}::") };
    names.modules.iter().any(|module| texts.get(module.file).is_some_and(|text| text.contains(&name)))
}

fn references(names: &Names<'_>, others: &BTreeSet<String>) -> Vec<Reference> {
    let methods = Methods::new(names, others);
    let mut found: Vec<Reference> = (0..names.modules.len())
        .flat_map(|module| reader::read(names, &methods, module))
        .filter(|reference| reference.from != reference.to)
        .collect();
    found.sort();
    found.dedup();
    found
}

/// The targets of the files that a test has made up.
#[cfg(test)]
pub(super) fn of(files: &[(&str, &str)]) -> Vec<Target> {
    let texts: BTreeMap<String, String> =
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let sources = texts.iter().map(|(path, text)| (path.clone(), syn::parse_file(text).unwrap())).collect();
    targets(&sources, &texts)
}

#[cfg(test)]
mod tests;
