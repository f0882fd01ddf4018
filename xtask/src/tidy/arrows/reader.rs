//! Reads a module, and collects its references to items that other files define.

use proc_macro2::{TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Block, Expr, ExprClosure, ExprForLoop, ExprIf, ExprLet, ExprMethodCall, ExprWhile, Field,
    FnArg, ImplItemFn, Item, ItemFn, ItemImpl, ItemTrait, ItemUse, Local, Macro, Pat, PatIdent, Token,
    TraitItemFn, Variant,
};

use super::infer::{Known, given_by, part_of};
use super::methods::Methods;
use super::names::{Names, Target, What, imports, is_re_export};
use super::tree::is_test;
use super::types::{Type, segments, thing_type};

/// A reference to an item.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::tidy) struct Reference {
    /// The file with the reference.
    pub(in crate::tidy) from: String,
    pub(in crate::tidy) line: usize,
    /// The file that defines the item.
    pub(in crate::tidy) to: String,
    /// The item, or a method with its type.
    pub(in crate::tidy) name: String,
    /// A `pub use` that only passes the item on.
    pub(in crate::tidy) is_passed_on: bool,
}

/// Returns the references of a module.
pub(super) fn read<'a>(names: &'a Names<'a>, methods: &'a Methods<'a>, module: usize) -> Vec<Reference> {
    let mut reader = Reader { known: Known::new(names, methods, module), found: Vec::new() };
    for item in names.modules[module].items {
        // Nested modules are read separately.
        if !matches!(item, Item::Mod(_)) {
            reader.visit_item(item);
        }
    }
    reader.found
}

struct Reader<'a> {
    known: Known<'a>,
    found: Vec<Reference>,
}

