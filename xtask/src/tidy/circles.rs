//! House rule: the references between the files of a crate form no cycle.
//!
//! Files in a cycle are one unit in several pieces: none of them can be read, tested or changed
//! without the others.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::arrows::{Reference, Target};
use super::debts::{self, Circle};
use super::finding::Finding;

const TURN: &str = "move what is named into a file that both may know, or let it be handed over";
const STRIKE: &str = "strike it from CIRCLES, so that it stays so";
const PART: &str = "list them apart, so that they stay so";

/// Checks every target. The cycles listed in `debts` are allowed, and must still exist.
pub(super) fn check(targets: &[Target], debts: &[Circle]) -> Vec<Finding> {
    let mut arrows: BTreeMap<&str, Arrows<'_>> = BTreeMap::new();
    for target in targets {
        let arrows = arrows.entry(&target.folder).or_default();
        // A library and a program may share their directory.
        target.references.iter().for_each(|reference| arrows.add(reference));
    }
    let circles: BTreeMap<&str, Vec<Files<'_>>> =
        arrows.iter().map(|(folder, arrows)| (*folder, arrows.circles())).collect();
    let mut findings = Vec::new();
    for (folder, circles) in &circles {
        let listed: Vec<BTreeSet<String>> =
            debts.iter().filter(|debt| debt.folder == *folder).map(paths).collect();
        let is_listed =
            |circle: &Files<'_>| listed.iter().any(|listed| circle.iter().all(|file| listed.contains(*file)));
        let unknown = circles.iter().filter(|circle| !is_listed(circle));
        findings.extend(unknown.map(|circle| describe(&arrows[folder], circle, &listed)));
    }
    for debt in debts {
        let circles = circles.get(debt.folder).map_or(&[][..], Vec::as_slice);
        findings.extend(check_debt(debt, circles));
    }
    findings
}

type Files<'a> = BTreeSet<&'a str>;

/// The finding for a listed cycle that has changed. A cycle that has grown is found elsewhere.
fn check_debt(debt: &Circle, circles: &[Files<'_>]) -> Option<Finding> {
    let listed = paths(debt);
    let still: Vec<&Files<'_>> =
        circles.iter().filter(|circle| circle.iter().any(|file| listed.contains(*file))).collect();
    let free: Vec<&str> = listed
        .iter()
        .map(String::as_str)
        .filter(|file| !still.iter().any(|circle| circle.contains(file)))
        .collect();
    let line = debts::line_of(debt.folder, debt.files.first().copied().unwrap_or_default());
    if !free.is_empty() {
        let wrong = format!("in no circle any more, in {}: {}", debt.folder, short(debt.folder, &free));
        return Some(Finding::new(debts::PATH, line, wrong, STRIKE));
    }
    (still.len() > 1).then(|| {
        let parts: Vec<String> = still
            .iter()
            .map(|circle| short(debt.folder, &circle.iter().copied().collect::<Vec<_>>()))
            .collect();
        let wrong = format!("a circle that has become several, in {}: {}", debt.folder, parts.join("; "));
        Finding::new(debts::PATH, line, wrong, PART)
    })
}

/// The finding for a cycle, with a shortest path around it through a reference that is not listed.
fn describe(arrows: &Arrows<'_>, circle: &Files<'_>, listed: &[BTreeSet<String>]) -> Finding {
    let is_listed = |reference: &Reference| {
        listed.iter().any(|files| files.contains(&reference.from) && files.contains(&reference.to))
    };
    let rounds = arrows.within(circle).filter(|reference| !is_listed(reference));
    let rounds = rounds.map(|reference| arrows.round(reference));
    let shortest = rounds.min_by_key(Vec::len).unwrap_or_default();
    let mut wrong = who(circle, listed);
    for reference in &shortest {
        let Reference { from, line, to, name, .. } = reference;
        wrong += &format!("\n  {from}:{line}: names `{name}`, which is in {to}");
    }
    wrong += "\n  so none of these stands without the others";
    let (path, line) =
        shortest.first().map_or((debts::PATH, 1), |reference| (reference.from.as_str(), reference.line));
    Finding::new(path, line, wrong, TURN)
}

/// The files of a cycle. For a cycle that has grown, its new files.
fn who(circle: &Files<'_>, listed: &[BTreeSet<String>]) -> String {
    let is_listed = |file: &str| listed.iter().any(|files| files.contains(file));
    let new: Vec<&str> = circle.iter().copied().filter(|file| !is_listed(file)).collect();
    let all = circle.len();
    match new.len() {
        0 => format!("circles that are listed apart have become one, of {all} files"),
        count if count == all => format!("{all} files are a circle: {}", new.join(", ")),
        _ => format!("a circle that is listed has grown to {all} files, with {}", new.join(", ")),
    }
}

/// The references between the files of a target: for each pair of files, the first one.
#[derive(Default)]
struct Arrows<'a>(BTreeMap<&'a str, BTreeMap<&'a str, &'a Reference>>);

