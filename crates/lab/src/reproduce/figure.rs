//! Figures: charts of curves, or drawings.

use serde::Serialize;

/// A part of a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Panel {
    /// Its title, if the figure has several parts.
    pub title: Option<String>,
    /// Its content.
    #[serde(flatten)]
    pub content: Content,
}

/// The content of a part of a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Curves.
    Chart(Chart),
    /// Text in columns, such as a layout.
    Drawing(String),
}

/// Curves over two axes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chart {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves, in the order of their legend.
    pub curves: Vec<Curve>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// The quantity.
    pub label: String,
    /// Its unit; empty if there is none.
    pub unit: String,
    /// Its scale.
    pub scale: Scale,
}

/// The scale of an axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Linear.
    Linear,
    /// Logarithmic.
    Logarithmic,
    /// Names; a position on the axis is the number of a name, from 0.
    Names(Vec<String>),
}

/// A curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// Its subject; curves of the same subject have the same look.
    pub of: String,
    /// Its source.
    pub source: Source,
    /// Its points, from left to right.
    pub points: Vec<Point>,
    /// The label of each point, if the points have labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

/// The source of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Our closed forms.
    Model,
    /// Our simulation.
    Simulated,
    /// The paper.
    Published,
    /// The quotient of our value and the paper's.
    Ratio,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The position on the horizontal axis.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// Half the width of the value's 95% confidence interval, if there is one.
    pub interval: Option<f64>,
}

impl Panel {
    /// The only part of a figure.
    pub fn only(content: Content) -> Panel {
        Panel { title: None, content }
    }

    /// One of several parts.
    pub fn titled(title: impl Into<String>, content: Content) -> Panel {
        Panel { title: Some(title.into()), content }
    }
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>, unit: impl Into<String>) -> Axis {
        Axis { label: label.into(), unit: unit.into(), scale: Scale::Linear }
    }

    /// A logarithmic axis.
    pub fn logarithmic(label: impl Into<String>, unit: impl Into<String>) -> Axis {
        Axis { scale: Scale::Logarithmic, ..Axis::linear(label, unit) }
    }

    /// An axis of names.
    pub fn names(label: impl Into<String>, names: impl IntoIterator<Item = impl Into<String>>) -> Axis {
        let names = names.into_iter().map(Into::into).collect();
        Axis { label: label.into(), unit: String::new(), scale: Scale::Names(names) }
    }
}

impl Curve {
    /// A curve through points `(x, y)` without intervals.
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
    /// Its name in the report.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Model => "model",
            Source::Simulated => "simulated",
            Source::Published => "published",
            Source::Ratio => "ours over published",
        }
    }
}
