//! Finds the file that contains a called method.

use std::collections::{BTreeMap, BTreeSet};

use syn::{FnArg, ImplItem, Item, ItemImpl, ItemTrait, ReturnType, Signature, TraitItem};

use super::names::{Names, Thing, What};
use super::tree::is_test;
use super::types::{Place, Type, understand, understand_path};

/// The methods of std's most used types, from its documentation. A name in this list alone does not
/// identify a method.
const STD: &str = include_str!("std-methods.txt");

/// Fields and methods with the name of a primitive type do not identify a method either.
const PRIMITIVES: [&str; 5] = ["u8", "u16", "u32", "u64", "usize"];

/// A method or constant of a type or a trait.
pub(super) struct Method<'a> {
    /// The type or trait.
    pub(super) owner: usize,
    pub(super) name: String,
    /// The place of its definition.
    place: Place,
    /// `None` for a constant.
    signature: Option<&'a Signature>,
}

/// All methods of a target's own types and traits.
pub(super) struct Methods<'a> {
    all: Vec<Method<'a>>,
    by_owner: BTreeMap<(usize, String), usize>,
    by_name: BTreeMap<String, Vec<usize>>,
    /// Names that types and traits of other crates use as well.
    common: BTreeSet<String>,
}

impl<'a> Methods<'a> {
    /// The methods of a target. `others` are the names of methods of other crates.
    pub(super) fn new(names: &Names<'a>, others: &BTreeSet<String>) -> Methods<'a> {
        let mut common = others.clone();
        common.extend(STD.split_whitespace().chain(PRIMITIVES).map(str::to_owned));
        let mut methods =
            Methods { all: vec![], by_owner: BTreeMap::new(), by_name: BTreeMap::new(), common };
        for (module, known) in names.modules.iter().enumerate() {
            for item in known.items {
                match item {
                    Item::Impl(item) if !is_test(&item.attrs) => methods.read_impl(names, module, item),
                    Item::Trait(item) if !is_test(&item.attrs) => methods.read_trait(names, module, item),
                    _ => {}
                }
            }
        }
        methods
    }

    /// The names of all methods, for crates that depend on this one.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// The method or constant to which `Type::name` refers.
    pub(super) fn of(&self, owner: usize, name: &str) -> Option<&Method<'a>> {
        self.by_owner.get(&(owner, name.to_owned())).map(|&index| &self.all[index])
    }

    /// The method that is called on a value; `None` if it cannot be determined, or belongs to
    /// another crate.
    pub(super) fn called(
        &self,
        names: &Names<'_>,
        value: &Type,
        name: &str,
        arguments: usize,
    ) -> Option<&Method<'a>> {
        let fits = |method: &&Method<'_>| method.takes() == Some(arguments);
        let candidates: Vec<&Method<'a>> =
            self.by_name.get(name)?.iter().map(|&index| &self.all[index]).filter(fits).collect();
        let of_traits = || {
            candidates.iter().copied().filter(|method| matches!(names.things[method.owner].what, What::Trait))
        };
        match value {
            Type::Own(owner) => self.of(*owner, name).or_else(|| only_file(names, of_traits().collect())),
            Type::Foreign(..) if !self.common.contains(name) => only_file(names, of_traits().collect()),
            Type::Unknown if !self.common.contains(name) => only_file(names, candidates),
            Type::Foreign(..) | Type::Unknown => None,
        }
    }

    fn read_impl(&mut self, names: &Names<'a>, module: usize, item: &'a ItemImpl) {
        let place = Place { module, own: Type::Unknown };
        if let Some((path, _)) = &item.trait_ {
            if !matches!(understand_path(names, &place, path), Type::Own(_)) {
                self.common.extend(functions(item).map(|signature| signature.ident.to_string()));
            }
            return;
        }
        let own = understand(names, &place, &item.self_ty);
        let Type::Own(owner) = own else { return };
        let place = Place { module, own };
        for signature in functions(item) {
            self.add(owner, &place, signature.ident.to_string(), Some(signature));
        }
        for constant in item.items.iter() {
            if let ImplItem::Const(constant) = constant {
                self.add(owner, &place, constant.ident.to_string(), None);
            }
        }
    }

    fn read_trait(&mut self, names: &Names<'a>, module: usize, item: &'a ItemTrait) {
        let is_it = |thing: &Thing<'_>| {
            thing.module == module && item.ident == thing.name && matches!(thing.what, What::Trait)
        };
        let Some(owner) = names.things.iter().position(is_it) else { return };
        let place = Place { module, own: Type::Own(owner) };
        for item in &item.items {
            match item {
                TraitItem::Fn(item) => {
                    self.add(owner, &place, item.sig.ident.to_string(), Some(&item.sig));
                }
                TraitItem::Const(item) => self.add(owner, &place, item.ident.to_string(), None),
                _ => {}
            }
        }
    }

    fn add(&mut self, owner: usize, place: &Place, name: String, signature: Option<&'a Signature>) {
        let index = self.all.len();
        self.by_owner.entry((owner, name.clone())).or_insert(index);
        self.by_name.entry(name.clone()).or_default().push(index);
        self.all.push(Method { owner, name, place: place.clone(), signature });
    }
}

impl Method<'_> {
    /// The file that contains it.
    pub(super) fn file<'a>(&self, names: &Names<'a>) -> &'a str {
        names.modules[self.place.module].file
    }

    /// `Type::name`.
    pub(super) fn full_name(&self, names: &Names<'_>) -> String {
        format!("{}::{}", names.things[self.owner].name, self.name)
    }

    /// The type that it returns.
    pub(super) fn answer(&self, names: &Names<'_>) -> Type {
        self.signature.map_or(Type::Unknown, |signature| answer(names, &self.place, signature))
    }

    /// The number of arguments after `self`; `None` if it has no `self`.
    fn takes(&self) -> Option<usize> {
        let inputs = &self.signature?.inputs;
        matches!(inputs.first(), Some(FnArg::Receiver(_))).then(|| inputs.len() - 1)
    }
}

/// The return type of a function that is defined in `place`.
pub(super) fn answer(names: &Names<'_>, place: &Place, signature: &Signature) -> Type {
    match &signature.output {
        ReturnType::Type(_, written) => understand(names, place, written),
        ReturnType::Default => Type::foreign("tuple", vec![]),
    }
}

fn functions(item: &ItemImpl) -> impl Iterator<Item = &Signature> {
    item.items.iter().filter_map(|item| match item {
        ImplItem::Fn(item) if !is_test(&item.attrs) => Some(&item.sig),
        _ => None,
    })
}

/// Returns one of these methods if all are in the same file.
fn only_file<'m, 'a>(names: &Names<'_>, candidates: Vec<&'m Method<'a>>) -> Option<&'m Method<'a>> {
    let first = candidates.first()?;
    candidates.iter().all(|other| other.file(names) == first.file(names)).then_some(*first)
}
