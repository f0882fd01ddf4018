//! Weaves all changes of a file into one text: the code at each place asks which change is enabled.

use std::collections::BTreeMap;
use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::found::{Genre, Mutant};

/// The call that asks for a change; the number follows.
const ASK: &str = "crate::mutation::is(";
/// The mark at the end of a change; the number follows.
const END: &str = "/*end of change ";
/// The mark at the end of all changes at one place; their numbers follow.
const END_OF_ALL: &str = "/*end of changes ";

/// The content of `mutation.rs` in the changed copy.
pub(crate) const MODULE: &str = r#"//! Which change is switched on.
use std::sync::LazyLock;
static CHOSEN: LazyLock<u32> =
    LazyLock::new(|| std::env::var("PARLOUR_MUTANT").map_or(0, |text| text.parse().expect("a number")));
pub(crate) fn is(number: u32) -> bool {
    *CHOSEN == number
}
"#;

/// The replacement of a range of the source.
enum Site {
    /// An expression with its alternatives.
    Instead { range: Range<usize>, others: Vec<(u32, String)> },
    /// A guard. The range is empty if the arm has no guard.
    Guard { range: Range<usize>, chain: bool, always: Option<u32>, never: Vec<u32> },
    /// An insertion.
    Insert { at: usize, text: String },
}

impl Site {
    fn range(&self) -> Range<usize> {
        match self {
            Site::Instead { range, .. } | Site::Guard { range, .. } => range.clone(),
            Site::Insert { at, .. } => *at..*at,
        }
    }
}

/// Returns the text with these changes. Changes that cannot be expressed are left out.
pub(crate) fn weave(source: &str, mutants: &[&Mutant]) -> Result<String, syn::Error> {
    let file = syn::parse_file(source)?;
    let mut places = Places { source, ..Places::default() };
    places.visit_file(&file);
    let mut sites: BTreeMap<(usize, usize, bool), Site> = BTreeMap::new();
    for mutant in mutants {
        if let Some(site) = places.site(mutant) {
            let range = site.range();
            // Outer sites come first, and a guard comes before the expression that it consists of.
            let key = (range.start, usize::MAX - range.end, !matches!(site, Site::Guard { .. }));
            match sites.remove(&key) {
                None => sites.insert(key, site),
                Some(known) => sites.insert(key, merge(known, site)),
            };
        }
    }
    let sites: Vec<Site> = sites.into_values().collect();
    Ok(render(source, 0..source.len(), &sites))
}

fn merge(known: Site, more: Site) -> Site {
    match (known, more) {
        (Site::Instead { range, mut others }, Site::Instead { others: more, .. }) => {
            others.extend(more);
            Site::Instead { range, others }
        }
        (
            Site::Guard { range, chain, always, mut never },
            Site::Guard { always: more_always, never: more, .. },
        ) => {
            never.extend(more);
            Site::Guard { range, chain, always: always.or(more_always), never }
        }
        (Site::Insert { at, text }, Site::Insert { text: more, .. }) => {
            Site::Insert { at, text: text + &more }
        }
        (known, _) => known,
    }
}

/// The source of `range`, with the sites in it.
fn render(source: &str, range: Range<usize>, sites: &[Site]) -> String {
    let mut text = String::new();
    let (mut at, mut rest) = (range.start, sites);
    while let Some((site, after)) = rest.split_first() {
        let own = site.range();
        let inner =
            after.iter().take_while(|other| other.range().end <= own.end && own.start < own.end).count();
        let (inner, outer) = after.split_at(inner);
        text.push_str(&source[at..own.start]);
        text.push_str(&render_site(source, site, inner));
        (at, rest) = (own.end, outer);
    }
    text + &source[at..range.end]
}

fn render_site(source: &str, site: &Site, inner: &[Site]) -> String {
    match site {
        Site::Insert { text, .. } => text.clone(),
        Site::Instead { range, others } => {
            let asked: String =
                others.iter().map(|(number, other)| format!("if {} else ", change(*number, other))).collect();
            let numbers: Vec<String> = others.iter().map(|(number, _)| number.to_string()).collect();
            let own = render(source, range.clone(), inner);
            format!("({asked}{{ {own} }}{END_OF_ALL}{}*/)", numbers.join(","))
        }
        Site::Guard { range, chain, always, never } => {
            let nots: Vec<String> =
                never.iter().map(|number| format!("!{ASK}{number}){END}{number}*/")).collect();
            let mut all = nots;
            if !range.is_empty() {
                let guard = render(source, range.clone(), inner);
                all.push(match always {
                    _ if *chain => guard,
                    Some(number) => format!("({ASK}{number}){END}{number}*/ || ({guard}))"),
                    None => format!("({guard})"),
                });
            }
            let guard = all.join(" && ");
            if range.is_empty() { format!(" if {guard}") } else { guard }
        }
    }
}

/// The code of a change: the question, and the replacement that is used if the answer is yes.
fn change(number: u32, what: &str) -> String {
    format!("{ASK}{number}) {{ {what} }}{END}{number}*/")
}

