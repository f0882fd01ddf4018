//! Writes whose check units are written together with the data, with the strategy that takes the
//! fewest accesses (Chen §3).

use parlour_codec::galois::product;
use parlour_units::{Sectors, Unit};

use super::bands::{Band, bands};
use super::build::{Builder, Method, merge};
use super::combined;
use super::pieces::{unmap, write_pieces, write_unit};
use super::view::{Lost, StripeView, StripeWrite, is_whole};
use super::{Plan, Source, Span, Strategy};
use crate::code::{Term, UnitSet};
use crate::columns::{Columns, Piece};

/// A part of a check unit, and its new content.
type CheckPart = (Unit, Columns, Span);

impl Builder {
    /// Plans a write whose check units are updated in place.
    pub(crate) fn write_in_place(
        &mut self,
        plan: &mut Plan,
        view: StripeView<'_>,
        write: StripeWrite<'_>,
    ) -> Result<(), Lost> {
        let StripeWrite { pieces, content, .. } = write;
        if content.unmaps() && is_whole(view.geometry.layout(), pieces) {
            unmap(plan, view, pieces);
            return Ok(());
        }
        if combined::floats(view, pieces) {
            plan.strategy = Strategy::Floating;
            combined::write_in_place(plan, view, write);
            return Ok(());
        }
        self.choose_strategy(plan, view, pieces)?;
        if plan.strategy == Strategy::ReadModifyWrite && self.combines(view, pieces) {
            combined::write_in_place(plan, view, write);
            return Ok(());
        }
        let checks = self.content_phases(plan, view, write);
        self.write_phase(plan, view, write, checks);
        Ok(())
    }

    /// Plans the same with a record that is durable before anything is written: the new content of
    /// all units that change. (That of missing units, too: older content of them does not count any
    /// more, wherever their members are when records are redone.)
    pub(crate) fn write_recorded(
        &mut self,
        plan: &mut Plan,
        view: StripeView<'_>,
        write: StripeWrite<'_>,
    ) -> Result<(), Lost> {
        let StripeWrite { pieces, content, .. } = write;
        self.choose_strategy(plan, view, pieces)?;
        let checks = self.content_phases(plan, view, write);
        for piece in pieces {
            plan.record(piece.unit, piece.columns, content.span(piece, piece.columns));
        }
        for (check, columns, span) in &checks {
            plan.record(*check, *columns, *span);
        }
        for check in view.checks().filter(|check| view.missing.has(*check)) {
            for (band, _) in self.changing(view, check) {
                plan.record_void(check, band.columns);
            }
        }
        plan.next_phase();
        plan.commit_before = Some(plan.phase());
        self.write_phase(plan, view, write, checks);
        Ok(())
    }

    fn choose_strategy(
        &mut self,
        plan: &mut Plan,
        view: StripeView<'_>,
        pieces: &[Piece],
    ) -> Result<(), Lost> {
        bands(pieces, &mut self.plain);
        self.choose(view)?;
        plan.strategy = self.strategy(view);
        Ok(())
    }

    /// Reads what the check units need, and computes them. Returns their parts that change.
    fn content_phases(
        &mut self,
        plan: &mut Plan,
        view: StripeView<'_>,
        write: StripeWrite<'_>,
    ) -> Vec<CheckPart> {
        let hull = self.hull();
        self.read_phase(plan, view, hull);
        plan.next_phase();
        self.parity_phase(plan, view, write, hull);
        plan.next_phase();
        self.check_parts(view, write, hull)
    }

    /// Writes data, and these parts of check units.
    fn write_phase(
        &mut self,
        plan: &mut Plan,
        view: StripeView<'_>,
        write: StripeWrite<'_>,
        checks: Vec<CheckPart>,
    ) {
        write_pieces(plan, view, write);
        // A check unit must be durable if it is a copy, or if it stands in for a missing data unit.
        // Otherwise it is recomputed after a crash.
        let copies = view.code().is_repetition();
        let durable = write.durable && (copies || view.any_data(view.missing));
        let mut last = None;
        for (check, columns, span) in checks {
            let is_next = last.replace(check) != Some(check);
            if self.copies_in_turn && is_next && self.result(check).is_none() {
                plan.next_phase();
            }
            write_unit(plan, view, (check, columns.from), span, durable);
        }
    }

