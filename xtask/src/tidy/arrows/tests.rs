use super::*;

/// The references between the files of a library, each as `from:line to name`.
fn named(files: &[(&str, &str)]) -> Vec<String> {
    let paths: Vec<(String, &str)> =
        files.iter().map(|(path, text)| (format!("crates/house/src/{path}"), *text)).collect();
    let files: Vec<(&str, &str)> = paths.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let short = |path: &str| path.strip_prefix("crates/house/src/").unwrap().to_owned();
    let targets = of(&files);
    let references = targets.iter().flat_map(|target| &target.references);
    references
        .filter(|reference| !reference.is_passed_on)
        .map(|Reference { from, line, to, name, .. }| format!("{}:{line} {} {name}", short(from), short(to)))
        .collect()
}

const NOTHING: [&str; 0] = [];

#[test]
fn imports_are_seen_however_they_are_written() {
    let found = named(&[
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "pub struct A; pub fn f() {} pub const C: u8 = 1; pub trait T {}"),
        ("b.rs", "use crate::a::{A,\n f as g};\nuse super::a::C;\nuse super::{a::{T as _, self}};"),
        ("c/mod.rs", "mod d;"),
        ("c/d.rs", "use super::super::a;\nfn g() { a::f() }"),
    ]);
    assert_eq!(
        found,
        ["b.rs:1 a.rs A", "b.rs:2 a.rs f", "b.rs:3 a.rs C", "b.rs:4 a.rs T", "c/d.rs:2 a.rs f"]
    );
}

#[test]
fn paths_that_are_not_imported_are_seen_wherever_they_stand() {
    for text in [
        "fn g(a: crate::a::A) {}",
        "struct G(Vec<crate::a::A>);",
        "fn g() { let _ = crate::a::A { x: 1 }; }",
        "fn g() { if let crate::a::A { .. } = h() {} }",
        "fn g() { println!(\"{}\", crate::a::A::X) }",
        "fn g() { assert!(matches!(h(), crate::a::A { .. } if true)) }",
        "fn g() { json!({ \"a\": [crate::a::A] }) }",
        "impl From<crate::a::A> for u8 {}",
        "fn g<T: Into<crate::a::A>>() {}",
        "fn g() { use crate::a::A as B; B::default() }",
        "#[serde(try_from = \"crate::a::A\")] struct G;",
    ] {
        let found = named(&[("lib.rs", "mod a; mod b;"), ("a.rs", "pub struct A { x: u8 }"), ("b.rs", text)]);
        assert_eq!(found, ["b.rs:1 a.rs A"], "{text}");
    }
}

#[test]
fn a_re_export_neither_hides_an_arrow_nor_makes_one() {
    let found = named(&[
        ("lib.rs", "pub mod a; mod b; pub use a::*;"),
        ("a/mod.rs", "mod inner; pub(crate) use inner::{Item as Thing, make};"),
        ("a/inner.rs", "pub struct Item; pub fn make() {}"),
        ("b.rs", "use crate::a::Thing;\nfn f() { crate::make() }"),
    ]);
    assert_eq!(found, ["b.rs:1 a/inner.rs Item", "b.rs:2 a/inner.rs make"]);
}

#[test]
fn what_is_passed_on_and_named_as_well_is_named() {
    let found = named(&[("lib.rs", "mod a;\npub use a::A;\nfn f(a: A) {}"), ("a.rs", "pub struct A;")]);
    assert_eq!(found, ["lib.rs:3 a.rs A"]);
}

#[test]
fn a_module_alone_is_not_named() {
    let found = named(&[
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "pub struct A;"),
        ("b.rs", "use crate::a; use super::c::{self};"),
        ("c.rs", ""),
    ]);
    assert_eq!(found, NOTHING);
}

#[test]
fn a_function_that_is_called_as_a_module_is_not_the_module() {
    let found = named(&[
        ("lib.rs", "mod run; fn run() {}"),
        ("run.rs", "mod inner; pub struct Run;"),
        ("run/inner.rs", "use crate::run::Run;"),
    ]);
    assert_eq!(found, ["run/inner.rs:1 run.rs Run"]);
}

#[test]
fn other_crates_and_tests_are_left_out() {
    let found = named(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "pub struct Duration; pub fn f() {} impl Duration { pub fn ours(&self) {} }"),
        (
            "b.rs",
            "use std::time::Duration; fn g(d: Duration) { d.ours() }
             #[cfg(test)] mod tests { use crate::a::f; }
             #[cfg(all(test, unix))] use crate::a::f;
             #[cfg(test)] impl T { fn g() { crate::a::f() } }",
        ),
    ]);
    assert_eq!(found, NOTHING);
}

/// The references of a caller to a type whose methods are in two files.
fn with_methods(caller: &str) -> Vec<String> {
    let found = named(&[
        ("lib.rs", "mod a; mod host; mod log; mod b; mod other;"),
        ("a.rs", "pub struct A { pub part: P, pub parts: Vec<P> } pub struct P; impl A { fn new() -> A {} }"),
        ("host.rs", "use crate::a::A; impl A { pub fn admit(&self, n: u8) -> crate::a::P {} }"),
        (
            "log.rs",
            "use crate::a::P; impl P { pub fn append(&self) {} pub fn len(&self) {} const N: u8 = 1; }",
        ),
        ("other.rs", "pub struct O; impl O { pub fn append(&self) {} pub fn only(&self, n: u8) {} }"),
        ("b.rs", caller),
    ]);
    let calls = found.into_iter().filter(|found| found.starts_with("b.rs") && found.contains("::"));
    calls.map(|found| found.split_once(' ').unwrap().1.to_owned()).collect()
}