/// The changes in a woven text, each with its range of bytes.
pub(crate) fn changes(text: &str) -> Vec<(Range<usize>, u32)> {
    let asked = text.match_indices(ASK).filter_map(|(at, _)| Some((at, number_at(text, at + ASK.len())?)));
    asked
        .filter_map(|(at, number)| {
            let end = format!("{END}{number}*/");
            Some((at..at + text[at..].find(&end)? + end.len(), number))
        })
        .collect()
}

/// The alternatives at each place of a woven text: the range of all of them with the original code,
/// and their numbers.
pub(crate) fn choices(text: &str) -> Vec<(Range<usize>, Vec<u32>)> {
    let ends = text.match_indices(END_OF_ALL).filter_map(|(at, _)| {
        let (numbers, _) = text[at + END_OF_ALL.len()..].split_once('*')?;
        Some((at, numbers.split(',').map(str::parse).collect::<Result<Vec<u32>, _>>().ok()?))
    });
    ends.filter_map(|(end, numbers)| {
        let start = text.find(&format!("{ASK}{})", numbers.first()?))?;
        Some((start..end, numbers))
    })
    .collect()
}

fn number_at(text: &str, at: usize) -> Option<u32> {
    let digits: String = text[at..].chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// The places that can be changed. Each is stored by the byte at which the text that cargo-mutants
/// replaces begins.
#[derive(Default)]
struct Places<'a> {
    source: &'a str,
    /// For an operator: its range, and the range of the whole expression.
    binary: BTreeMap<usize, (Range<usize>, Range<usize>)>,
    unary: BTreeMap<usize, (Range<usize>, Range<usize>)>,
    /// For a guard: its range, and whether it binds names.
    guards: BTreeMap<usize, (Range<usize>, bool)>,
    /// For an arm: the range of its guard, or the position for one, and whether the guard binds
    /// names.
    arms: BTreeMap<usize, (Range<usize>, bool)>,
    /// For a function, by its first statement: the position of an insertion before the body.
    bodies: BTreeMap<usize, usize>,
    /// For a field: the range of its value, and the code for the value from its base.
    fields: BTreeMap<usize, (Range<usize>, String)>,
}

impl Places<'_> {
    fn site(&self, mutant: &Mutant) -> Option<Site> {
        let at = self.byte(mutant.start)?;
        let (number, replacement) = (mutant.number, &mutant.replacement);
        let instead = |range: &Range<usize>, other: String| {
            Some(Site::Instead { range: range.clone(), others: vec![(number, other)] })
        };
        let operator = |(operator, whole): &(Range<usize>, Range<usize>)| {
            let before = &self.source[whole.start..operator.start];
            let after = &self.source[operator.end..whole.end];
            instead(whole, format!("{before}{replacement}{after}"))
        };
        match mutant.genre {
            Genre::BinaryOperator => operator(self.binary.get(&at)?),
            Genre::UnaryOperator => operator(self.unary.get(&at)?),
            Genre::Field => {
                let (value, other) = self.fields.get(&at)?;
                instead(value, other.clone())
            }
            Genre::Body => {
                let what = change(number, &format!("return {replacement};"));
                Some(Site::Insert { at: *self.bodies.get(&at)?, text: format!("if {what} ") })
            }
            Genre::Arm => {
                let (range, chain) = self.arms.get(&at)?.clone();
                Some(Site::Guard { range, chain, always: None, never: vec![number] })
            }
            Genre::Guard => {
                let (range, chain) = self.guards.get(&at)?.clone();
                let always = Some(number).filter(|_| replacement == "true");
                let never = Vec::from_iter(Some(number).filter(|_| replacement != "true"));
                Some(Site::Guard { range, chain, always, never })
            }
        }
    }

    /// The byte offset of a line and a column, both from 1.
    fn byte(&self, (line, column): (usize, usize)) -> Option<usize> {
        let start: usize = self.source.split_inclusive('\n').take(line - 1).map(str::len).sum();
        let within = self.source[start..].char_indices().nth(column - 1)?.0;
        Some(start + within)
    }

    fn body(&mut self, signature: &syn::Signature, block: &syn::Block) {
        // Each `impl Trait` stands for one type. The value that cargo-mutants returns there has
        // another type.
        let output = &self.source[signature.output.span().byte_range()];
        if output.contains("impl ") {
            return;
        }
        let open = block.brace_token.span.open().byte_range();
        if let Some(first) = block.stmts.first() {
            self.bodies.insert(first.span().byte_range().start, open.end);
        }
    }
}

