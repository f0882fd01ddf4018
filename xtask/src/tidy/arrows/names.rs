//! Resolves paths: through imports and re-exports to the defined item.

use std::collections::BTreeMap;

use syn::{Fields, Item, ItemEnum, Signature, UseTree, Visibility};

use super::tree::{Module, is_test};

/// The largest number of imports that are followed. A longer chain is a cycle, which rustc refuses.
const DEEPEST: usize = 16;

/// An item that a path can name.
pub(super) struct Thing<'a> {
    pub(super) module: usize,
    pub(super) name: String,
    pub(super) what: What<'a>,
}

/// The kind of an item, with the information that types follow from.
pub(super) enum What<'a> {
    Struct(&'a Fields),
    Enum(&'a ItemEnum),
    Trait,
    Alias(&'a syn::Type),
    Function(&'a Signature),
    Value(&'a syn::Type),
    Macro,
}

/// A resolved path.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Target {
    Module(usize),
    /// An item, and the rest of the path: a variant, a method.
    Thing(usize, Vec<String>),
}

/// The meaning of a name in a module.
enum Meaning {
    Module(usize),
    Thing(usize),
    /// An import of this path.
    Import(Vec<String>),
}

/// One name of a `use`.
pub(super) struct Import {
    pub(super) path: Vec<String>,
    /// The local name; `None` for all names of a module.
    pub(super) name: Option<String>,
    pub(super) line: usize,
}

/// All names of one target.
pub(super) struct Names<'a> {
    pub(super) modules: Vec<Module<'a>>,
    pub(super) things: Vec<Thing<'a>>,
    meanings: Vec<BTreeMap<String, Vec<Meaning>>>,
    /// For each module, the modules of which it imports all names.
    globs: Vec<Vec<Vec<String>>>,
}

impl<'a> Names<'a> {
    pub(super) fn new(modules: Vec<Module<'a>>) -> Names<'a> {
        let globs = modules.iter().map(|_| Vec::new()).collect();
        let meanings = modules.iter().map(|_| BTreeMap::new()).collect();
        let mut names = Names { modules, things: Vec::new(), meanings, globs };
        for module in 0..names.modules.len() {
            names.read(module);
        }
        names
    }

    /// The file that defines an item.
    pub(super) fn file_of(&self, thing: usize) -> &'a str {
        self.modules[self.things[thing].module].file
    }

    /// Whether a module has a meaning for a name, in this target or in another one.
    pub(super) fn knows(&self, module: usize, name: &str) -> bool {
        self.meanings[module].contains_key(name)
    }

    /// The items and modules of this target to which a path in `module` refers.
    pub(super) fn resolve(&self, module: usize, path: &[String]) -> Vec<Target> {
        self.follow(module, path, 0)
    }

    /// The macro that is called by its name alone: of this module, or of one that contains it.
    pub(super) fn macro_named(&self, module: usize, name: &str) -> Option<usize> {
        let is_it = |thing: &Thing<'_>| matches!(thing.what, What::Macro) && thing.name == name;
        let mut at = Some(module);
        while let Some(module) = at {
            let found = self.things.iter().position(|thing| thing.module == module && is_it(thing));
            if found.is_some() {
                return found;
            }
            at = self.modules[module].parent;
        }
        None
    }

    fn follow(&self, module: usize, path: &[String], depth: usize) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else { return vec![Target::Module(module)] };
        if depth > DEEPEST {
            return vec![];
        }
        match first.as_str() {
            "crate" => self.follow(0, rest, depth),
            "self" => self.follow(module, rest, depth),
            "super" => match self.modules[module].parent {
                Some(parent) => self.follow(parent, rest, depth),
                None => vec![],
            },
            name => {
                let found = self.look_up(module, name, depth);
                let mut targets = Vec::new();
                for target in found.into_iter().flat_map(|target| self.go_on(target, rest, depth)) {
                    if !targets.contains(&target) {
                        targets.push(target);
                    }
                }
                targets
            }
        }
    }

    fn go_on(&self, target: Target, rest: &[String], depth: usize) -> Vec<Target> {
        match target {
            Target::Module(module) => self.follow(module, rest, depth),
            // A function may have the name of a module; the module's items do not belong to the
            // function.
            Target::Thing(thing, _) if !rest.is_empty() && !self.has_parts(thing) => vec![],
            Target::Thing(thing, mut more) => {
                more.extend_from_slice(rest);
                vec![Target::Thing(thing, more)]
            }
        }
    }

    fn has_parts(&self, thing: usize) -> bool {
        matches!(self.things[thing].what, What::Struct(_) | What::Enum(_) | What::Trait | What::Alias(_))
    }

    fn look_up(&self, module: usize, name: &str, depth: usize) -> Vec<Target> {
        match self.meanings[module].get(name) {
            Some(meanings) => {
                meanings.iter().flat_map(|meaning| self.target(module, meaning, depth)).collect()
            }
            None => self.globs[module]
                .iter()
                .flat_map(|path| self.follow(module, path, depth + 1))
                .flat_map(|target| match target {
                    Target::Module(inner) if inner != module => self.look_up(inner, name, depth + 1),
                    _ => vec![],
                })
                .collect(),
        }
    }

    fn target(&self, module: usize, meaning: &Meaning, depth: usize) -> Vec<Target> {
        match meaning {
            Meaning::Module(child) => vec![Target::Module(*child)],
            Meaning::Thing(thing) => vec![Target::Thing(*thing, vec![])],
            Meaning::Import(path) => self.follow(module, path, depth + 1),
        }
    }

    fn read(&mut self, module: usize) {
        for (name, child) in self.modules[module].children.clone() {
            self.mean(module, name, Meaning::Module(child));
        }
        for item in self.modules[module].items {
            if let Item::Use(item) = item {
                for import in imports(&item.tree).into_iter().filter(|_| !is_test(&item.attrs)) {
                    match import.name {
                        Some(name) => self.mean(module, name, Meaning::Import(import.path)),
                        None => self.globs[module].push(import.path),
                    }
                }
            } else if let Some((name, what)) = defined(item) {
                self.mean(module, name.clone(), Meaning::Thing(self.things.len()));
                self.things.push(Thing { module, name, what });
            }
        }
    }

    fn mean(&mut self, module: usize, name: String, meaning: Meaning) {
        self.meanings[module].entry(name).or_default().push(meaning);
    }
}

/// The name that an item defines, unless the item is a module or an import.
fn defined(item: &Item) -> Option<(String, What<'_>)> {
    let (attributes, name, what) = match item {
        Item::Struct(item) => (&item.attrs, &item.ident, What::Struct(&item.fields)),
        Item::Enum(item) => (&item.attrs, &item.ident, What::Enum(item)),
        Item::Trait(item) => (&item.attrs, &item.ident, What::Trait),
        Item::Type(item) => (&item.attrs, &item.ident, What::Alias(&item.ty)),
        Item::Fn(item) => (&item.attrs, &item.sig.ident, What::Function(&item.sig)),
        Item::Const(item) => (&item.attrs, &item.ident, What::Value(&item.ty)),
        Item::Static(item) => (&item.attrs, &item.ident, What::Value(&item.ty)),
        Item::Macro(item) => (&item.attrs, item.ident.as_ref()?, What::Macro),
        _ => return None,
    };
    (!is_test(attributes)).then(|| (name.to_string(), what))
}

/// The names that a `use` imports.
pub(super) fn imports(tree: &UseTree) -> Vec<Import> {
    let mut found = Vec::new();
    collect_imports(tree, &[], &mut found);
    found
}

fn collect_imports(tree: &UseTree, above: &[String], found: &mut Vec<Import>) {
    let below = |name: &syn::Ident| [above, &[name.to_string()]].concat();
    // `use a::{self}` means `a`.
    let path_of = |name: &syn::Ident| if name == "self" { above.to_vec() } else { below(name) };
    match tree {
        UseTree::Path(tree) => collect_imports(&tree.tree, &below(&tree.ident), found),
        UseTree::Group(tree) => tree.items.iter().for_each(|tree| collect_imports(tree, above, found)),
        UseTree::Name(tree) => {
            let path = path_of(&tree.ident);
            found.push(Import { name: path.last().cloned(), path, line: tree.ident.span().start().line });
        }
        UseTree::Rename(tree) => found.push(Import {
            path: path_of(&tree.ident),
            name: Some(tree.rename.to_string()),
            line: tree.ident.span().start().line,
        }),
        UseTree::Glob(tree) => {
            let line = tree.star_token.spans[0].start().line;
            found.push(Import { path: above.to_vec(), name: None, line });
        }
    }
}

/// Whether an import is a re-export.
pub(super) fn is_re_export(visibility: &Visibility) -> bool {
    !matches!(visibility, Visibility::Inherited)
}