    /// Chooses a method for each band. If both are possible, all bands get the same one: the one
    /// with fewer reads, then the one that reads less, then read-modify-write.
    fn choose(&mut self, view: StripeView<'_>) -> Result<(), Lost> {
        let modify = self.candidate(view, Method::Modify);
        let reconstruct = self.candidate(view, Method::Reconstruct);
        let best = match (modify, reconstruct) {
            (Some(modify), Some(reconstruct)) if reconstruct < modify => Method::Reconstruct,
            (Some(_), _) => Method::Modify,
            (None, Some(_)) => Method::Reconstruct,
            (None, None) => return Err(Lost),
        };
        self.candidate(view, best).map(|_| ()).ok_or(Lost)
    }

    /// Gives each band the `preferred` method if possible. Returns the number of reads and their
    /// length.
    fn candidate(&mut self, view: StripeView<'_>, preferred: Method) -> Option<(usize, Sectors)> {
        self.bands.clear();
        self.reads.clear();
        for band in &self.plain {
            let method = possible(view, band, preferred)?;
            self.bands.push((*band, method));
            match method {
                Method::Modify => {
                    let written = view.data().filter(|unit| band.written.has(*unit));
                    let read = written
                        .chain(view.changed_checks(band.written))
                        .filter(|unit| view.cached(*unit, band.columns).is_none());
                    self.reads.extend(read.map(|unit| (unit, band.columns)));
                }
                Method::Reconstruct => {
                    let rest = view.unwritten(band.written);
                    self.reads.extend(rest.map(|unit| (unit, band.columns)));
                }
                Method::Decode => {
                    let mut read = UnitSet::NONE;
                    for check in view.changed_checks(band.written) {
                        read = read
                            .or(old_terms(view, check, band.written)?.iter().map(|term| term.0).collect());
                    }
                    let read = view.units().filter(|unit| read.has(*unit));
                    let read = read.filter(|unit| view.cached(*unit, band.columns).is_none());
                    self.reads.extend(read.map(|unit| (unit, band.columns)));
                }
                Method::Nothing => {}
            }
        }
        merge(&mut self.reads);
        let total = self.reads.iter().fold(Sectors::ZERO, |sum, (_, columns)| sum + columns.length());
        Some((self.reads.len(), total))
    }

    fn strategy(&self, view: StripeView<'_>) -> Strategy {
        let code = view.code();
        let all = |method| self.bands.iter().all(|(_, chosen)| *chosen == method);
        if !code.has_checks() {
            Strategy::Direct
        } else if code.is_repetition() {
            Strategy::Copies
        } else if !view.missing.is_empty() {
            Strategy::DegradedWrite
        } else if all(Method::Modify) {
            Strategy::ReadModifyWrite
        } else if self.reads.is_empty() {
            Strategy::FullStripe
        } else {
            Strategy::ReconstructWrite
        }
    }

    /// Computes check units, each into its own scratch buffer, all those of a band in one pass. A
    /// copy of a data unit needs no computation.
    fn parity_phase(&mut self, plan: &mut Plan, view: StripeView<'_>, write: StripeWrite<'_>, hull: Columns) {
        // A sum of old content has memory of its own: it may contain the check unit itself.
        let decodes = self.bands.iter().any(|(_, method)| *method == Method::Decode);
        self.computed.clear();
        for check in view.present_checks().filter(|check| view.code().repeats(*check).is_none()) {
            let result = match self.old.iter().find(|old| old.unit == check).filter(|_| !decodes) {
                Some(old) => old.source,
                None => plan.scratch(hull.length()),
            };
            self.computed.push((check, result));
        }
        let bands = std::mem::take(&mut self.bands);
        for (band, method) in &bands {
            let method = if decodes && *method == Method::Modify { Method::Decode } else { *method };
            self.compute_band(plan, view, write, (band, method), hull);
        }
        self.bands = bands;
    }

