//! House rule: an organization is a row of independent choices, and each choice is compared by name
//! only in its own module.
//!
//! All others ask that module in words (`is_logged`, `keeps_copies`). Otherwise a new layout, code
//! or update policy has to be added to comparisons all over the sources. The same holds for
//! expressions that infer the code from the numbers of units. Tests may name what they like.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItemFn, Item, ItemImpl, ItemMod};

use super::arrows::{Sources, is_test};
use super::finding::Finding;

/// A choice: an enum of the array.
struct Choice {
    name: &'static str,
    variants: &'static [&'static str],
    /// Its module.
    room: &'static str,
}

const CHOICES: [Choice; 4] = [
    Choice {
        name: "LayoutChoice",
        variants: &[
            "Concatenated",
            "Striped",
            "Neighbours",
            "Shadows",
            "Parity",
            "Regions",
            "Far",
            "Cylinders",
        ],
        room: "crates/array/src/layout/",
    },
    Choice { name: "Code", variants: &["None", "Copy", "Xor"], room: "crates/array/src/code/" },
    Choice { name: "Update", variants: &["InPlace", "Logged", "Floating"], room: "crates/array/src/update/" },
    Choice {
        name: "ReadChoice",
        variants: &["Direct", "Primary", "RoundRobin", "ShortestQueue", "NearestHead", "Random"],
        room: "crates/array/src/read/",
    },
];

/// Where all choices may be named: the table of organizations, their numbers in superblocks, and
/// their names in settings.
const TABLES: [&str; 3] = [
    "crates/array/src/organization.rs",
    "crates/array/src/format/",
    "crates/lab/src/settings/organization.rs",
];

/// Methods whose result, compared with one of these numbers, tells which code it must be.
const TELLING: [(&str, &[&str]); 2] = [("data_units", &["1", "2"]), ("check_units", &["0"])];
const CODES: &str = "crates/array/src/code/";

const ASK: &str = "ask the choice's own module, or the organization or geometry, in words";
const ASK_THE_CODE: &str = "ask the code what it is, or the geometry what it keeps";

/// Checks every source.
pub(super) fn check(texts: &BTreeMap<String, String>, sources: &Sources) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in sources.iter().filter(|(path, _)| !is_of_tests(path)) {
        let mut tests = Tests::default();
        tests.visit_file(source);
        let Ok(stream) = TokenStream::from_str(&texts[path]) else { continue };
        let tokens = flatten(stream);
        for (index, token) in tokens.iter().enumerate() {
            if tests.0.iter().any(|lines| lines.contains(&token.line)) {
                continue;
            }
            let rest = &tokens[index..];
            if let Some(name) = named(path, rest) {
                findings.push(Finding::new(path, token.line, format!("`{name}` outside its module"), ASK));
            }
            if let Some(method) = infers(path, rest) {
                let wrong = format!("a code inferred from `{method}`");
                findings.push(Finding::new(path, token.line, wrong, ASK_THE_CODE));
            }
        }
    }
    findings
}

fn is_of_tests(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// The variant of a choice that these tokens begin with and that may not be named in this file. An
/// import of all variants counts as naming them, and so does one of some.
fn named(path: &str, tokens: &[Token]) -> Option<String> {
    let (first, variant) = match tokens {
        [first, colon, other, open, variant, ..] if is(&[colon, other], "::") && open.text == "{" => {
            (first, variant)
        }
        [first, colon, other, variant, ..] if is(&[colon, other], "::") => (first, variant),
        _ => return None,
    };
    let choice = CHOICES.iter().find(|choice| choice.name == first.text)?;
    let is_variant = variant.text == "*" || choice.variants.contains(&variant.text.as_str());
    let is_allowed = path.starts_with(choice.room) || TABLES.iter().any(|table| path.starts_with(table));
    (is_variant && !is_allowed).then(|| format!("{}::{}", first.text, variant.text))
}

/// The method that these tokens begin with, if it is compared with a number that tells the code.
fn infers<'a>(path: &str, tokens: &'a [Token]) -> Option<&'a str> {
    let [method, open, close, rest @ ..] = tokens else { return None };
    let (_, numbers) = TELLING.iter().find(|(name, _)| *name == method.text)?;
    let compared =
        rest.iter().take_while(|token| ["=", "!", "<", ">"].contains(&token.text.as_str())).count();
    let number = &rest.get(compared)?.text;
    let is_inferred = is(&[open, close], "()") && compared > 0 && numbers.contains(&number.as_str());
    (is_inferred && !path.starts_with(CODES)).then_some(method.text.as_str())
}

fn is(tokens: &[&Token], text: &str) -> bool {
    tokens.iter().map(|token| token.text.as_str()).collect::<String>() == text
}

/// A word, a mark, a literal or a bracket.
struct Token {
    text: String,
    line: usize,
}

/// The tokens of a source in order, with brackets as tokens of their own.
fn flatten(stream: TokenStream) -> Vec<Token> {
    let mut flat = Vec::new();
    for tree in stream {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                let end = group.span_close().start().line;
                flat.push(Token { text: open.to_owned(), line });
                flat.extend(flatten(group.stream()));
                flat.push(Token { text: close.to_owned(), line: end });
            }
            other => flat.push(Token { text: other.to_string(), line }),
        }
    }
    flat
}

