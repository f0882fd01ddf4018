//! The distance of the arm between two positions, and its probability.

use parlour_drive::surface::{Surface, Zone};

use super::access::{Pattern, ServiceError};

/// The cylinders over which requests are distributed.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// By zone, from the outermost on.
    pub parts: Vec<Part>,
    /// The number of blocks that they hold, with spares excluded on average.
    pub blocks: f64,
}

/// The cylinders of one zone.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The zone's number.
    pub zone: usize,
    /// The first cylinder.
    pub first: u32,
    /// The number of cylinders.
    pub cylinders: u32,
    /// The fraction of the span's blocks that is in this part.
    pub weight: f64,
}

impl Span {
    /// The cylinders of a pattern.
    pub(super) fn of(surface: &Surface, pattern: Pattern) -> Result<Span, ServiceError> {
        let end = surface.zones().last().map_or(0, |zone| used(surface, zone).1);
        let (from, to) = match pattern {
            Pattern::Uniform => (0, end),
            Pattern::Within(first, last) => (first, last),
            Pattern::Runs(length) if length.is_finite() && length >= 1.0 => (0, end),
            Pattern::Runs(length) => return Err(ServiceError::Run(length)),
        };
        let parts = surface.zones().iter().enumerate().filter_map(|(number, zone)| {
            let (begin, end) = used(surface, zone);
            let first = begin.max(from);
            let cylinders = (end.min(to) + 1).checked_sub(first).filter(|cylinders| *cylinders > 0)?;
            let blocks = zone.blocks as f64 * f64::from(cylinders) / f64::from(end + 1 - begin);
            Some(Part { zone: number, first, cylinders, weight: blocks })
        });
        let mut parts: Vec<Part> = parts.collect();
        let blocks: f64 = parts.iter().map(|part| part.weight).sum();
        if parts.is_empty() || from > to || to > end {
            return Err(ServiceError::Cylinders { first: from, last: to, end });
        }
        parts.iter_mut().for_each(|part| part.weight /= blocks);
        Ok(Span { parts, blocks })
    }

    /// The probability of each distance, from 0 on, between two independent random blocks. (The
    /// number of pairs at a distance is piecewise linear for each pair of zones, so it is the
    /// second sum of four numbers for each pair.)
    pub fn distances(&self) -> Vec<f64> {
        let (first, last) = (&self.parts[0], &self.parts[self.parts.len() - 1]);
        let longest = (last.first + last.cylinders - first.first) as usize;
        let mut bends = vec![0.0; longest + 2];
        let mut likely = vec![0.0; longest + 2];
        for (number, part) in self.parts.iter().enumerate() {
            let density = part.weight / f64::from(part.cylinders);
            own(&mut likely, part.cylinders, density * density);
            for other in &self.parts[number + 1..] {
                let pair = 2.0 * density * other.weight / f64::from(other.cylinders);
                let nearest = (other.first - (part.first + part.cylinders - 1)) as usize;
                let (here, there) = (part.cylinders as usize, other.cylinders as usize);
                bends[nearest] += pair;
                bends[nearest + here] -= pair;
                bends[nearest + there] -= pair;
                bends[nearest + here + there] += pair;
            }
        }
        let (mut slope, mut height) = (0.0, 0.0);
        for (likely, bend) in likely.iter_mut().zip(&bends) {
            slope += bend;
            height += slope;
            *likely += height;
        }
        likely.truncate(longest);
        likely
    }

    /// The same from a random block to the block before which the fraction `before` of all blocks
    /// lies; and the number of the part of the span with that block.
    pub fn distances_to(&self, before: f64) -> (usize, Vec<f64>) {
        let (number, target) = self.cylinder_at(before);
        let (first, last) = (&self.parts[0], &self.parts[self.parts.len() - 1]);
        let mut likely = vec![0.0; (last.first + last.cylinders - first.first) as usize];
        for part in &self.parts {
            let density = part.weight / f64::from(part.cylinders);
            for cylinder in part.first..part.first + part.cylinders {
                likely[cylinder.abs_diff(target) as usize] += density;
            }
        }
        (number, likely)
    }

    fn cylinder_at(&self, before: f64) -> (usize, u32) {
        let mut left = before;
        for (number, part) in self.parts.iter().enumerate() {
            if left < part.weight {
                return (number, part.first + (left / part.weight * f64::from(part.cylinders)) as u32);
            }
            left -= part.weight;
        }
        let last = &self.parts[self.parts.len() - 1];
        (self.parts.len() - 1, last.first + last.cylinders - 1)
    }
}

/// Pairs within one zone.
fn own(likely: &mut [f64], cylinders: u32, pair: f64) {
    likely[0] += pair * f64::from(cylinders);
    for distance in 1..cylinders {
        likely[distance as usize] += 2.0 * pair * f64::from(cylinders - distance);
    }
}

/// The first and the last cylinder of a zone that hold blocks.
fn used(surface: &Surface, zone: &Zone) -> (u32, u32) {
    let [first, last] = [zone.first, zone.first + zone.blocks - 1].map(|block| surface.place(block).cylinder);
    (first.min(last), first.max(last))
}