#[test]
fn calls_lead_to_the_file_of_the_impl() {
    for (caller, called) in [
        ("impl crate::a::A { fn f(&self) { self.admit(1); } }", "host.rs A::admit"),
        ("impl crate::a::A { fn f(&self) { Self::admit(self, 1); } }", "host.rs A::admit"),
        ("use crate::a::A; fn f() { A::admit }", "host.rs A::admit"),
        ("use crate::a::P; fn f() { P::N }", "log.rs P::N"),
        ("use crate::a::A; type B = A; fn f() { B::admit }", "host.rs A::admit"),
    ] {
        assert_eq!(with_methods(caller), [called], "{caller}");
    }
}

#[test]
fn the_type_of_what_is_called_on_is_followed() {
    for value in [
        "fn f(p: &mut crate::a::P) { p.append() }",
        "fn f(p: Option<Box<crate::a::P>>) { p.unwrap().append() }",
        "fn f(p: Option<Box<crate::a::P>>) { if let Some(q) = &p { q.append() } }",
        "fn f(p: Option<crate::a::P>) { p.map(|q| q.append()); }",
        "fn f(p: Option<crate::a::P>) { let Some(q) = p else { return }; q.append() }",
        "fn f(a: &crate::a::A) { a.part.append() }",
        "fn f(a: &crate::a::A) { a.parts[0].append() }",
        "fn f(a: &crate::a::A) { for p in a.parts.iter().rev() { p.append() } }",
        "fn f(a: &crate::a::A) { a.parts.iter().all(|p| p.append()); }",
        "use crate::a::A; fn f(A { part, .. }: &A) { part.append() }",
        "use crate::a::P; fn f() { let p: P = x(); p.append() }",
        "use crate::a::P; fn f() { let p = P; assert!(p.append()) }",
        "struct G { a: crate::a::A } impl G { fn f(&self) { self.a.part.append() } }",
    ] {
        assert_eq!(with_methods(value), ["log.rs P::append"], "{value}");
    }
    let answered = "fn f(a: &crate::a::A) { a.admit(1).append() }";
    assert_eq!(with_methods(answered), ["host.rs A::admit", "log.rs P::append"]);
}

#[test]
fn where_the_type_is_not_known_the_name_must_tell() {
    assert_eq!(with_methods("fn f(x: impl Fn()) { x().admit(1) }"), ["host.rs A::admit"]);
    // Other arguments, a name in two files, a name of std, and a value of another crate.
    for silent in [
        "fn f() { x().admit() }",
        "fn f() { x().append() }",
        "fn f() { x().len() }",
        "fn f(x: u32) { x.admit(1) }",
        "use std::fs::File; fn f(x: File) { x.admit(1) }",
    ] {
        assert_eq!(with_methods(silent), NOTHING, "{silent}");
    }
}

#[test]
fn an_inner_name_hides_an_outer_one() {
    let hidden = "fn f(p: &crate::a::P, o: &[crate::other::O]) { for p in o { p.only(1) } p.append() }";
    assert_eq!(with_methods(hidden), ["log.rs P::append", "other.rs O::only"]);
}

#[test]
fn a_trait_s_method_leads_to_the_trait() {
    let found = named(&[
        ("lib.rs", "mod tr; mod a; mod b;"),
        ("tr.rs", "pub trait Speak { fn speak(&self) {} }"),
        ("a.rs", "pub struct A;\nimpl crate::tr::Speak for A { fn speak(&self) {} }"),
        ("b.rs", "use crate::a::A;\nfn f(a: A) { a.speak() }\nfn g(a: &dyn crate::tr::Speak) { a.speak() }"),
    ]);
    let calls: Vec<&String> = found.iter().filter(|found| found.ends_with("speak")).collect();
    assert_eq!(calls, ["b.rs:2 tr.rs Speak::speak", "b.rs:3 tr.rs Speak::speak"]);
}

#[test]
fn a_name_that_a_crate_below_has_too_says_nothing() {
    let below = ("crates/below/src/lib.rs", "pub struct B; impl B { pub fn tidied(&self) {} }");
    let lib = ("crates/house/src/lib.rs", "mod a; mod b;");
    let a = ("crates/house/src/a.rs", "pub struct A; impl A { pub fn tidied(&self) {} }");
    let calls = |b: &str| -> usize {
        of(&[below, lib, a, ("crates/house/src/b.rs", b)]).iter().map(|target| target.references.len()).sum()
    };
    assert_eq!(calls("fn f() { x().tidied() }"), 1);
    assert_eq!(calls("use parlour_below::B; fn f() { x().tidied() }"), 0);
}

#[test]
fn our_own_macros_are_seen() {
    let found = named(&[
        ("lib.rs", "#[macro_use] mod m; mod a;"),
        ("m/mod.rs", "macro_rules! fill { () => {} } mod user;"),
        ("m/user.rs", "fn f() { fill!() }"),
        ("a.rs", "fn f() { println!() }"),
    ]);
    assert_eq!(found, ["m/user.rs:1 m/mod.rs fill!"]);
}