impl Reader<'_> {
    fn write_down(&mut self, line: usize, to: &str, name: String, is_passed_on: bool) {
        let from = self.known.names.modules[self.known.place.module].file.to_owned();
        self.found.push(Reference { from, line, to: to.to_owned(), name, is_passed_on });
    }

    /// Adds the references of a path: to the item, and to the method at its end.
    fn write_down_path(&mut self, path: &[String], line: usize, is_passed_on: bool) {
        let names = self.known.names;
        if let ([first, name, ..], Type::Own(own)) = (path, &self.known.place.own)
            && first == "Self"
        {
            self.write_down_method(*own, name, line);
            return;
        }
        for target in self.known.resolve(path) {
            let Target::Thing(thing, rest) = target else { continue };
            self.write_down(line, names.file_of(thing), names.things[thing].name.clone(), is_passed_on);
            if let Some(name) = rest.first() {
                let owner = match thing_type(names, thing) {
                    Type::Own(aliased) => aliased,
                    _ => thing,
                };
                self.write_down_method(owner, name, line);
            }
        }
    }

    fn write_down_method(&mut self, owner: usize, name: &str, line: usize) {
        let names = self.known.names;
        if let Some(method) = self.known.methods.of(owner, name) {
            self.write_down(line, method.file(names), method.full_name(names), false);
        }
    }

    fn write_down_macro(&mut self, path: &syn::Path) {
        let names = self.known.names;
        let module = self.known.place.module;
        let line = line_of(path);
        let segments = segments(path);
        match segments.as_slice() {
            [name] => {
                if let Some(thing) = names.macro_named(module, name) {
                    self.write_down(line, names.file_of(thing), format!("{name}!"), false);
                }
            }
            path => {
                for target in self.known.resolve(path) {
                    if let Target::Thing(thing, _) = target
                        && matches!(names.things[thing].what, What::Macro)
                    {
                        self.write_down(line, names.file_of(thing), names.things[thing].name.clone(), false);
                    }
                }
            }
        }
    }

    /// Collects the paths in the tokens of a macro. Names of methods are ignored.
    fn read_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let (mut line, mut joins, mut after_dot) = (0, false, false);
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if !joins {
                        self.end_path(&mut path, line);
                        line = name.span().start().line;
                    }
                    if !after_dot {
                        path.push(name.to_string());
                    }
                    (joins, after_dot) = (false, false);
                }
                TokenTree::Punct(mark) => {
                    joins = mark.as_char() == ':' && !path.is_empty();
                    after_dot = mark.as_char() == '.';
                    if !joins {
                        self.end_path(&mut path, line);
                    }
                }
                TokenTree::Group(group) => {
                    self.end_path(&mut path, line);
                    self.read_tokens(group.stream());
                }
                TokenTree::Literal(literal) => self.read_literal(&literal),
            }
        }
        self.end_path(&mut path, line);
    }

    fn end_path(&mut self, path: &mut Vec<String>, line: usize) {
        let path = std::mem::take(path);
        if !path.first().is_some_and(|first| self.known.is_variable(first)) {
            self.write_down_path(&path, line, false);
        }
    }

    /// Collects a path in a string literal, as in serde's attributes.
    fn read_literal(&mut self, literal: &proc_macro2::Literal) {
        let line = literal.span().start().line;
        let text = literal.to_string();
        let Ok(path) = syn::parse_str::<syn::Path>(text.trim_matches('"')) else { return };
        let path = segments(&path);
        if path.len() < 2 {
            return;
        }
        self.write_down_path(&path, line, false);
        let names = self.known.names;
        for target in self.known.resolve(&path) {
            if let Target::Module(module) = target {
                self.write_down(line, names.modules[module].file, path.join("::"), false);
            }
        }
    }

    /// Reads a part of the source with variables of its own.
    fn apart(&mut self, read: impl FnOnce(&mut Self)) {
        self.known.enter();
        read(self);
        self.known.leave();
    }

    /// Reads a pattern, and binds its names to parts of a value.
    fn match_with(&mut self, pattern: &Pat, value: Type) {
        self.visit_pat(pattern);
        self.known.bind(pattern, value);
    }

    /// Reads a part of the source in which `Self` is this type.
    fn inside(&mut self, own: Type, read: impl FnOnce(&mut Self)) {
        let around = std::mem::replace(&mut self.known.place.own, own);
        read(self);
        self.known.place.own = around;
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes_of(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        for import in imports(&item.tree) {
            self.write_down_path(&import.path, import.line, is_re_export(&item.vis));
            if let Some(name) = import.name
                && self.known.is_inside_function()
            {
                self.known.import(name, import.path);
            }
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let own = self.known.understand(&item.self_ty);
        self.inside(own, |reader| visit::visit_item_impl(reader, item));
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        let own = self.known.resolve(&[item.ident.to_string()]).into_iter().find_map(|target| match target {
            Target::Thing(thing, _) => Some(Type::Own(thing)),
            Target::Module(_) => None,
        });
        self.inside(own.unwrap_or(Type::Unknown), |reader| visit::visit_item_trait(reader, item));
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.apart(|reader| visit::visit_item_fn(reader, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !is_test(&item.attrs) {
            self.apart(|reader| visit::visit_impl_item_fn(reader, item));
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.apart(|reader| visit::visit_trait_item_fn(reader, item));
    }

    fn visit_field(&mut self, field: &'ast Field) {
        if !is_test(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_variant(&mut self, variant: &'ast Variant) {
        if !is_test(&variant.attrs) {
            visit::visit_variant(self, variant);
        }
    }

    fn visit_fn_arg(&mut self, argument: &'ast FnArg) {
        visit::visit_fn_arg(self, argument);
        if let FnArg::Typed(argument) = argument {
            let value = self.known.understand(&argument.ty);
            self.known.bind(&argument.pat, value);
        }
    }

    fn visit_block(&mut self, block: &'ast Block) {
        self.apart(|reader| visit::visit_block(reader, block));
    }

    fn visit_local(&mut self, local: &'ast Local) {
        if is_test(&local.attrs) {
            return;
        }
        let mut value = Type::Unknown;
        if let Some(init) = &local.init {
            self.visit_expr(&init.expr);
            if let Some((_, otherwise)) = &init.diverge {
                self.visit_expr(otherwise);
            }
            value = self.known.type_of(&init.expr);
        }
        self.match_with(&local.pat, value);
    }

    fn visit_expr_let(&mut self, expression: &'ast ExprLet) {
        self.visit_expr(&expression.expr);
        let value = self.known.type_of(&expression.expr);
        self.match_with(&expression.pat, value);
    }

    fn visit_expr_if(&mut self, expression: &'ast ExprIf) {
        self.apart(|reader| visit::visit_expr_if(reader, expression));
    }

    fn visit_expr_while(&mut self, expression: &'ast ExprWhile) {
        self.apart(|reader| visit::visit_expr_while(reader, expression));
    }

    fn visit_expr_for_loop(&mut self, expression: &'ast ExprForLoop) {
        self.visit_expr(&expression.expr);
        let part = part_of(&self.known.type_of(&expression.expr));
        self.apart(|reader| {
            reader.match_with(&expression.pat, part);
            reader.visit_block(&expression.body);
        });
    }

    fn visit_expr_match(&mut self, expression: &'ast syn::ExprMatch) {
        self.visit_expr(&expression.expr);
        let value = self.known.type_of(&expression.expr);
        for arm in &expression.arms {
            self.apart(|reader| {
                let (pattern, guard) = parts(&arm.pat);
                reader.match_with(pattern, value.clone());
                guard.iter().for_each(|guard| reader.visit_expr(guard));
                reader.visit_expr(&arm.body);
            });
        }
    }

    fn visit_expr_closure(&mut self, closure: &'ast ExprClosure) {
        self.apart(|reader| {
            for input in &closure.inputs {
                reader.match_with(input, Type::Unknown);
            }
            reader.visit_expr(&closure.body);
        });
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let (known, name) = (&self.known, call.method.to_string());
        let value = known.type_of(&call.receiver);
        let names = known.names;
        if let Some(method) = known.methods.called(names, &value, &name, call.args.len()) {
            let line = call.method.span().start().line;
            self.write_down(line, method.file(names), method.full_name(names), false);
        }
        self.visit_expr(&call.receiver);
        if let Some(turbofish) = &call.turbofish {
            self.visit_angle_bracketed_generic_arguments(turbofish);
        }
        for argument in &call.args {
            match argument {
                // A closure that gets each part of a value: `all(|part| ..)`, `map(|part| ..)`.
                Expr::Closure(closure) if closure.inputs.len() == 1 => self.apart(|reader| {
                    reader.match_with(&closure.inputs[0], given_by(&value, &name));
                    reader.visit_expr(&closure.body);
                }),
                other => self.visit_expr(other),
            }
        }
    }

    fn visit_pat_ident(&mut self, pattern: &'ast PatIdent) {
        visit::visit_pat_ident(self, pattern);
        self.known.bind_name(&pattern.ident, Type::Unknown);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = segments(path);
        let is_variable = segments.len() == 1 && self.known.is_variable(&segments[0]);
        if !is_variable {
            self.write_down_path(&segments, line_of(path), false);
        }
        visit::visit_path(self, path);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.read_tokens(list.tokens.clone());
        }
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.write_down_macro(&call.path);
        let expressions = Punctuated::<Expr, Token![,]>::parse_terminated;
        if let Ok(found) = call.parse_body_with(expressions) {
            found.iter().for_each(|expression| self.visit_expr(expression));
        } else if let Ok((expression, pattern, guard)) = call.parse_body_with(matches) {
            self.apart(|reader| {
                reader.visit_expr(&expression);
                let value = reader.known.type_of(&expression);
                reader.match_with(&pattern, value);
                guard.iter().for_each(|guard| reader.visit_expr(guard));
            });
        } else {
            self.read_tokens(call.tokens.clone());
        }
    }
}

/// A pattern and its guard.
fn parts(pattern: &Pat) -> (&Pat, Option<&Expr>) {
    match pattern {
        Pat::Guard(guarded) => (&guarded.pat, Some(&guarded.guard)),
        pattern => (pattern, None),
    }
}

/// Parses the arguments of `matches!`.
fn matches(input: syn::parse::ParseStream<'_>) -> syn::Result<(Expr, Pat, Option<Expr>)> {
    let expression = input.parse()?;
    input.parse::<Token![,]>()?;
    let pattern = Pat::parse_multi_with_leading_vert(input)?;
    let guard = if input.parse::<Option<Token![if]>>()?.is_some() { Some(input.parse()?) } else { None };
    input.parse::<Option<Token![,]>>()?;
    Ok((expression, pattern, guard))
}

fn line_of(path: &syn::Path) -> usize {
    path.segments.first().map_or(0, |segment| segment.ident.span().start().line)
}

fn attributes_of(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
