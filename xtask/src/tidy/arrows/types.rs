//! Resolves a written type, to look up methods and fields in it.

use syn::{Fields, GenericArgument, PathArguments, PathSegment, TypeParamBound};

use super::names::{Names, Target, What};

/// The type of a value, as far as it is known without the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Unknown,
    /// A type or a trait of this target: the number of the item.
    Own(usize),
    /// A type of another crate: its last name, and its type parameters.
    Foreign(String, Vec<Type>),
}

/// The place of a written type: its module, and the meaning of `Self`.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) module: usize,
    pub(super) own: Type,
}

/// Types that dereference to their content: methods are called through them.
const TRANSPARENT: [&str; 7] = ["Box", "Rc", "Arc", "Ref", "RefMut", "MutexGuard", "Cow"];

/// Types that need no import, and are not type parameters.
const PRELUDE: [&str; 4] = ["Vec", "Option", "Result", "String"];

impl Type {
    pub(super) fn foreign(name: &str, of: Vec<Type>) -> Type {
        Type::Foreign(name.to_owned(), of)
    }

    /// The type parameter with this index.
    pub(super) fn parameter(&self, index: usize) -> Type {
        match self {
            Type::Foreign(_, of) => of.get(index).cloned().unwrap_or(Type::Unknown),
            _ => Type::Unknown,
        }
    }
}

/// The meaning of a type that is written in `place`.
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

/// The meaning of trait bounds: the first bound with a trait of our own decides.
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

/// The meaning of a path that names a type or a trait.
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

/// The type of an item.
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

/// A path to no item of ours: another crate's type, or a type parameter.
fn stranger(names: &Names<'_>, place: &Place, path: &syn::Path, segments: &[String]) -> Type {
    let (Some(first), Some(last)) = (segments.first(), path.segments.last()) else { return Type::Unknown };
    let of: Vec<Type> = parameters(names, place, last);
    let name = last.ident.to_string();
    if TRANSPARENT.contains(&name.as_str()) {
        // The last parameter: `Cow<'_, str>` has a lifetime before it, which is left out.
        return of.into_iter().next().unwrap_or(Type::Unknown);
    }
    let is_primitive = first.starts_with(|letter: char| letter.is_lowercase());
    if is_primitive || PRELUDE.contains(&first.as_str()) || names.knows(place.module, first) {
        return Type::Foreign(name, of);
    }
    Type::Unknown
}

/// The type parameters in angle brackets; for `Iterator<Item = T>`, T.
fn parameters(names: &Names<'_>, place: &Place, segment: &PathSegment) -> Vec<Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return vec![] };
    let written = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(written) => Some(written),
        GenericArgument::AssocType(item) => Some(&item.ty),
        _ => None,
    });
    written.map(|written| understand(names, place, written)).collect()
}

/// The names in a path, without angle brackets.
pub(super) fn segments(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

/// The type of a field of a struct or a variant, by its name or number.
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
