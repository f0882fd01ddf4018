//! Which file names what another one defines: an arrow from the one to the other.
//!
//! Paths are followed through imports and re-exports to the file that truly defines the item. A
//! `use` names what it brings; a `pub use` only passes it on, and a module that is declared or used
//! to get at what is in it is not named. A method or associated constant is named where it is
//! called, and what counts is the file that its `impl` is in: so one type whose `impl` blocks are
//! spread over files ties these together. Calling a trait's method names the trait, not those that
//! implement it. Files for tests only are no part of this, nor is what `#[cfg(test)]` leaves out;
//! any other `cfg` is taken to hold.
//!
//! Whose method a call means follows from the type of its value, and that from `self`, annotations,
//! fields, patterns, and what functions and methods say that they answer. Where this tells nothing,
//! the name must: if all methods of this target that are called so, with as many arguments, are in
//! one file, that one is meant, unless std or another of our crates has a method of that name, too.
//! So what is missed is a call of an ambiguous or common name on a value whose type the reader
//! cannot tell (what a closure makes, a generic parameter, a `match`), what macros other than those
//! that take expressions make of their tokens, and operators and conversions, which call a trait's
//! implementation. Fields count for nothing by themselves: privacy is for the compiler to check.

use std::collections::{BTreeMap, BTreeSet};

use methods::Methods;
use names::Names;
pub(super) use reader::Reference;
pub(super) use tree::Sources;

mod infer;
mod methods;
mod names;
mod reader;
mod tree;
mod types;

/// A library or a program of some package, and what its files name.
pub(super) struct Target {
    /// The folder that its first file is in.
    pub(super) folder: String,
    /// In the order of files and lines.
    pub(super) references: Vec<Reference>,
}

/// Every library and program among these sources.
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

/// Whether a target's sources say the name of the library whose first file is `other`.
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

/// The targets among files that a test made up.
#[cfg(test)]
pub(super) fn of(files: &[(&str, &str)]) -> Vec<Target> {
    let texts: BTreeMap<String, String> =
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let sources = texts.iter().map(|(path, text)| (path.clone(), syn::parse_file(text).unwrap())).collect();
    targets(&sources, &texts)
}

#[cfg(test)]
mod tests;
