//! The report: a chapter for each paper with its numbers and figures, and how well ours agree.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::evidence::Evidence;
use super::figure::Panel;
use super::judge::{Found, Missing, NOT_YET, compared, judge};
use super::kind::Kind;
use super::library::{Erratum, Published, PublishedFigure};
use super::pace::Pace;
use super::paper::Paper;
use super::study::{Finding, How, Study};
use super::value::Value;
use super::verdict::Verdict;

/// The results for some papers.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The version of the program that made the report.
    pub version: &'static str,
    /// Whether simulations were shortened.
    pub quick: bool,
    /// The rule for each kind of number.
    pub rules: Vec<Rule>,
    /// How many numbers have which verdict.
    pub summary: Summary,
    /// A chapter for each paper.
    pub papers: Vec<Chapter>,
}

/// When our value agrees with the published one.
#[derive(Clone, Debug, Serialize)]
pub struct Rule {
    /// The kind of numbers.
    pub kind: Kind,
    /// The rule in a sentence.
    pub rule: String,
}

/// A paper with its results.
#[derive(Clone, Debug, Serialize)]
pub struct Chapter {
    /// The paper.
    pub paper: Paper,
    /// Its title.
    pub title: &'static str,
    /// Its authors and year.
    pub authors: &'static str,
    /// How many of its numbers have which verdict.
    pub summary: Summary,
    /// Its numbers.
    #[serde(serialize_with = "by_id")]
    pub numbers: Vec<Number>,
    /// Its figures.
    #[serde(serialize_with = "by_id")]
    pub figures: Vec<Figure>,
    /// The contradictions within the paper.
    pub errata: Vec<Misprint>,
}

/// A published number with our values.
#[derive(Clone, Debug, Serialize)]
pub struct Number {
    /// Its id.
    #[serde(skip)]
    pub id: String,
    /// Its place in the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// The quantity.
    pub quantity: String,
    /// How the authors obtained it.
    pub kind: Kind,
    /// The number that this one prints again or states in another way. Only that number counts.
    pub repeats: Option<String>,
    /// The unit of the published value and of ours.
    pub unit: String,
    /// The published value, as printed.
    pub published: String,
    /// Our value from closed forms.
    pub model: Option<Value>,
    /// Our value from simulation.
    pub simulated: Option<Value>,
    /// Half the width of the simulation's 95% confidence interval.
    pub interval: Option<f64>,
    /// Our value under the printed reading, if that reading is mistaken.
    pub as_printed: Option<Value>,
    /// The difference of our value from the published one, as a fraction of the published one.
    pub difference: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// The reasons for a difference, or other notes, a sentence each.
    pub why: Vec<String>,
    /// The erratum, if the number is a misprint or rounded.
    pub erratum: Option<String>,
}

/// A figure.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// Its id.
    #[serde(skip)]
    pub id: String,
    /// Its number and title.
    pub title: String,
    /// Its caption.
    pub caption: String,
    /// The command that computes its numbers again.
    pub command: Option<String>,
    /// Its parts; empty if it was not drawn.
    pub panels: Vec<Panel>,
    /// Why it was not drawn.
    pub missing: Option<String>,
}

/// A contradiction within a paper.
#[derive(Clone, Debug, Serialize)]
pub struct Misprint {
    /// Its id.
    pub id: String,
    /// Its place in the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// The printed text.
    pub printed: String,
    /// Our reading.
    pub reading: String,
}

/// How many numbers of each kind have which verdict. A number that repeats another is not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    counts: [[usize; Verdict::ALL.len()]; Kind::ALL.len()],
}

impl Summary {
    fn of<'a>(numbers: impl IntoIterator<Item = &'a Number>) -> Summary {
        let mut summary = Summary::default();
        for number in numbers.into_iter().filter(|number| number.repeats.is_none()) {
            summary.counts[place(&Kind::ALL, number.kind)][place(&Verdict::ALL, number.verdict)] += 1;
        }
        summary
    }

    /// The number of numbers of a kind with a verdict.
    pub fn count(&self, kind: Kind, verdict: Verdict) -> usize {
        self.counts[place(&Kind::ALL, kind)][place(&Verdict::ALL, verdict)]
    }

    /// The number of numbers with a verdict.
    pub fn verdict(&self, verdict: Verdict) -> usize {
        Kind::ALL.iter().map(|kind| self.count(*kind, verdict)).sum()
    }

    /// The number of numbers of a kind.
    pub fn kind(&self, kind: Kind) -> usize {
        Verdict::ALL.iter().map(|verdict| self.count(kind, *verdict)).sum()
    }

    /// The number of all numbers.
    pub fn all(&self) -> usize {
        self.counts.iter().flatten().sum()
    }
}

fn place<T: PartialEq>(all: &[T], one: T) -> usize {
    all.iter().position(|other| *other == one).expect("ALL has all of them")
}

