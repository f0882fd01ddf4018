//! The papers' numbers, errata and figures. They are data, in `papers/`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::kind::Kind;
use super::paper::Paper;
use super::value::{Printed, PrintedError, Tolerance, Value};
use super::verdict::Verdict;

/// The papers' printed data.
#[derive(Clone, Debug)]
pub struct Library {
    /// Numbers, in the order of the papers.
    pub numbers: Vec<Published>,
    /// Contradictions within a paper.
    pub errata: Vec<Erratum>,
    /// Figures.
    pub figures: Vec<PublishedFigure>,
}

/// A number that a paper prints.
#[derive(Clone, Debug)]
pub struct Published {
    /// Its id.
    pub id: String,
    /// The paper.
    pub paper: Paper,
    /// Its place in the paper.
    pub place: String,
    /// The quantity.
    pub quantity: String,
    /// The value.
    pub value: Printed,
    /// The unit.
    pub unit: String,
    /// How the authors obtained it.
    pub kind: Kind,
    /// The group; numbers that were measured alike have the same group.
    pub group: Option<String>,
    /// The whole of which it is a part, or the value with which it is compared, in its unit: for
    /// example 100, if it is a percentage of another array's value.
    pub whole: Option<f64>,
    /// The setting of ours that was derived from this number or fitted to it.
    pub calibrates: Option<String>,
    /// The number that this one prints again or states in another way. Only that number counts.
    pub repeats: Option<String>,
}

/// A contradiction within a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Erratum {
    /// Its id.
    pub id: String,
    /// The paper.
    pub paper: Paper,
    /// Its place in the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// The printed text.
    pub printed: String,
    /// The reading that the paper's other numbers support.
    pub reading: String,
    /// The numbers that contradict the paper's own formula, and the formula's values.
    #[serde(default)]
    pub misprints: BTreeMap<String, Printed>,
    /// The numbers that round the formula's values or state them loosely, and those values.
    #[serde(default)]
    pub rounded: BTreeMap<String, Printed>,
}

impl Erratum {
    /// The numbers that this erratum excuses, each with its verdict and its correct value.
    fn excuses(&self) -> impl Iterator<Item = (&String, Verdict, &Printed)> {
        let both = [(&self.misprints, Verdict::Misprint), (&self.rounded, Verdict::Rounded)];
        both.into_iter().flat_map(|(numbers, verdict)| {
            numbers.iter().map(move |(number, reading)| (number, verdict, reading))
        })
    }
}

/// A figure of a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedFigure {
    /// Its id.
    pub id: String,
    /// The paper.
    pub paper: Paper,
    /// Its number and title.
    pub title: String,
    /// Its caption.
    pub caption: String,
}

/// Why the papers' data cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// A file is invalid.
    #[error("papers/{file}: {source}")]
    File {
        /// The file.
        file: &'static str,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The value of a number is invalid.
    #[error("papers/published.json: {id}: {source}")]
    Value {
        /// The id of the number.
        id: String,
        /// What is wrong.
        source: PrintedError,
    },
    /// Two entries have the same id.
    #[error("papers/{file}: {id} stands there twice: give one of them another id")]
    Twice {
        /// The file.
        file: &'static str,
        /// The id.
        id: String,
    },
    /// An entry's paper does not match its id.
    #[error("papers/{file}: {id} is said to be of {paper}, whose ids begin with '{}'", .paper.prefix())]
    Stranger {
        /// The file.
        file: &'static str,
        /// The id.
        id: String,
        /// The paper that the entry names.
        paper: Paper,
    },
    /// A number repeats one that is itself a repetition, or that does not exist in its paper.
    #[error("papers/published.json: {number} repeats {first}, which is no number of its paper that counts")]
    Repeats {
        /// The number.
        number: String,
        /// The number that it repeats.
        first: String,
    },
    /// An erratum excuses a number that does not exist.
    #[error("papers/errata.json: {erratum} excuses {number}, which is no number of papers/published.json")]
    Excuse {
        /// The erratum.
        erratum: String,
        /// The number.
        number: String,
    },
}