/// Whether the expression is a chain of conditions that binds names.
fn binds(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(binary) => binds(&binary.left) || binds(&binary.right),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Places<'_> {
    fn visit_expr_binary(&mut self, expression: &'ast syn::ExprBinary) {
        if !binds(&expression.left) && !binds(&expression.right) {
            let operator = expression.op.span().byte_range();
            self.binary.insert(operator.start, (operator, expression.span().byte_range()));
        }
        visit::visit_expr_binary(self, expression);
    }

    fn visit_expr_unary(&mut self, expression: &'ast syn::ExprUnary) {
        let operator = expression.op.span().byte_range();
        self.unary.insert(operator.start, (operator, expression.span().byte_range()));
        visit::visit_expr_unary(self, expression);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        let (pattern, guard) = match &arm.pat {
            syn::Pat::Guard(guarded) => (&*guarded.pat, Some(&*guarded.guard)),
            pattern => (pattern, None),
        };
        let pattern = pattern.span().byte_range();
        let guard = guard.map(|guard| (guard.span().byte_range(), binds(guard)));
        if let Some((range, binds)) = &guard {
            self.guards.insert(range.start, (range.clone(), *binds));
        }
        self.arms.insert(arm.span().byte_range().start, guard.unwrap_or((pattern.end..pattern.end, false)));
        visit::visit_arm(self, arm);
    }

    fn visit_expr_struct(&mut self, expression: &'ast syn::ExprStruct) {
        if let Some(rest) = &expression.rest {
            let base = &self.source[rest.span().byte_range()];
            for field in expression.fields.iter().filter(|field| field.colon_token.is_some()) {
                let syn::Member::Named(name) = &field.member else { continue };
                let other = format!("({base}).{name}.clone()");
                self.fields.insert(field.span().byte_range().start, (field.expr.span().byte_range(), other));
            }
        }
        visit::visit_expr_struct(self, expression);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.body(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.body(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.body(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weaves changes into `source`. Each change begins at the last character of its text.
    fn woven(source: &str, changed: &[(Genre, &str, &str)]) -> String {
        let mutants: Vec<Mutant> = (1..)
            .zip(changed)
            .map(|(number, (genre, at, replacement))| Mutant {
                number,
                name: String::new(),
                file: String::new(),
                genre: *genre,
                start: (1, source.find(at).expect("it is there") + at.len()),
                replacement: (*replacement).to_owned(),
            })
            .collect();
        let text = weave(source, &mutants.iter().collect::<Vec<_>>()).expect("it is Rust");
        syn::parse_file(&text).expect("it still is");
        // Without the marks the text is easier to read.
        let mut plain = text.replace(ASK, "is(");
        while let Some(start) = plain.find("/*") {
            let end = start + plain[start..].find("*/").expect("it ends") + 2;
            plain.replace_range(start..end, "");
        }
        plain
    }

    #[test]
    fn an_operator_is_exchanged_for_each_other() {
        let text = woven(
            "fn f() { g(a < b) }",
            &[(Genre::BinaryOperator, "a <", ">"), (Genre::BinaryOperator, "a <", "==")],
        );
        assert_eq!(text, "fn f() { g((if is(1) { a > b } else if is(2) { a == b } else { a < b })) }");
    }

    #[test]
    fn what_is_within_a_change_stays_as_it_was() {
        let text = woven(
            "fn f() { !a && b }",
            &[(Genre::UnaryOperator, "{ !", ""), (Genre::BinaryOperator, "a &", "||")],
        );
        assert_eq!(text, "fn f() { (if is(2) { !a || b } else { (if is(1) { a } else { !a }) && b }) }");
    }

    #[test]
    fn a_body_is_left_at_once() {
        let text = woven("fn f() -> u8 { g(); 3 }", &[(Genre::Body, "{ g", "1")]);
        assert_eq!(text, "fn f() -> u8 {if is(1) { return 1; }  g(); 3 }");
    }

    #[test]
    fn a_body_of_an_unnamed_type_is_left_alone() {
        let source = "fn f() -> impl Iterator<Item = u8> { g() }";
        assert_eq!(woven(source, &[(Genre::Body, "{ g", "empty()")]), source);
    }

    #[test]
    fn guards_and_arms_ask_too() {
        let source = "fn f() { match x { A if b == c => 1, B => 2, _ => 3 } }";
        let text = woven(
            source,
            &[
                (Genre::Guard, "if b", "true"),
                (Genre::Guard, "if b", "false"),
                (Genre::Arm, "{ A", ""),
                (Genre::Arm, ", B", ""),
                (Genre::BinaryOperator, "b =", "!="),
            ],
        );
        let guard = "!is(2) && !is(3) && (is(1) || ((if is(5) { b != c } else { b == c })))";
        assert_eq!(text, format!("fn f() {{ match x {{ A if {guard} => 1, B if !is(4) => 2, _ => 3 }} }}"));
    }

    #[test]
    fn a_field_is_what_it_was() {
        let text = woven("fn f() { A { b: 1, ..*c } }", &[(Genre::Field, "{ b", "")]);
        assert_eq!(text, "fn f() { A { b: (if is(1) { (*c).b.clone() } else { 1 }), ..*c } }");
    }

    #[test]
    fn conditions_that_bind_are_left_alone() {
        let source = "fn f() { if let A = b && c { d() } }";
        assert_eq!(woven(source, &[(Genre::BinaryOperator, "b &", "||")]), source);
    }
}
