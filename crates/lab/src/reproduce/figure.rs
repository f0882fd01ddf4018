//! Figures: curves over axes, or drawings.

use serde::Serialize;

/// A part of a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Panel {
    /// What it is called, where a figure has several.
    pub title: Option<String>,
    /// What is seen.
    #[serde(flatten)]
    pub content: Content,
}

/// What is seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Curves.
    Chart(Chart),
    /// Text in columns, as a layout.
    Drawing(String),
}

/// Curves over two axes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chart {
    /// From left to right.
    pub x: Axis,
    /// From below upwards.
    pub y: Axis,
    /// The curves, in the order of their legend.
    pub curves: Vec<Curve>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// What it shows.
    pub label: String,
    /// In which unit; empty where there is none.
    pub unit: String,
    /// How its numbers lie.
    pub scale: Scale,
}

/// How numbers lie on an axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// At even distances.
    Linear,
    /// Each ten times the one before.
    Logarithmic,
    /// Names; a place is a name's number, counted from 0.
    Names(Vec<String>),
}

/// A curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// Of what; curves of the same are drawn alike.
    pub of: String,
    /// Where it comes from.
    pub source: Source,
    /// Its points, from left to right.
    pub points: Vec<Point>,
    /// What each point is called, where they have names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

/// Where a curve comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Our closed forms.
    Model,
    /// Our simulation.
    Simulated,
    /// The paper.
    Published,
    /// Ours over the paper's.
    Ratio,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Where on the axis.
    pub x: f64,
    /// How much.
    pub y: f64,
    /// Half the width of its 95% confidence interval, where there is one.
    pub interval: Option<f64>,
}

impl Panel {
    /// A figure's only part.
    pub fn only(content: Content) -> Panel {
        Panel { title: None, content }
    }

    /// One of several.
    pub fn titled(title: impl Into<String>, content: Content) -> Panel {
        Panel { title: Some(title.into()), content }
    }
}

impl Axis {
    /// An axis at even distances.
    pub fn linear(label: impl Into<String>, unit: impl Into<String>) -> Axis {
        Axis { label: label.into(), unit: unit.into(), scale: Scale::Linear }
    }

    /// A logarithmic one.
    pub fn logarithmic(label: impl Into<String>, unit: impl Into<String>) -> Axis {
        Axis { scale: Scale::Logarithmic, ..Axis::linear(label, unit) }
    }

    /// One of names.
    pub fn names(label: impl Into<String>, names: impl IntoIterator<Item = impl Into<String>>) -> Axis {
        let names = names.into_iter().map(Into::into).collect();
        Axis { label: label.into(), unit: String::new(), scale: Scale::Names(names) }
    }
}

impl Curve {
    /// A curve through points that are sure: `(x, y)` each.
    pub fn new(of: impl Into<String>, source: Source, points: impl IntoIterator<Item = (f64, f64)>) -> Curve {
        let points = points.into_iter().map(|(x, y)| Point { x, y, interval: None }).collect();
        Curve { of: of.into(), source, points, labels: Vec::new() }
    }

    /// A curve of our simulation, with intervals.
    pub fn simulated(of: impl Into<String>, points: impl IntoIterator<Item = Point>) -> Curve {
        Curve { points: points.into_iter().collect(), ..Curve::new(of, Source::Simulated, []) }
    }
}

impl Source {
    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Model => "model",
            Source::Simulated => "simulated",
            Source::Published => "published",
            Source::Ratio => "ours over published",
        }
    }
}
