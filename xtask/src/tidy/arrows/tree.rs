//! The sources of one target as a tree of modules, without those for tests.

use std::collections::BTreeMap;

use syn::punctuated::Punctuated;
use syn::{Attribute, Item, ItemMod, Meta, Token};

/// Parsed sources by their paths below the workspace's root.
pub(in crate::tidy) type Sources = BTreeMap<String, syn::File>;

/// A module: a whole file, or the items in its braces.
pub(super) struct Module<'a> {
    /// The path of its file.
    pub(super) file: &'a str,
    pub(super) parent: Option<usize>,
    pub(super) items: &'a [Item],
    pub(super) children: Vec<(String, usize)>,
}

/// Returns the modules of the target whose first file is `root`. The first module is the root.
pub(super) fn grow<'a>(sources: &'a Sources, root: &'a str) -> Vec<Module<'a>> {
    let mut tree = Tree { sources, modules: Vec::new() };
    if let Some(source) = sources.get(root) {
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        tree.add(root, None, &source.items, folder);
    }
    tree.modules
}

struct Tree<'a> {
    sources: &'a Sources,
    modules: Vec<Module<'a>>,
}

impl<'a> Tree<'a> {
    /// Adds a module; the files of its children are in `folder`.
    fn add(&mut self, file: &'a str, parent: Option<usize>, items: &'a [Item], folder: &str) -> usize {
        let index = self.modules.len();
        self.modules.push(Module { file, parent, items, children: Vec::new() });
        for item in items {
            if let Item::Mod(module) = item
                && !is_test(&module.attrs)
                && let Some(child) = self.add_child(index, module, folder)
            {
                self.modules[index].children.push((module.ident.to_string(), child));
            }
        }
        index
    }

    fn add_child(&mut self, parent: usize, module: &'a ItemMod, folder: &str) -> Option<usize> {
        let below = format!("{folder}/{}", module.ident);
        if let Some((_, items)) = &module.content {
            let file = self.modules[parent].file;
            return Some(self.add(file, Some(parent), items, &below));
        }
        let places = [format!("{below}.rs"), format!("{below}/mod.rs")];
        let (path, source) = places.iter().find_map(|path| self.sources.get_key_value(path))?;
        Some(self.add(path, Some(parent), &source.items, &below))
    }
}

/// Whether an item with these attributes is for tests only.
pub(in crate::tidy) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute.parse_args().is_ok_and(|condition| needs_test(&condition))
    })
}

fn needs_test(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) => {
            let parts =
                list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).unwrap_or_default();
            let mut needs = parts.iter().map(needs_test);
            list.path.is_ident("all") && needs.any(|needed| needed)
                || list.path.is_ident("any") && !parts.is_empty() && needs.all(|needed| needed)
        }
        Meta::NameValue(_) => false,
    }
}