/// The lines of the items that are for tests only.
#[derive(Default)]
struct Tests(Vec<RangeInclusive<usize>>);

impl Tests {
    fn is_one(&mut self, attributes: &[Attribute], item: &impl Spanned) -> bool {
        let is_one = is_test(attributes);
        if is_one {
            let span = item.span();
            self.0.push(span.start().line..=span.end().line);
        }
        is_one
    }
}

impl<'ast> Visit<'ast> for Tests {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Const(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        self.is_one(attributes, item);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !self.is_one(&item.attrs, item) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if !self.is_one(&item.attrs, item) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.is_one(&item.attrs, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTSIDE: &str = "crates/fault/src/options.rs";

    fn findings(path: &str, text: &str) -> Vec<String> {
        let texts = BTreeMap::from([(path.to_owned(), text.to_owned())]);
        let sources = BTreeMap::from([(path.to_owned(), syn::parse_file(text).unwrap())]);
        check(&texts, &sources).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_choice_that_is_compared_outside_its_module_is_found() {
        let text = "fn f(update: Update) -> bool {\n    update == Update::Logged\n}\n";
        let found = format!("{OUTSIDE}:2: `Update::Logged` outside its module: {ASK}");
        assert_eq!(findings(OUTSIDE, text), [found]);
    }

    #[test]
    fn each_choice_may_be_named_in_its_own_module_and_in_the_tables() {
        for choice in &CHOICES {
            for variant in choice.variants {
                let text = format!("fn f() -> {0} {{ {0}::{variant} }}", choice.name);
                let inside = format!("{}choice.rs", choice.room);
                assert_eq!(findings(&inside, &text), [""; 0], "{text}");
                assert_eq!(findings("crates/array/src/organization.rs", &text), [""; 0], "{text}");
                assert_eq!(findings("crates/array/src/format/superblock.rs", &text), [""; 0], "{text}");
                assert_eq!(findings(OUTSIDE, &text).len(), 1, "{text}");
                for other in CHOICES.iter().filter(|other| other.name != choice.name) {
                    assert_eq!(findings(&format!("{}mod.rs", other.room), &text).len(), 1, "{text}");
                }
            }
        }
    }

    #[test]
    fn patterns_macros_and_imports_name_choices_too() {
        for text in [
            "fn f(layout: LayoutChoice) -> bool { matches!(layout, LayoutChoice::Parity(_)) }",
            "fn f(code: Code) { match code { crate::organization::Code::Xor => {} _ => {} } }",
            "use parlour_array::organization::Update::*;",
            "use parlour_array::organization::Update::{Logged, InPlace};",
        ] {
            assert_eq!(findings(OUTSIDE, text).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_code_that_is_inferred_from_numbers_of_units_is_found() {
        for text in [
            "fn f(l: &Layout) -> bool { l.data_units() == 1 }",
            "fn f(l: &Layout) -> bool { l.check_units() > 0 }",
            "fn f(l: &Layout) { assert!(l.check_units() != 0) }",
            "fn f(l: &Layout) -> bool { l.data_units() < 2 }",
        ] {
            assert_eq!(findings("crates/array/src/draw.rs", text).len(), 1, "{text}");
            assert_eq!(findings("crates/array/src/code/mod.rs", text), [""; 0], "{text}");
        }
    }

    #[test]
    fn what_only_looks_alike_is_free() {
        for text in [
            "fn f(update: model::Update) -> bool { update == Update::OneAccess }",
            "fn f() -> Vec<Update> { Update::ALL.to_vec() }",
            "fn f() -> bool { NAMED.iter().all(|row| Update::is_logged(row.update)) }",
            "// As with Update::Logged, data_units() == 1.\nfn f() -> &'static str { \"Update::Logged\" }",
            "fn f(l: &Layout) -> Vec<u16> { vec![l.data_units(), 1, l.check_units() + 1] }",
            "fn f(l: &Layout) -> bool { l.check_units() < 2 }",
        ] {
            assert_eq!(findings(OUTSIDE, text), [""; 0], "{text}");
        }
    }

    #[test]
    fn tests_may_name_all_choices_and_what_follows_them_may_not() {
        let tests = "#[cfg(test)]\nmod tests {\n    fn f() -> Code { Code::Xor }\n}\n";
        let method = "struct S;\nimpl S {\n    #[cfg(test)]\n    fn f() -> Code { Code::Xor }\n}\n";
        let import = "#[cfg(test)]\nuse Code::Xor;\n";
        let code = "fn f() -> Code { Code::Xor }\n";
        for free in [tests, method, import] {
            assert_eq!(findings(OUTSIDE, free), [""; 0]);
            assert_eq!(findings(OUTSIDE, &format!("{free}{code}")).len(), 1);
        }
        assert_eq!(findings("crates/array/tests/layouts.rs", code), [""; 0]);
        assert_eq!(findings("xtask/src/tidy/arrows/tests.rs", code), [""; 0]);
    }
}
