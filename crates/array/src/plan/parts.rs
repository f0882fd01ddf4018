//! Reads in parts: a step that reads a range is followed by ones that read its parts.

use std::ops::Range;

use parlour_units::{Sector, Sectors};

use super::{Plan, Span, Step};
use crate::buffer::Slice;
use crate::effect::Action;

impl Plan {
    /// Adds the reads of `steps` once more before step `before`, in the phase of these steps, cut
    /// at multiples of `granule` on the member. `slices` are those of the plan's spans, and are
    /// added to like these. Returns the number of new steps.
    ///
    /// # Panics
    /// If one of the steps is not a read.
    pub(crate) fn read_in_parts(
        &mut self,
        steps: &[u32],
        before: usize,
        granule: Sectors,
        slices: &mut Vec<Slice>,
    ) -> usize {
        let mut parts = Vec::new();
        for step in steps {
            let Step { phase, action, spans } = self.steps[*step as usize].clone();
            let Action::Read { member, at, length } = action else { unreachable!("only reads are cut") };
            for part in cut(at, length, granule) {
                let spans = self.part_of_spans(spans.clone(), part.clone(), slices);
                let action = Action::Read { member, at: at + part.start, length: part.end - part.start };
                parts.push(Step { phase, action, spans });
            }
        }
        let count = parts.len();
        self.steps.splice(before..before, parts);
        self.move_steps(before as u32, count as u32);
        count
    }

    /// Adds the spans that are `part` of what `spans` hold together, and their slices.
    fn part_of_spans(
        &mut self,
        spans: Range<u32>,
        part: Range<Sectors>,
        slices: &mut Vec<Slice>,
    ) -> Range<u32> {
        let first = self.spans.len() as u32;
        let mut from = Sectors::ZERO;
        for index in spans {
            let (span, slice) = (self.spans[index as usize], slices[index as usize]);
            let to = from + span.length;
            let (start, end) = (part.start.max(from), part.end.min(to));
            if start < end {
                let (skipped, length) = (start - from, end - start);
                self.spans.push(Span { start: span.start + skipped, length, ..span });
                slices.push(Slice { start: slice.start + skipped, length, ..slice });
            }
            from = to;
        }
        first..self.spans.len() as u32
    }

    /// Steps from `from` on have moved up by `count`: so do the numbers that name them.
    fn move_steps(&mut self, from: u32, count: u32) {
        let moved = |step: &mut u32| *step += if *step >= from { count } else { 0 };
        self.sums.iter_mut().for_each(|(step, _)| moved(step));
        self.checksums.iter_mut().for_each(|(step, _)| moved(step));
        self.recorded.iter_mut().filter_map(|recorded| recorded.step.as_mut()).for_each(moved);
        for verified in &mut self.verified {
            moved(&mut verified.step);
            moved(&mut verified.read);
        }
    }
}

/// The parts of a range, relative to its start, cut at multiples of `granule`.
fn cut(at: Sector, length: Sectors, granule: Sectors) -> impl Iterator<Item = Range<Sectors>> {
    let mut from = Sectors::ZERO;
    std::iter::from_fn(move || {
        let left = granule - (at + from).from_start() % granule;
        let to = length.min(from + left);
        let part = (from < to).then_some(from..to);
        from = to;
        part
    })
}
