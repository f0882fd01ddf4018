//! Notes on numbers: a sentence that concerns several numbers stands once in a chapter, and each
//! number refers to it.

use crate::reproduce::paper::Paper;
use crate::reproduce::report::{Chapter, Number};

use super::text::escape;

/// The sentences that concern more than one number of a chapter.
pub(super) struct Notes<'a> {
    paper: Paper,
    shared: Vec<&'a str>,
}

impl<'a> Notes<'a> {
    pub(super) fn of(chapter: &'a Chapter) -> Notes<'a> {
        let mut shared: Vec<&str> = Vec::new();
        let mut seen: Vec<&str> = Vec::new();
        for why in
            chapter.numbers.iter().filter(|number| number.erratum.is_none()).flat_map(|number| &number.why)
        {
            match seen.contains(&why.as_str()) {
                true if !shared.contains(&why.as_str()) => shared.push(why),
                true => {}
                false => seen.push(why),
            }
        }
        Notes { paper: chapter.paper, shared }
    }

    /// The notes of a number, or references to shared ones. An erratum stands in a table of its
    /// own.
    pub(super) fn of_number(&self, number: &Number) -> String {
        if number.erratum.is_some() {
            return String::new();
        }
        let said = number.why.iter().map(|why| match self.shared.iter().position(|shared| shared == why) {
            Some(at) => {
                let note = at + 1;
                format!("<div class=\"why\"><a href=\"#{}-note-{note}\">note {note}</a></div>", self.paper)
            }
            None => format!("<div class=\"why\">{}</div>", escape(why)),
        });
        said.collect()
    }

    /// The list of shared notes.
    pub(super) fn listed(&self) -> String {
        if self.shared.is_empty() {
            return String::new();
        }
        let notes =
            self.shared.iter().enumerate().map(|(at, note)| {
                format!("<li id=\"{}-note-{}\">{}</li>\n", self.paper, at + 1, escape(note))
            });
        format!("<h3>Notes</h3>\n<ol class=\"notes\">\n{}</ol>\n", notes.collect::<String>())
    }
}
