//! Writes whose check units are written together with the data, with the strategy that takes the
//! fewest accesses (Chen §3).

use parlour_units::{Sectors, Unit};

use super::bands::{Band, bands};
use super::build::{Builder, Method, merge};
use super::combined;
use super::pieces::{unmap, write_pieces};
use super::view::{Lost, Old, StripeView, StripeWrite, is_whole};
use super::{Plan, Source, Span, Strategy};
use crate::code::UnitSet;
use crate::columns::Columns;
use crate::planted::{Bug, is_planted};

impl Builder {
    /// Plans a write whose check units are updated in place.
    pub(crate) fn write_in_place(
        &mut self,
        plan: &mut Plan,
        view: StripeView<'_>,
        write: StripeWrite<'_>,
    ) -> Result<(), Lost> {
        let StripeWrite { pieces, content, durable } = write;
        if content.unmaps() && is_whole(view.geometry.layout(), pieces) {
            unmap(plan, view, pieces);
            return Ok(());
        }
        if combined::floats(view, pieces) {
            plan.strategy = Strategy::Floating;
            combined::write_in_place(plan, view, write);
            return Ok(());
        }
        bands(pieces, &mut self.plain);
        self.choose(view)?;
        plan.strategy = self.strategy(view);
        if plan.strategy == Strategy::ReadModifyWrite && self.combines(view, pieces) {
            combined::write_in_place(plan, view, write);
            return Ok(());
        }
        let hull = self.hull();
        let old = self.read_phase(plan, view, hull);
        plan.next_phase();
        let checks = self.parity_phase(plan, view, write, hull, &old);
        plan.next_phase();
        write_pieces(plan, view, write);
        // A check unit must be durable if it is a copy, or if it stands in for a missing data unit.
        // Otherwise it is recomputed after a crash.
        let copies = view.code().is_repetition();
        let check_durable = durable && (copies || view.any_data(view.missing));
        let write = StripeWrite { durable: check_durable, ..write };
        self.write_checks(plan, view, write, hull, &checks);
        Ok(())
    }

    /// Chooses a method for each band. If both are possible, all bands get the same one: the one
    /// with fewer reads, then the one that reads less, then read-modify-write.
    fn choose(&mut self, view: StripeView<'_>) -> Result<(), Lost> {
        let modify = self.candidate(view, Method::Modify);
        let reconstruct = self.candidate(view, Method::Reconstruct);
        let best = match (modify, reconstruct) {
            (Some(modify), Some(reconstruct)) if reconstruct < modify && !is_planted(Bug::AlwaysModifies) => {
                Method::Reconstruct
            }
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
                    let rest = unwritten(view, band.written);
                    self.reads.extend(rest.map(|unit| (unit, band.columns)));
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

    /// Computes check units, each into its own scratch buffer, which is returned. A copy of a data
    /// unit needs no computation.
    fn parity_phase(
        &self,
        plan: &mut Plan,
        view: StripeView<'_>,
        write: StripeWrite<'_>,
        hull: Columns,
        read: &[Old],
    ) -> Vec<(Unit, Source)> {
        let mut computed = Vec::new();
        let sums = view.present_checks().filter(|check| view.code().repeats(*check).is_none());
        for check in sums {
            let result = match read.iter().find(|old| old.unit == check) {
                Some(old) => old.source,
                None => plan.scratch(hull.length()),
            };
            for (band, method) in &self.bands {
                let place = band.columns;
                let destination = Span::new(result, place.from - hull.from, place.length());
                self.compute_check(plan, view, write, (band, *method), (check, destination), read);
            }
            computed.push((check, result));
        }
        computed
    }

    /// Computes one band of a check unit.
    fn compute_check(
        &self,
        plan: &mut Plan,
        view: StripeView<'_>,
        StripeWrite { pieces, content, .. }: StripeWrite<'_>,
        (band, method): (&Band, Method),
        (check, destination): (Unit, Span),
        read: &[Old],
    ) {
        let columns = band.columns;
        let old = |unit: Unit| {
            let known =
                view.cached(unit, columns).or_else(|| read.iter().find(|old| old.unit == unit).copied());
            known.expect("what a method needs was read or is cached").span(columns)
        };
        let new = |unit: Unit| {
            let written = pieces.iter().find(|piece| piece.unit == unit && piece.columns.contain(columns));
            content.span(written.expect("a band is written in full"), columns)
        };
        let terms = view.code().encode(check);
        match method {
            Method::Modify => {
                let written = terms.filter(|(unit, _)| band.written.has(*unit));
                plan.add(destination, written.flat_map(|(unit, by)| [(old(unit), by), (new(unit), by)]));
            }
            Method::Reconstruct => {
                let unit = |unit| if band.written.has(unit) { new(unit) } else { old(unit) };
                plan.sum(destination, terms.map(|(data, by)| (unit(data), by)));
            }
            Method::Nothing => {}
        }
    }

    fn write_checks(
        &mut self,
        plan: &mut Plan,
        view: StripeView<'_>,
        write: StripeWrite<'_>,
        hull: Columns,
        computed: &[(Unit, Source)],
    ) {
        let StripeWrite { pieces, content, durable } = write;
        if is_planted(Bug::DegradedWriteForgetsParity) && !view.missing.is_empty() {
            return;
        }
        for check in view.present_checks() {
            self.reads.clear();
            self.reads.extend(self.bands.iter().map(|(band, _)| (check, band.columns)));
            merge(&mut self.reads);
            let result = computed.iter().find(|(unit, _)| *unit == check).map(|(_, source)| *source);
            if self.copies_in_turn && result.is_none() {
                plan.next_phase();
            }
            for (_, columns) in &self.reads {
                let span = match result {
                    Some(source) => Span::new(source, columns.from - hull.from, columns.length()),
                    None => content.span(&pieces[0], *columns),
                };
                let location = view.locate(check, columns.from);
                plan.write(location.slot, location.at, span, durable);
            }
        }
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

/// The method for a band: `preferred` if possible.
fn possible(view: StripeView<'_>, band: &Band, preferred: Method) -> Option<Method> {
    let missing_written = !band.written.and(view.missing).is_empty();
    let missing_rest = view.data().any(|unit| view.missing.has(unit) && !band.written.has(unit));
    if view.changed_checks(band.written).next().is_none() {
        return (!missing_written).then_some(Method::Nothing);
    }
    match (missing_written, missing_rest, preferred) {
        (true, true, _) => None,
        (true, false, _) => Some(Method::Reconstruct),
        (false, true, _) => Some(Method::Modify),
        (false, false, preferred) => Some(preferred),
    }
}

/// The data units that are not written and on which present check units depend.
fn unwritten(view: StripeView<'_>, written: UnitSet) -> impl Iterator<Item = Unit> {
    let depends = view.present_checks().map(|check| view.code().depends(check));
    let needed = depends.fold(UnitSet::NONE, UnitSet::or);
    view.data().filter(move |unit| needed.has(*unit) && !written.has(*unit))
}