impl<'a> Arrows<'a> {
    fn add(&mut self, reference: &'a Reference) {
        if !reference.is_passed_on {
            self.0.entry(&reference.from).or_default().entry(&reference.to).or_insert(reference);
        }
    }

    /// The sets of files in which each file is reachable from each other one.
    fn circles(&self) -> Vec<Files<'a>> {
        let reached: BTreeMap<&str, Files<'a>> =
            self.0.keys().map(|&file| (file, self.reached(file))).collect();
        let mut found: BTreeSet<Files<'a>> = BTreeSet::new();
        for (file, others) in &reached {
            let leads_back = |other: &&&str| reached.get(*other).is_some_and(|back| back.contains(file));
            let circle: Files<'a> = others.iter().filter(leads_back).copied().collect();
            if circle.len() > 1 {
                found.insert(circle);
            }
        }
        found.into_iter().collect()
    }

    /// All files that are reachable from this one. It contains this file only if it is on a cycle.
    fn reached(&self, from: &'a str) -> Files<'a> {
        let mut reached = Files::new();
        let mut ahead = vec![from];
        while let Some(file) = ahead.pop() {
            ahead.extend(self.after(file).map(|(&to, _)| to).filter(|to| reached.insert(to)));
        }
        reached
    }

    fn within(&self, circle: &Files<'_>) -> impl Iterator<Item = &'a Reference> {
        let both = |reference: &&Reference| {
            circle.contains(reference.from.as_str()) && circle.contains(reference.to.as_str())
        };
        self.0.values().flat_map(BTreeMap::values).copied().filter(both)
    }

    /// A shortest cycle that begins with this reference.
    fn round(&self, first: &'a Reference) -> Vec<&'a Reference> {
        let mut ways: VecDeque<Vec<&'a Reference>> = VecDeque::from([vec![first]]);
        let mut seen = Files::new();
        while let Some(way) = ways.pop_front() {
            let end = way.last().map_or("", |reference| reference.to.as_str());
            if end == first.from {
                return way;
            }
            for (&to, &reference) in self.after(end) {
                if seen.insert(to) {
                    ways.push_back([way.as_slice(), &[reference]].concat());
                }
            }
        }
        vec![]
    }

    fn after(&self, file: &str) -> impl Iterator<Item = (&&'a str, &&'a Reference)> {
        self.0.get(file).into_iter().flatten()
    }
}

fn paths(debt: &Circle) -> BTreeSet<String> {
    debt.files.iter().map(|file| format!("{}/{file}", debt.folder)).collect()
}

/// The names of the files as they stand in the list.
fn short(folder: &str, files: &[&str]) -> String {
    let names = files.iter().map(|file| file.strip_prefix(folder).unwrap_or(file).trim_start_matches('/'));
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::arrows::of;
    use super::*;

    /// Three files: `a` and `b` name each other, and `c` names both.
    const PLANTED: [(&str, &str); 4] = [
        ("crates/house/src/lib.rs", "mod a; mod b; mod c;"),
        ("crates/house/src/a.rs", "pub struct A;\nimpl A { pub fn f() { crate::b::g() } }"),
        ("crates/house/src/b.rs", "use crate::a::A;\npub fn g() {}"),
        ("crates/house/src/c.rs", "use crate::a::A;\nuse crate::b::g;"),
    ];

    fn findings(files: &[(&str, &str)], debts: &[&'static [&'static str]]) -> Vec<String> {
        let debts: Vec<Circle> =
            debts.iter().map(|files| Circle { folder: "crates/house/src", files }).collect();
        check(&of(files), &debts).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_circle_is_described_with_a_way_round() {
        assert_eq!(
            findings(&PLANTED, &[]),
            [format!(
                "crates/house/src/a.rs:2: 2 files are a circle: crates/house/src/a.rs, crates/house/src/b.rs
  crates/house/src/a.rs:2: names `g`, which is in crates/house/src/b.rs
  crates/house/src/b.rs:1: names `A`, which is in crates/house/src/a.rs
  so none of these stands without the others: {TURN}"
            )]
        );
    }

    #[test]
    fn a_circle_of_calls_alone_is_found() {
        let found = findings(
            &[
                ("crates/house/src/lib.rs", "mod a; mod b; mod c; struct H; "),
                ("crates/house/src/a.rs", "impl crate::H { fn a(&self) { self.b() } }"),
                ("crates/house/src/b.rs", "impl crate::H { fn b(&self) { self.c() } }"),
                ("crates/house/src/c.rs", "impl crate::H { fn c(&self) { self.a() } }"),
            ],
            &[],
        );
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("3 files are a circle"), "{}", found[0]);
        assert!(found[0].contains("c.rs:1: names `H::a`, which is in crates/house/src/a.rs"), "{}", found[0]);
    }

    #[test]
    fn a_module_and_what_is_in_it_may_be_a_circle() {
        let files = [
            ("crates/house/src/lib.rs", "mod a;"),
            ("crates/house/src/a/mod.rs", "mod b; pub use b::B; pub struct A;"),
            ("crates/house/src/a/b.rs", "pub struct B(super::A);"),
        ];
        assert_eq!(findings(&files, &[]), [""; 0]);
        let named = ("crates/house/src/a/mod.rs", "mod b; pub use b::B; pub struct A(Box<B>);");
        assert_eq!(findings(&[files[0], named, files[2]], &[]).len(), 1);
    }

    #[test]
    fn a_circle_that_is_listed_may_be_there() {
        assert_eq!(findings(&PLANTED, &[&["a.rs", "b.rs"]]), [""; 0]);
    }

    #[test]
    fn what_is_listed_and_in_no_circle_is_to_be_struck() {
        let found = findings(&PLANTED, &[&["a.rs", "b.rs", "c.rs", "gone.rs"]]);
        assert_eq!(
            found,
            [format!(
                "xtask/src/tidy/debts.rs:1: in no circle any more, in crates/house/src: c.rs, gone.rs: {STRIKE}"
            )]
        );
        assert_eq!(findings(&PLANTED[..1], &[&["a.rs", "b.rs"]]).len(), 1);
    }

    #[test]
    fn a_listed_circle_does_not_grow() {
        let grown = ("crates/house/src/b.rs", "use crate::a::A;\npub fn g() { crate::c::h() }");
        let third = ("crates/house/src/c.rs", "use crate::a::A;\npub fn h() {}");
        let found = findings(&[PLANTED[0], PLANTED[1], grown, third], &[&["a.rs", "b.rs"]]);
        assert_eq!(found.len(), 1);
        // The reported path uses references that are not listed.
        assert!(found[0].contains("names `h`, which is in crates/house/src/c.rs"), "{}", found[0]);
        let told = "crates/house/src/b.rs:2: a circle that is listed has grown to 3 files, with crates/house/src/c.rs\n";
        assert!(found[0].starts_with(told), "{}", found[0]);
    }

    #[test]
    fn listed_circles_do_not_become_one() {
        let files = [
            ("crates/house/src/lib.rs", "mod a; mod b; mod c; mod d;"),
            ("crates/house/src/a.rs", "pub fn a() { super::b::b() }"),
            ("crates/house/src/b.rs", "pub fn b() { super::a::a(); super::c::c() }"),
            ("crates/house/src/c.rs", "pub fn c() { super::d::d() }"),
            ("crates/house/src/d.rs", "pub fn d() { super::c::c(); super::a::a() }"),
        ];
        let found = findings(&files, &[&["a.rs", "b.rs"], &["c.rs", "d.rs"]]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].contains("circles that are listed apart have become one, of 4 files"),
            "{}",
            found[0]
        );
    }

    #[test]
    fn a_listed_circle_that_became_two_is_to_be_listed_as_two() {
        let files = [
            ("crates/house/src/lib.rs", "mod a; mod b; mod c; mod d;"),
            ("crates/house/src/a.rs", "pub fn a() { super::b::b() }"),
            ("crates/house/src/b.rs", "pub fn b() { super::a::a() }"),
            ("crates/house/src/c.rs", "pub fn c() { super::d::d() }"),
            ("crates/house/src/d.rs", "pub fn d() { super::c::c() }"),
        ];
        let found = findings(&files, &[&["a.rs", "b.rs", "c.rs", "d.rs"]]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("several, in crates/house/src: a.rs, b.rs; c.rs, d.rs"), "{}", found[0]);
        assert_eq!(findings(&files, &[&["a.rs", "b.rs"], &["c.rs", "d.rs"]]), [""; 0]);
    }
}
