//! Infers the type of a value, as far as names, annotations and the return types of methods allow.

use std::collections::BTreeMap;

use syn::{Expr, ExprCall, ExprMethodCall, ExprPath, Ident, Member, Pat};

use super::methods::{Methods, answer};
use super::names::{Names, Target, What};
use super::types::{Place, Type, field, segments, thing_type, understand};

/// What is known at the current position in the source.
pub(super) struct Known<'a> {
    pub(super) names: &'a Names<'a>,
    pub(super) methods: &'a Methods<'a>,
    pub(super) place: Place,
    scopes: Vec<Scope>,
}

/// The names of a block.
#[derive(Default)]
struct Scope {
    variables: BTreeMap<String, Type>,
    imports: BTreeMap<String, Vec<String>>,
}

impl<'a> Known<'a> {
    pub(super) fn new(names: &'a Names<'a>, methods: &'a Methods<'a>, module: usize) -> Known<'a> {
        let place = Place { module, own: Type::Unknown };
        Known { names, methods, place, scopes: vec![Scope::default()] }
    }

    pub(super) fn enter(&mut self) {
        self.scopes.push(Scope::default());
    }

    pub(super) fn leave(&mut self) {
        self.scopes.pop();
    }

    pub(super) fn is_inside_function(&self) -> bool {
        self.scopes.len() > 1
    }

    /// Adds a name that is imported inside a function.
    pub(super) fn import(&mut self, name: String, path: Vec<String>) {
        self.innermost().imports.insert(name, path);
    }

    pub(super) fn is_variable(&self, name: &str) -> bool {
        self.scopes.iter().any(|scope| scope.variables.contains_key(name))
    }

    /// The items and modules of this target to which a path refers here.
    pub(super) fn resolve(&self, path: &[String]) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else { return vec![] };
        let imported = self.scopes.iter().rev().find_map(|scope| scope.imports.get(first));
        match imported {
            Some(import) => self.names.resolve(self.place.module, &[import, rest].concat()),
            None => self.names.resolve(self.place.module, path),
        }
    }

    pub(super) fn understand(&self, written: &syn::Type) -> Type {
        understand(self.names, &self.place, written)
    }

    /// Binds the names in a pattern to parts of a value of this type.
    pub(super) fn bind(&mut self, pattern: &Pat, value: Type) {
        match pattern {
            Pat::Ident(pattern) => {
                if let Some((_, inner)) = &pattern.subpat {
                    self.bind(inner, value.clone());
                }
                self.bind_name(&pattern.ident, value);
            }
            Pat::Type(pattern) => {
                let value = self.understand(&pattern.ty);
                self.bind(&pattern.pat, value);
            }
            Pat::Reference(pattern) => self.bind(&pattern.pat, value),
            Pat::Paren(pattern) => self.bind(&pattern.pat, value),
            Pat::Or(pattern) => pattern.cases.iter().for_each(|case| self.bind(case, value.clone())),
            Pat::Slice(pattern) => {
                pattern.elems.iter().for_each(|element| self.bind(element, value.parameter(0)));
            }
            Pat::Tuple(pattern) => {
                for (index, element) in pattern.elems.iter().enumerate() {
                    self.bind(element, value.parameter(index));
                }
            }
            Pat::TupleStruct(pattern) => {
                for (index, element) in pattern.elems.iter().enumerate() {
                    let part = self.part(&pattern.path, &value, &index.to_string());
                    self.bind(element, part);
                }
            }
            Pat::Struct(pattern) => {
                for inner in &pattern.fields {
                    let part = self.part(&pattern.path, &value, &name_of(&inner.member));
                    self.bind(&inner.pat, part);
                }
            }
            _ => {}
        }
    }

    pub(super) fn bind_name(&mut self, name: &Ident, value: Type) {
        let name = name.to_string();
        // A constant or a variant is matched, not bound.
        if !name.starts_with(|letter: char| letter.is_uppercase()) {
            self.innermost().variables.insert(name, value);
        }
    }

    /// The type of a part of a value that is matched with `Name(..)` or `Name { .. }`.
    fn part(&self, path: &syn::Path, value: &Type, name: &str) -> Type {
        let path = segments(path);
        match path.last().map(String::as_str) {
            Some("Some" | "Ok" | "Break" | "Continue") => value.parameter(0),
            Some("Err") => value.parameter(1),
            _ => match self.owner(&path) {
                Some((thing, variant)) => field(self.names, thing, variant.as_deref(), name),
                None => Type::Unknown,
            },
        }
    }

    /// The item that a path names, and the rest of the path.
    fn owner(&self, path: &[String]) -> Option<(usize, Option<String>)> {
        if let ("Self", Type::Own(own)) = (path.first()?.as_str(), &self.place.own) {
            return Some((*own, path.get(1).cloned()));
        }
        self.resolve(path).into_iter().find_map(|target| match target {
            Target::Thing(thing, rest) => match thing_type(self.names, thing) {
                Type::Own(aliased) => Some((aliased, rest.first().cloned())),
                _ => Some((thing, rest.first().cloned())),
            },
            Target::Module(_) => None,
        })
    }

    /// The type of an expression.
    pub(super) fn type_of(&self, expression: &Expr) -> Type {
        match expression {
            Expr::Path(expression) => self.type_of_path(expression),
            Expr::Field(expression) => match self.type_of(&expression.base) {
                Type::Own(own) => field(self.names, own, None, &name_of(&expression.member)),
                Type::Foreign(name, of) if name == "tuple" => match &expression.member {
                    Member::Unnamed(index) => of.get(index.index as usize).cloned().unwrap_or(Type::Unknown),
                    Member::Named(_) => Type::Unknown,
                },
                _ => Type::Unknown,
            },
            Expr::MethodCall(expression) => self.type_of_call(expression),
            Expr::Call(expression) => self.type_of_function_call(expression),
            Expr::Struct(expression) => match self.owner(&segments(&expression.path)) {
                Some((thing, _)) => Type::Own(thing),
                None => Type::Unknown,
            },
            Expr::Reference(expression) => self.type_of(&expression.expr),
            Expr::Paren(expression) => self.type_of(&expression.expr),
            Expr::Group(expression) => self.type_of(&expression.expr),
            Expr::Unary(expression) if matches!(expression.op, syn::UnOp::Deref(_)) => {
                self.type_of(&expression.expr)
            }
            Expr::Try(expression) => self.type_of(&expression.expr).parameter(0),
            Expr::Index(expression) => indexed(&self.type_of(&expression.expr)),
            Expr::Cast(expression) => self.understand(&expression.ty),
            Expr::Tuple(expression) => {
                Type::foreign("tuple", expression.elems.iter().map(|element| self.type_of(element)).collect())
            }
            _ => Type::Unknown,
        }
    }

    fn type_of_path(&self, expression: &ExprPath) -> Type {
        let path = segments(&expression.path);
        match path.as_slice() {
            [name] if name == "self" => self.place.own.clone(),
            [name] if self.is_variable(name) => {
                let found = self.scopes.iter().rev().find_map(|scope| scope.variables.get(name));
                found.cloned().unwrap_or(Type::Unknown)
            }
            path => match self.owner(path) {
                Some((thing, rest)) => self.value_of(thing, rest.is_some()),
                None => Type::Unknown,
            },
        }
    }

    /// The type of a constant, a unit struct or a variant.
    fn value_of(&self, thing: usize, has_more: bool) -> Type {
        let known = &self.names.things[thing];
        match known.what {
            What::Value(written) => {
                let place = Place { module: known.module, own: Type::Unknown };
                understand(self.names, &place, written)
            }
            What::Struct(_) if !has_more => Type::Own(thing),
            What::Enum(_) => Type::Own(thing),
            _ => Type::Unknown,
        }
    }

    fn type_of_call(&self, call: &ExprMethodCall) -> Type {
        let value = self.type_of(&call.receiver);
        let name = call.method.to_string();
        if matches!(value, Type::Foreign(..)) {
            return answer_of_std(&value, &name);
        }
        match self.methods.called(self.names, &value, &name, call.args.len()) {
            Some(method) => method.answer(self.names),
            None if name == "clone" => value,
            None => Type::Unknown,
        }
    }

    fn type_of_function_call(&self, call: &ExprCall) -> Type {
        let Expr::Path(function) = &*call.func else { return Type::Unknown };
        let path = segments(&function.path);
        match (path.last().map(String::as_str), call.args.first()) {
            (Some("Some"), Some(inner)) if path.len() == 1 => {
                return Type::foreign("Option", vec![self.type_of(inner)]);
            }
            (Some("Ok"), Some(inner)) if path.len() == 1 => {
                return Type::foreign("Result", vec![self.type_of(inner)]);
            }
            _ => {}
        }
        let Some((thing, rest)) = self.owner(&path) else { return Type::Unknown };
        let known = &self.names.things[thing];
        match (&known.what, rest) {
            (What::Function(signature), None) => {
                answer(self.names, &Place { module: known.module, own: Type::Unknown }, signature)
            }
            (What::Struct(_), None) => Type::Own(thing),
            (_, Some(name)) => match self.methods.of(thing, &name) {
                Some(method) => method.answer(self.names),
                // A variant, or the result of a derived trait's method.
                None if name == "default" || matches!(known.what, What::Enum(_)) => Type::Own(thing),
                None => Type::Unknown,
            },
            _ => Type::Unknown,
        }
    }

    fn innermost(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.enter();
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }
}

