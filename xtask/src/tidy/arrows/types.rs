//! What a written type means, as far as methods and fields are looked up in it.

use syn::{Fields, GenericArgument, PathArguments, PathSegment, TypeParamBound};

use super::names::{Names, Target, What};

/// What can be told of a value without the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Unknown,
    /// A type, or something that has a trait, of this target: the number of the item.
    Own(usize),
    /// Another crate's, by its last name, with what it is a type of.
    Foreign(String, Vec<Type>),
}

/// Where a type is written: its module, and what `Self` means there.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) module: usize,
    pub(super) own: Type,
}

/// Those through which methods are called as if they were not there.
const TRANSPARENT: [&str; 7] = ["Box", "Rc", "Arc", "Ref", "RefMut", "MutexGuard", "Cow"];

/// Types that need no import, and are no parameters.
const PRELUDE: [&str; 4] = ["Vec", "Option", "Result", "String"];

impl Type {
    pub(super) fn foreign(name: &str, of: Vec<Type>) -> Type {
        Type::Foreign(name.to_owned(), of)
    }

    /// What it is a type of: the `index`th of its parameters.
    pub(super) fn parameter(&self, index: usize) -> Type {
        match self {
            Type::Foreign(_, of) => of.get(index).cloned().unwrap_or(Type::Unknown),
            _ => Type::Unknown,
        }
    }
}

/// What a type means that is written in `place`.
pub(super) fn understand(names: &Names<'_>, place: &Place, written: &syn::Type) -> Type {
    match written {
        syn::Type::Reference(written) => understand(names, place, &written.elem),
        syn::Type::Paren(written) => understand(names, place, &written.elem),
        syn::Type::Group(written) => understand(names, place, &written.elem),
        syn::Type::Slice(written) => Type::foreign("Vec", vec![understand(names, place, &written.elem)]),
        syn::Type::Array(written) => Type::foreign("Vec", vec![understand(names, place, &written.elem)]),
        syn::Type::Tuple(written) => Type::foreign(
            "tuple",
            written.elems.iter().map(|element| understand(names, place, element)).collect(),
        ),
        syn::Type::TraitObject(written) => bounded(names, place, written.bounds.iter()),
        syn::Type::ImplTrait(written) => bounded(names, place, written.bounds.iter()),
        syn::Type::Path(written) if written.qself.is_none() => understand_path(names, place, &written.path),
        _ => Type::Unknown,
    }
}

/// What has these traits: the first of them that is our own decides.
fn bounded<'b>(names: &Names<'_>, place: &Place, bounds: impl Iterator<Item = &'b TypeParamBound>) -> Type {
    for bound in bounds {
        let TypeParamBound::Trait(bound) = bound else { continue };
        match understand_path(names, place, &bound.path) {
            Type::Unknown => {}
            known => return known,
        }
    }
    Type::Unknown
}

/// What a path means that names a type or a trait.
pub(super) fn understand_path(names: &Names<'_>, place: &Place, path: &syn::Path) -> Type {
    let segments = segments(path);
    if segments.len() == 1 && segments[0] == "Self" {
        return place.own.clone();
    }
    for target in names.resolve(place.module, &segments) {
        if let Target::Thing(thing, rest) = target
            && rest.is_empty()
        {
            return thing_type(names, thing);
        }
    }
    stranger(names, place, path, &segments)
}

/// The type that an item is.
pub(super) fn thing_type(names: &Names<'_>, thing: usize) -> Type {
    let known = &names.things[thing];
    match known.what {
        What::Struct(_) | What::Enum(_) | What::Trait => Type::Own(thing),
        What::Alias(written) => {
            understand(names, &Place { module: known.module, own: Type::Unknown }, written)
        }
        What::Function(_) | What::Value(_) | What::Macro => Type::Unknown,
    }
}

/// A path that is nothing of ours: another crate's type, or a parameter.
fn stranger(names: &Names<'_>, place: &Place, path: &syn::Path, segments: &[String]) -> Type {
    let (Some(first), Some(last)) = (segments.first(), path.segments.last()) else { return Type::Unknown };
    let of: Vec<Type> = parameters(names, place, last);
    let name = last.ident.to_string();
    if TRANSPARENT.contains(&name.as_str()) {
        // The last one, for `Cow<'_, str>` has a lifetime before, which is left out.
        return of.into_iter().next().unwrap_or(Type::Unknown);
    }
    let is_primitive = first.starts_with(|letter: char| letter.is_lowercase());
    if is_primitive || PRELUDE.contains(&first.as_str()) || names.knows(place.module, first) {
        return Type::Foreign(name, of);
    }
    Type::Unknown
}

/// What stands in a type's angle brackets; of `Iterator<Item = T>`, T.
fn parameters(names: &Names<'_>, place: &Place, segment: &PathSegment) -> Vec<Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return vec![] };
    let written = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(written) => Some(written),
        GenericArgument::AssocType(item) => Some(&item.ty),
        _ => None,
    });
    written.map(|written| understand(names, place, written)).collect()
}

/// The names in a path, without what stands in angle brackets.
pub(super) fn segments(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

/// The type of a field, which a struct or a variant names or counts.
pub(super) fn field(names: &Names<'_>, thing: usize, variant: Option<&str>, name: &str) -> Type {
    let Some(fields) = fields(names, thing, variant) else { return Type::Unknown };
    let place = Place { module: names.things[thing].module, own: Type::Own(thing) };
    let is_it = |(index, field): &(usize, &syn::Field)| match &field.ident {
        Some(ident) => ident == name,
        None => index.to_string() == name,
    };
    let found = fields.iter().enumerate().find(is_it);
    found.map_or(Type::Unknown, |(_, field)| understand(names, &place, &field.ty))
}

fn fields<'a>(names: &Names<'a>, thing: usize, variant: Option<&str>) -> Option<&'a Fields> {
    match (&names.things[thing].what, variant) {
        (What::Struct(fields), None) => Some(fields),
        (What::Enum(item), Some(name)) => {
            item.variants.iter().find(|variant| variant.ident == name).map(|variant| &variant.fields)
        }
        _ => None,
    }
}