const NUMBERS: &str = "published.json";
const ERRATA: &str = "errata.json";
const FIGURES: &str = "figures.json";

impl Library {
    /// Returns the data that are built into the program.
    pub fn carried() -> Library {
        let library = Library::parse(
            include_str!("../../papers/published.json"),
            include_str!("../../papers/errata.json"),
            include_str!("../../papers/figures.json"),
        );
        library.expect("it was built in, and a test has read it")
    }

    /// Parses the texts of the three files.
    ///
    /// # Errors
    /// A file is invalid.
    pub fn parse(numbers: &str, errata: &str, figures: &str) -> Result<Library, LibraryError> {
        let numbers: Vec<Line> = list(NUMBERS, numbers)?;
        let numbers = numbers.into_iter().map(Line::published).collect::<Result<Vec<_>, _>>()?;
        let library = Library { numbers, errata: list(ERRATA, errata)?, figures: list(FIGURES, figures)? };
        library.check()?;
        Ok(library)
    }

    /// Returns the number with this id.
    pub fn number(&self, id: &str) -> Option<&Published> {
        self.numbers.iter().find(|number| number.id == id)
    }

    /// Returns the erratum that excuses the number with this id, and the verdict, if our value
    /// agrees with the erratum's reading.
    pub fn excuse(&self, number: &str, ours: Value) -> Option<(&Erratum, Verdict)> {
        let reads = |reading: &Printed| reading.agrees(ours, Tolerance::PrintedDigits, None) == Ok(true);
        self.errata.iter().find_map(|erratum| {
            let mut excuses = erratum.excuses();
            let (_, verdict, _) = excuses.find(|(id, _, reading)| *id == number && reads(reading))?;
            Some((erratum, verdict))
        })
    }

    /// The numbers of a paper.
    pub fn numbers_of(&self, paper: Paper) -> impl Iterator<Item = &Published> {
        self.numbers.iter().filter(move |number| number.paper == paper)
    }

    /// The figures of a paper.
    pub fn figures_of(&self, paper: Paper) -> impl Iterator<Item = &PublishedFigure> {
        self.figures.iter().filter(move |figure| figure.paper == paper)
    }

    fn check(&self) -> Result<(), LibraryError> {
        names(NUMBERS, self.numbers.iter().map(|number| (number.id.as_str(), number.paper)))?;
        names(ERRATA, self.errata.iter().map(|erratum| (erratum.id.as_str(), erratum.paper)))?;
        names(FIGURES, self.figures.iter().map(|figure| (figure.id.as_str(), figure.paper)))?;
        for erratum in &self.errata {
            for (number, ..) in erratum.excuses() {
                if self.number(number).is_none() {
                    return Err(LibraryError::Excuse { erratum: erratum.id.clone(), number: number.clone() });
                }
            }
        }
        for number in &self.numbers {
            let Some(first) = &number.repeats else { continue };
            let counts = |other: &Published| other.paper == number.paper && other.repeats.is_none();
            if !self.number(first).is_some_and(counts) {
                return Err(LibraryError::Repeats { number: number.id.clone(), first: first.clone() });
            }
        }
        Ok(())
    }
}

/// An entry of the file of numbers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: String,
    paper: Paper,
    #[serde(rename = "where")]
    place: String,
    quantity: String,
    value: String,
    unit: String,
    kind: Kind,
    group: Option<String>,
    whole: Option<f64>,
    calibrates: Option<String>,
    repeats: Option<String>,
}

impl Line {
    fn published(self) -> Result<Published, LibraryError> {
        let Line { id, paper, place, quantity, value, unit, kind, group, whole, calibrates, repeats } = self;
        match Printed::parse(&value) {
            Ok(value) => Ok(Published {
                id,
                paper,
                place,
                quantity,
                value,
                unit,
                kind,
                group,
                whole,
                calibrates,
                repeats,
            }),
            Err(source) => Err(LibraryError::Value { id, source }),
        }
    }
}

fn list<T: DeserializeOwned>(file: &'static str, text: &str) -> Result<Vec<T>, LibraryError> {
    serde_json::from_str(text).map_err(|source| LibraryError::File { file, source })
}