    /// Computes a band of all check units that change.
    fn compute_band(
        &mut self,
        plan: &mut Plan,
        view: StripeView<'_>,
        StripeWrite { pieces, content, .. }: StripeWrite<'_>,
        (band, method): (&Band, Method),
        hull: Columns,
    ) {
        let (columns, code) = (band.columns, view.code());
        let mut outputs = std::mem::take(&mut self.outputs);
        outputs.clear();
        let changing = self.computed.iter().filter(|(check, _)| changes(view, band, *check));
        outputs.extend(
            changing.map(|(check, result)| {
                (*check, Span::new(*result, columns.from - hull.from, columns.length()))
            }),
        );
        let mut sources = std::mem::take(&mut self.sources);
        sources.clear();
        let old = |unit: Unit| {
            let known =
                view.cached(unit, columns).or_else(|| self.old.iter().find(|old| old.unit == unit).copied());
            known.expect("what a method needs was read or is cached").span(columns)
        };
        let new = |unit: Unit| {
            let written = pieces.iter().find(|piece| piece.unit == unit && piece.columns.contain(columns));
            content.span(written.expect("a band is written in full"), columns)
        };
        let needed = |unit: &Unit| outputs.iter().any(|(check, _)| code.coefficient(*check, *unit) != 0);
        match method {
            _ if outputs.is_empty() => {}
            Method::Decode => {
                let terms = |(check, destination): &(Unit, Span)| {
                    let of_old = old_terms(view, *check, band.written).expect("it was asked for before");
                    let written = code.encode(*check).filter(|(unit, _)| band.written.has(*unit));
                    let of_old = of_old.into_iter().map(|(unit, by)| (old(unit), by));
                    (*destination, of_old.chain(written.map(|(unit, by)| (new(unit), by))).collect())
                };
                plan.sums_of(&outputs.iter().map(terms).collect::<Vec<_>>());
            }
            Method::Modify => {
                let written = view.data().filter(|unit| band.written.has(*unit) && needed(unit));
                sources.extend(written.flat_map(|unit| [(unit, old(unit)), (unit, new(unit))]));
                sums(plan, view, true, &outputs, &sources);
            }
            Method::Reconstruct => {
                let unit = |unit| if band.written.has(unit) { new(unit) } else { old(unit) };
                sources.extend(view.data().filter(needed).map(|data| (data, unit(data))));
                sums(plan, view, false, &outputs, &sources);
            }
            Method::Nothing => {}
        }
        (self.outputs, self.sources) = (outputs, sources);
    }

    /// The bands in which `check` changes.
    fn changing<'a>(
        &'a self,
        view: StripeView<'a>,
        check: Unit,
    ) -> impl Iterator<Item = (Band, Method)> + 'a {
        self.bands.iter().copied().filter(move |(band, _)| changes(view, band, check))
    }

    /// The parts of check units that change, each with its new content.
    fn check_parts(
        &mut self,
        view: StripeView<'_>,
        StripeWrite { pieces, content, .. }: StripeWrite<'_>,
        hull: Columns,
    ) -> Vec<CheckPart> {
        let mut parts = Vec::new();
        let mut changed = std::mem::take(&mut self.reads);
        for check in view.present_checks() {
            changed.clear();
            changed.extend(self.changing(view, check).map(|(band, _)| (check, band.columns)));
            merge(&mut changed);
            let result = self.result(check);
            parts.extend(changed.iter().map(|(_, columns)| {
                let span = match result {
                    Some(source) => Span::new(source, columns.from - hull.from, columns.length()),
                    None => {
                        let copied = view.code().repeats(check);
                        let piece = pieces.iter().find(|piece| Some(piece.unit) == copied);
                        content.span(piece.expect("a copy changes with its unit"), *columns)
                    }
                };
                (check, *columns, span)
            }));
        }
        self.reads = changed;
        parts
    }

    /// Where the new content of `check` was computed; `None` if it is a copy.
    fn result(&self, check: Unit) -> Option<Source> {
        self.computed.iter().find(|(unit, _)| *unit == check).map(|(_, source)| *source)
    }

    /// Writes data without parity, because the old parity is not known.
    pub(crate) fn write_data_alone(
        &mut self,
        plan: &mut Plan,
        view: StripeView<'_>,
        write: StripeWrite<'_>,
    ) -> Result<(), Lost> {
        plan.strategy = Strategy::Direct;
        if view.any_data(view.missing) {
            return Err(Lost);
        }
        write_pieces(plan, view, write);
        Ok(())
    }
}

/// Whether `check` changes in a band.
fn changes(view: StripeView<'_>, band: &Band, check: Unit) -> bool {
    !band.written.and(view.code().depends(check)).is_empty()
}

/// Sums of content of data units.
fn sums(
    plan: &mut Plan,
    view: StripeView<'_>,
    adds: bool,
    outputs: &[(Unit, Span)],
    sources: &[(Unit, Span)],
) {
    let spans = |units: &[(Unit, Span)]| units.iter().map(|(_, span)| *span).collect::<Vec<_>>();
    let (to, from) = (spans(outputs), spans(sources));
    plan.sums(adds, &to, &from, |output, source| {
        view.code().coefficient(outputs[output].0, sources[source].0)
    });
}