fn name_of(member: &Member) -> String {
    match member {
        Member::Named(name) => name.to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

/// The type of an indexed element.
fn indexed(value: &Type) -> Type {
    match value {
        Type::Foreign(name, of) if name.ends_with("Map") => of.get(1).cloned().unwrap_or(Type::Unknown),
        _ => value.parameter(0),
    }
}

/// The type of the argument of a closure that is passed to a method of this value.
pub(super) fn given_by(value: &Type, method: &str) -> Type {
    match method {
        "map_err" | "or_else" | "unwrap_or_else" => value.parameter(1),
        _ => part_of(value),
    }
}

/// The type of the items of a loop over a value.
pub(super) fn part_of(value: &Type) -> Type {
    match value {
        Type::Foreign(name, of) if name.ends_with("Map") => Type::foreign("tuple", of.clone()),
        _ => value.parameter(0),
    }
}

/// The type that a method of std returns; known only where it contains one of our own types.
fn answer_of_std(value: &Type, method: &str) -> Type {
    let option = |inner: Type| Type::foreign("Option", vec![inner]);
    let iterator = |inner: Type| Type::foreign("Iterator", vec![inner]);
    let Type::Foreign(name, _) = value else { return Type::Unknown };
    let is_map = name.ends_with("Map");
    match (name.as_str(), method) {
        ("Option" | "Result", "unwrap" | "expect" | "unwrap_or" | "unwrap_or_else" | "unwrap_or_default") => {
            value.parameter(0)
        }
        ("Option", "insert" | "get_or_insert" | "get_or_insert_with" | "get_or_insert_default") => {
            value.parameter(0)
        }
        ("Option" | "Result", "ok" | "as_ref" | "as_mut" | "take" | "replace" | "cloned" | "copied")
        | ("Option" | "Result", "ok_or" | "ok_or_else" | "map_err" | "or" | "or_else" | "filter")
        | ("Option" | "Result", "as_deref" | "as_deref_mut") => option(value.parameter(0)),
        ("RefCell" | "Cell", "borrow" | "borrow_mut" | "get") => value.parameter(0),
        ("Mutex" | "RwLock", "lock" | "read" | "write") => option(value.parameter(0)),
        (_, "clone" | "to_vec" | "as_slice" | "as_mut_slice" | "to_owned" | "by_ref") => value.clone(),
        (_, "values" | "values_mut" | "into_values") if is_map => iterator(value.parameter(1)),
        (_, "keys" | "into_keys") if is_map => iterator(value.parameter(0)),
        (_, "get" | "get_mut" | "remove" | "insert") if is_map => option(value.parameter(1)),
        (_, "first_key_value" | "last_key_value" | "pop_first" | "pop_last") if is_map => {
            option(part_of(value))
        }
        (_, "remove" | "swap_remove") if name == "Vec" => value.parameter(0),
        (_, "iter" | "iter_mut" | "into_iter" | "drain" | "rev" | "skip" | "take" | "filter" | "chain")
        | (_, "peekable" | "skip_while" | "take_while" | "inspect" | "step_by" | "retain" | "range")
        | (_, "cloned" | "copied") => iterator(part_of(value)),
        (_, "enumerate") => iterator(Type::foreign("tuple", vec![Type::Unknown, value.parameter(0)])),
        (
            _,
            "get" | "get_mut" | "first" | "first_mut" | "last" | "last_mut" | "pop" | "front" | "front_mut",
        )
        | (_, "back" | "back_mut" | "pop_front" | "pop_back" | "next" | "next_back" | "nth" | "find")
        | (_, "min_by_key" | "max_by_key" | "min" | "max" | "peek" | "peek_mut" | "pop_first" | "pop_last") => {
            option(part_of(value))
        }
        _ => Type::Unknown,
    }
}
