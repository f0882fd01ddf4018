//! The colours of curves: an organization has the same colour in all charts, and nothing else has
//! that colour.

use serde::Serialize;

use crate::reproduce::figure::{Axis, Chart, Curve, Source};

/// The organizations, by the words with which their curves begin, in the order of the page style's
/// colours `--g0`, `--g1` and so on.
const ORGANIZATIONS: [&[&str]; 7] = [
    &["nonredundant", "RAID 0", "two RAID 0", "four in a stripe set"],
    &["mirrored", "RAID 1", "RAID 0+1", "four in a mirror", "four in a far mirror"],
    &["RAID 5"],
    &["parity logging"],
    &["floating"],
    &["RAID 4"],
    &["simple", "six simple", "one drive"],
];

/// The number of colours for other curves: `--o0`, `--o1` and so on.
const OTHERS: usize = 6;

/// The look of a curve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Look {
    /// The name of its colour in the page's style.
    colour: String,
    /// The curve's number among the curves of this colour in its chart. It selects the shade.
    shade: usize,
    /// The mark of its points; curves of the same subject have the same mark.
    mark: usize,
}

/// A curve with its look.
#[derive(Serialize)]
struct Drawn<'a> {
    #[serde(flatten)]
    curve: &'a Curve,
    look: Look,
}

/// A chart with the looks of its curves, for the script.
#[derive(Serialize)]
pub(super) struct Coloured<'a> {
    x: &'a Axis,
    y: &'a Axis,
    curves: Vec<Drawn<'a>>,
}

impl<'a> Coloured<'a> {
    pub(super) fn of(chart: &'a Chart) -> Coloured<'a> {
        let curves = chart.curves.iter().zip(looks(chart)).map(|(curve, look)| Drawn { curve, look });
        Coloured { x: &chart.x, y: &chart.y, curves: curves.collect() }
    }
}

/// The looks of a chart's curves, in their order.
fn looks(chart: &Chart) -> Vec<Look> {
    let mut of: Vec<&str> = Vec::new();
    for curve in &chart.curves {
        if !of.contains(&curve.of.as_str()) {
            of.push(&curve.of);
        }
    }
    let others: Vec<&str> = of.iter().copied().filter(|name| organization(name).is_none()).collect();
    let look = |curve: &Curve| {
        let mark = of.iter().position(|name| *name == curve.of).unwrap_or(0);
        if curve.source == Source::Ratio {
            return Look { colour: curve.of.replace(' ', "-"), shade: 0, mark };
        }
        match organization(&curve.of) {
            Some(number) => {
                let alike = of[..mark].iter().filter(|name| organization(name) == Some(number));
                Look { colour: format!("g{number}"), shade: alike.count(), mark }
            }
            None => {
                let place = others.iter().position(|name| *name == curve.of).unwrap_or(0);
                Look { colour: format!("o{}", place % OTHERS), shade: place / OTHERS, mark }
            }
        }
    };
    chart.curves.iter().map(look).collect()
}

/// The organization of a curve, if its subject is one.
fn organization(of: &str) -> Option<usize> {
    let begins = |word: &&str| {
        let rest = of.strip_prefix(*word)?;
        (!rest.starts_with(|next: char| next == '+' || next.is_alphanumeric())).then_some(())
    };
    ORGANIZATIONS.iter().position(|words| words.iter().any(|word| begins(word).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(of: &[(&str, Source)]) -> Chart {
        let curves = of.iter().map(|(of, source)| Curve::new(*of, *source, [(1.0, 1.0)]));
        Chart { x: Axis::linear("", ""), y: Axis::linear("", ""), curves: curves.collect() }
    }

    fn colours(of: &[(&str, Source)]) -> Vec<(String, usize)> {
        looks(&chart(of)).into_iter().map(|look| (look.colour, look.shade)).collect()
    }

    #[test]
    fn an_organization_has_its_colour_wherever_and_whatever_it_is_called() {
        let first = colours(&[("RAID 5", Source::Model), ("RAID 1", Source::Model)]);
        let other = colours(&[("mirrored", Source::Simulated), ("RAID 5, fixed sizes", Source::Published)]);
        assert_eq!(first, [("g2".to_owned(), 0), ("g1".to_owned(), 0)]);
        assert_eq!(other, [("g1".to_owned(), 0), ("g2".to_owned(), 0)]);
        assert_eq!(organization("RAID 0+1"), organization("RAID 1"));
        assert_ne!(organization("RAID 0"), organization("RAID 0+1"));
        assert_eq!(organization("RAID 01 of six"), None);
    }

    #[test]
    fn of_one_organization_several_curves_differ_in_shade_and_mark() {
        let curves =
            [("RAID 5", Source::Model), ("RAID 5, known", Source::Model), ("RAID 5", Source::Simulated)];
        let looks = looks(&chart(&curves));
        assert_eq!(
            looks.iter().map(|look| (look.shade, look.mark)).collect::<Vec<_>>(),
            [(0, 0), (1, 1), (0, 0)]
        );
    }

    #[test]
    fn what_is_no_organization_has_none_of_their_colours() {
        let others =
            colours(&[("16 KB", Source::Model), ("RAID 5", Source::Model), ("160 KB", Source::Model)]);
        assert_eq!(others.iter().map(|(colour, _)| colour.as_str()).collect::<Vec<_>>(), ["o0", "g2", "o1"]);
    }
}