impl Serialize for Summary {
    /// Writes the counts by kind and verdict, then the sums.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = |of: &dyn Fn(Verdict) -> usize| {
            let counts = Verdict::ALL.map(|verdict| (key(verdict), of(verdict).into()));
            counts.into_iter().collect::<serde_json::Map<String, serde_json::Value>>()
        };
        let mut map = serializer.serialize_map(Some(Kind::ALL.len() + 1))?;
        for kind in Kind::ALL {
            map.serialize_entry(kind.name(), &row(&|verdict| self.count(kind, verdict)))?;
        }
        map.serialize_entry("all", &row(&|verdict| self.verdict(verdict)))?;
        map.end()
    }
}

fn key(verdict: Verdict) -> String {
    verdict.name().replace(' ', "-")
}

impl Report {
    /// Judges the findings of these studies.
    pub fn of(studies: &[Study], evidence: &Evidence, pace: Pace) -> Report {
        let papers: Vec<Chapter> = studies.iter().map(|study| Chapter::of(study, evidence)).collect();
        let summary = Summary::of(papers.iter().flat_map(|chapter| &chapter.numbers));
        let rules = Kind::ALL.map(|kind| Rule { kind, rule: kind.rule() });
        let version = env!("CARGO_PKG_VERSION");
        Report { version, quick: pace != Pace::Full, rules: rules.into(), summary, papers }
    }

    /// Returns the number with this id.
    pub fn number(&self, id: &str) -> Option<&Number> {
        self.papers.iter().flat_map(|chapter| &chapter.numbers).find(|number| number.id == id)
    }
}

impl Chapter {
    fn of(study: &Study, evidence: &Evidence) -> Chapter {
        let (paper, library) = (study.paper, &evidence.library);
        let found: Vec<(&Published, Found)> =
            library.numbers_of(paper).map(|number| (number, find(study, number, evidence))).collect();
        let all: Vec<(&Published, &Found)> = found.iter().map(|(number, found)| (*number, found)).collect();
        let numbers: Vec<Number> =
            all.iter().map(|(number, found)| Number::of(evidence, number, found, &all)).collect();
        let figures = library.figures_of(paper).map(|figure| Figure::of(study, figure, evidence));
        Chapter {
            paper,
            title: paper.title(),
            authors: paper.authors(),
            summary: Summary::of(&numbers),
            numbers,
            figures: figures.collect(),
            errata: library
                .errata
                .iter()
                .filter(|erratum| erratum.paper == paper)
                .map(Misprint::of)
                .collect(),
        }
    }
}

fn find(study: &Study, number: &Published, evidence: &Evidence) -> Found {
    match study.how(&number.id) {
        Some(How::Found(find)) => find(evidence).map_err(|error| Missing::NotComputed(error.to_string())),
        Some(How::NotDerivable(why)) => Err(Missing::NotDerivable(why)),
        None => Err(Missing::NotComputed(NOT_YET.to_owned())),
    }
}

impl Number {
    fn of(evidence: &Evidence, published: &Published, found: &Found, all: &[(&Published, &Found)]) -> Number {
        let judgement = judge(&evidence.library, published, all);
        let nothing = Finding::default();
        let finding = found.as_ref().unwrap_or(&nothing);
        let Published { id, place, quantity, value, unit, kind, repeats, .. } = published.clone();
        Number {
            id,
            place,
            quantity,
            kind,
            repeats,
            unit,
            published: value.text().to_owned(),
            model: finding.model,
            simulated: finding.simulated,
            interval: finding.interval,
            as_printed: finding.as_printed,
            difference: compared(kind, finding).and_then(|ours| value.difference(ours)),
            verdict: judgement.verdict,
            why: judgement.why,
            erratum: judgement.erratum,
        }
    }
}

impl Figure {
    fn of(study: &Study, figure: &PublishedFigure, evidence: &Evidence) -> Figure {
        let drawn = study.drawn(&figure.id);
        let panels = drawn.map(|drawn| (drawn.draw)(evidence));
        let (panels, missing) = match panels {
            Some(Ok(panels)) => (panels, None),
            Some(Err(error)) => (Vec::new(), Some(error.to_string())),
            None => (Vec::new(), Some("not drawn yet".to_owned())),
        };
        Figure {
            id: figure.id.clone(),
            title: figure.title.clone(),
            caption: figure.caption.clone(),
            command: drawn.map(|drawn| drawn.command.clone()),
            panels,
            missing,
        }
    }
}

impl Misprint {
    fn of(erratum: &Erratum) -> Misprint {
        let Erratum { id, place, printed, reading, .. } = erratum.clone();
        Misprint { id, place, printed, reading }
    }
}

/// An entry with an id.
trait Named {
    fn id(&self) -> &str;
}

impl Named for Number {
    fn id(&self) -> &str {
        &self.id
    }
}

impl Named for Figure {
    fn id(&self) -> &str {
        &self.id
    }
}

/// Writes entries as a map by id, in their order.
fn by_id<S: Serializer, T: Named + Serialize>(several: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(several.iter().map(|one| (one.id(), one)))
}