/// Checks that each id occurs once and matches its paper.
fn names<'a>(file: &'static str, named: impl Iterator<Item = (&'a str, Paper)>) -> Result<(), LibraryError> {
    let mut seen = Vec::new();
    for (id, paper) in named {
        if !id.starts_with(paper.prefix()) {
            return Err(LibraryError::Stranger { file, id: id.to_owned(), paper });
        }
        if seen.contains(&id) {
            return Err(LibraryError::Twice { file, id: id.to_owned() });
        }
        seen.push(id);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::value::Says;

    #[test]
    fn every_number_is_read_and_of_a_kind() {
        let library = Library::carried();
        let of = |paper| library.numbers_of(paper).count();
        assert_eq!(Paper::ALL.map(of), [42, 65, 35, 85, 5]);
        let of = |kind| library.numbers.iter().filter(|number| number.kind == kind).count();
        assert_eq!(Kind::ALL.map(of), [118, 8, 92, 14]);
        for number in &library.numbers {
            let words = [&number.id, &number.place, &number.quantity];
            assert!(words.iter().all(|word| !word.trim().is_empty()), "{number:?}");
        }
    }

    #[test]
    fn only_what_has_no_unit_goes_without() {
        let library = Library::carried();
        for number in &library.numbers {
            assert!(!number.unit.is_empty() || number.value.says() == Says::Claim, "{}", number.id);
        }
    }

    #[test]
    fn only_what_was_measured_is_put_in_order_and_never_alone() {
        let library = Library::carried();
        for number in library.numbers.iter().filter(|number| number.group.is_some()) {
            assert_eq!(number.kind, Kind::Measured, "{}", number.id);
            let alike = library.numbers.iter().filter(|other| other.group == number.group);
            assert!(alike.clone().all(|other| other.unit == number.unit), "{}", number.id);
            assert!(alike.count() > 1, "{}", number.id);
        }
    }

    #[test]
    fn a_number_repeats_one_that_counts() {
        let lines = |first: &str| {
            let again = number("ch.2", "1").replace('}', &format!(r#","repeats":"{first}"}}"#));
            Library::parse(&format!("[{},{again}]", number("ch.1", "1")), "[]", "[]")
        };
        assert!(lines("ch.1").is_ok());
        for wrong in ["ch.3", "ch.2"] {
            let error = lines(wrong).expect_err("it repeats nothing").to_string();
            assert!(error.contains(&format!("ch.2 repeats {wrong}")), "{error}");
        }
    }

    fn number(id: &str, value: &str) -> String {
        format!(
            r#"{{"id":"{id}","paper":"chen","where":"here","quantity":"it","value":"{value}","unit":"ms","kind":"stated"}}"#
        )
    }

    fn wrong(numbers: &str, errata: &str) -> String {
        Library::parse(numbers, errata, "[]").expect_err("something is wrong").to_string()
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let twice = format!("[{0},{0}]", number("ch.1", "1"));
        assert_eq!(
            wrong(&twice, "[]"),
            "papers/published.json: ch.1 stands there twice: give one of them another id"
        );
        let stranger = format!("[{}]", number("st.1", "1"));
        assert_eq!(
            wrong(&stranger, "[]"),
            "papers/published.json: st.1 is said to be of chen, whose ids begin with 'ch.'"
        );
        let unreadable = wrong(&format!("[{}]", number("ch.1", "much")), "[]");
        assert!(unreadable.starts_with("papers/published.json: ch.1: 'much' is no number"), "{unreadable}");
        let unknown = wrong("[{\"size\":1}]", "[]");
        assert!(unknown.starts_with("papers/published.json: unknown field `size`"), "{unknown}");
        let excuse =
            r#"[{"id":"ch.e","paper":"chen","where":"","printed":"","reading":"","misprints":{"ch.2":"1"}}]"#;
        assert_eq!(
            wrong(&format!("[{}]", number("ch.1", "1")), excuse),
            "papers/errata.json: ch.e excuses ch.2, which is no number of papers/published.json"
        );
    }
}
