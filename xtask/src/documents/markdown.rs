//! As much of Markdown as the documents use: links, headings, code spans.

use std::collections::BTreeMap;

/// A link's target, and where it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Link<'a> {
    /// Counted from 1.
    pub(super) line: usize,
    /// As it is written.
    pub(crate) target: &'a str,
    /// Bytes of the document before it.
    pub(crate) at: usize,
}

/// The targets of all links, in their order.
pub(crate) fn links(text: &str) -> Vec<Link<'_>> {
    let mut found = Vec::new();
    for Line { number, at, text, code } in lines(text) {
        let in_code = |place: usize| code.iter().any(|span| span.0 <= place && place < span.1);
        let mut link = |from: usize, end: char| {
            let length = text[from..].find(end).unwrap_or(text.len() - from);
            found.push(Link { line: number, target: text[from..from + length].trim_end(), at: at + from });
        };
        if text.starts_with('[')
            && !text.starts_with("[^")
            && let Some(end) = text.find("]: ")
        {
            link(end + 3, '\n');
            continue;
        }
        for (place, opening) in text.match_indices("](") {
            if !in_code(place) {
                link(place + opening.len(), ')');
            }
        }
    }
    found
}

/// What is set in code, with its line, where that is one line.
pub(super) fn code_spans(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for Line { number, text, code, .. } in lines(text) {
        found.extend(code.into_iter().map(|(from, end)| (number, text[from..end].trim_matches('`'))));
    }
    found
}

/// The anchors of all headings, as GitHub and mdBook make them.
pub(super) fn anchors(text: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let headings = lines(text).filter_map(|line| {
        let title = line.text.trim_start_matches('#');
        (title.len() < line.text.len() && title.starts_with(' ')).then(|| slug(title.trim()))
    });
    headings
        .map(|slug| {
            let times = seen.entry(slug.clone()).or_default();
            *times += 1;
            if *times == 1 { slug } else { format!("{slug}-{}", *times - 1) }
        })
        .collect()
}

/// The lines of the section under this heading, numbered from 1 in the document.
pub(super) fn section<'a>(text: &'a str, heading: &str) -> impl Iterator<Item = (usize, &'a str)> {
    let lines = lines(text).map(|line| (line.number, line.text));
    let mut lines = lines.skip_while(move |(_, line)| *line != heading);
    lines.next();
    lines.take_while(|(_, line)| !line.starts_with("## "))
}

/// A line outside of blocks of code.
struct Line<'a> {
    number: usize,
    /// Bytes of the document before it.
    at: usize,
    text: &'a str,
    /// Where there are code spans, their marks included.
    code: Vec<(usize, usize)>,
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let (mut at, mut fenced, mut open) = (0, false, false);
    (1..).zip(text.split_inclusive('\n')).filter_map(move |(number, whole)| {
        let here = at;
        at += whole.len();
        let text = whole.trim_end_matches('\n');
        if text.trim_start().starts_with("```") {
            fenced = !fenced;
            return None;
        }
        if fenced {
            return None;
        }
        if text.is_empty() {
            open = false;
        }
        let code = spans(text, &mut open);
        Some(Line { number, at: here, text, code })
    })
}

/// The code spans of a line. One may be open from the line before, or stay open.
fn spans(text: &str, open: &mut bool) -> Vec<(usize, usize)> {
    let (mut spans, mut from) = (Vec::new(), 0);
    for (place, _) in text.match_indices('`') {
        if *open {
            spans.push((from, place + 1));
        }
        from = place;
        *open = !*open;
    }
    if *open {
        spans.push((from, text.len()));
    }
    spans
}

fn slug(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str) -> Vec<&str> {
        links(text).into_iter().map(|link| link.target).collect()
    }

    #[test]
    fn links_are_found_with_their_places() {
        let text = "One [a](b.md), and\ntwo [c `d`](e/f.md#g).\n\n[h]: ../i.rs\n[^j]: see [k](l)\n";
        assert_eq!(targets(text), ["b.md", "e/f.md#g", "../i.rs", "l"]);
        let second = &links(text)[1];
        assert_eq!(second.line, 2);
        assert!(text[second.at..].starts_with(second.target));
    }

    #[test]
    fn code_has_no_links() {
        assert_eq!(targets("`[a](b)` and `[c]\n(d](e)` [f](g)\n```text\n[h](i)\n```\n[j](k)\n"), ["g", "k"]);
    }

    #[test]
    fn code_spans_have_their_lines() {
        assert_eq!(code_spans("a `b`\n\n`c` d `e`\n"), [(1, "b"), (3, "c"), (3, "e")]);
    }

    #[test]
    fn headings_have_anchors_and_the_second_of_two_alike_a_number() {
        let text = "# The *array*: `a-b`, §2\n```console\n# no heading\n```\n## Tests\n## Tests\n";
        assert_eq!(anchors(text), ["the-array-a-b-2", "tests", "tests-1"]);
    }

    #[test]
    fn a_section_ends_at_the_next() {
        let text = "# A\n## B\none\n### two\n## C\nthree\n";
        assert_eq!(section(text, "## B").collect::<Vec<_>>(), [(3, "one"), (4, "### two")]);
    }
}