/// The method for a band: `preferred` if possible.
fn possible(view: StripeView<'_>, band: &Band, preferred: Method) -> Option<Method> {
    let missing_written = !band.written.and(view.missing).is_empty();
    let missing_rest = view.data().any(|unit| view.missing.has(unit) && !band.written.has(unit));
    if view.changed_checks(band.written).next().is_none() {
        return (!missing_written).then_some(Method::Nothing);
    }
    match (missing_written, missing_rest, preferred) {
        (true, true, _) => Some(Method::Decode),
        (true, false, _) => Some(Method::Reconstruct),
        (false, true, _) => Some(Method::Modify),
        (false, false, preferred) => Some(preferred),
    }
}

/// The old content, without that of missing units, that the new content of `check` is a sum of,
/// beside the new content of what is `written`. `None` if it cannot be computed.
fn old_terms(view: StripeView<'_>, check: Unit, written: UnitSet) -> Option<Vec<Term>> {
    let code = view.code();
    let mut terms = vec![(check, 1)];
    for (unit, by) in code.encode(check).filter(|(unit, _)| written.has(*unit)) {
        match view.missing.has(unit) {
            false => terms.push((unit, by)),
            true => {
                let of_unit = code.decode(unit, view.missing)?;
                terms.extend(of_unit.into_iter().map(|(other, factor)| (other, product(by, factor))));
            }
        }
    }
    let sum = |unit: Unit| terms.iter().filter(|term| term.0 == unit).fold(0, |sum, term| sum ^ term.1);
    Some(view.units().map(|unit| (unit, sum(unit))).filter(|(_, by)| *by != 0).collect())
}

#[cfg(test)]
mod tests {
    use parlour_units::{Slot, Stripe};

    use super::*;
    use crate::code::Table;
    use crate::columns::Piece;
    use crate::effect::Action;
    use crate::geometry::{Creation, Geometry, LogCreation};
    use crate::organization::{Consistency, Organization};
    use crate::plan::{Content, Target};
    use crate::roster::places::Places;
    use crate::tuning::Tuning;

    /// Which slots a write of data unit `unit` writes, where the one check unit is as `row` says.
    fn written(row: [u8; 4], unit: u16) -> Vec<Slot> {
        let creation = Creation {
            organization: Organization::named("raid4").expect("it is named").organization,
            checks: 1,
            members: 5,
            groups: 1,
            width: None,
            domains: None,
            spares: 0,
            unit: Sectors::new(8),
            block: Sectors::new(1),
            member_length: Sectors::new(1 << 16),
            log: LogCreation::default(),
            consistency: Consistency::Bitmap,
        };
        let geometry = Geometry::create(&creation).expect("it is possible");
        let geometry = geometry.with_code(Table::of(4, vec![row.to_vec()]));
        let view = StripeView {
            geometry: &geometry,
            stripe: Stripe::new(0),
            missing: UnitSet::NONE,
            cached: &[],
            places: Places::of_layout(geometry.layout()),
            rebuilds: None,
        };
        let columns = Columns::new(Sectors::ZERO, Sectors::new(8));
        let pieces = [Piece { unit: Unit::new(unit), columns, host: Sectors::ZERO }];
        let write = StripeWrite { pieces: &pieces, content: Content::Host, durable: false };
        let mut plan = Plan::default();
        Builder::new(&Tuning::default(), false)
            .write_in_place(&mut plan, view, write)
            .expect("nothing is lost");
        let slot = |action: &Action<Target>| match action {
            Action::Write { member, .. } => member.slot(),
            _ => None,
        };
        plan.steps.iter().filter_map(|step| slot(&step.action)).collect()
    }

    #[test]
    fn a_check_unit_is_written_only_with_data_that_it_depends_on() {
        let slots = |numbers: &[u16]| numbers.iter().copied().map(Slot::new).collect::<Vec<_>>();
        assert_eq!(written([1, 1, 1, 1], 2), slots(&[2, 4]));
        assert_eq!(written([1, 1, 0, 0], 2), slots(&[2]));
        assert_eq!(written([0, 1, 0, 0], 1), slots(&[1, 4]), "a copy of the second unit");
        assert_eq!(written([0, 1, 0, 0], 0), slots(&[0]));
    }
}
