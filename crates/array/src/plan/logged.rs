//! Writes whose parity updates go to the log.

use parlour_units::{Sectors, Unit};

use super::bands::{Band, bands};
use super::build::{Builder, merge};
use super::combined;
use super::pieces::{plan_differences, preread, unmap, write_pieces, write_unit};
use super::recompute::read_others;
use super::view::{Content, Fragment, LogMethod, Lost, Old, StripeView, StripeWrite, is_whole};
use super::{Plan, Source, Span, Strategy};
use crate::columns::Piece;

impl Builder {
    /// The best method to log a write to a stripe without missing units: the fewest accesses, then
    /// the least to log. `known`: the old data is known without reading.
    pub(crate) fn log_method(
        &mut self,
        view: StripeView<'_>,
        pieces: &[Piece],
        cancels: bool,
        known: bool,
    ) -> LogMethod {
        bands(pieces, &mut self.plain);
        let data = u32::from(view.geometry.layout().data_units());
        if self.plain.iter().all(|band| band.written.count() == data) {
            return if cancels { LogMethod::Cancel } else { LogMethod::Overwrite };
        }
        self.read_unwritten(view);
        let prereads = if known { 0 } else { pieces.len() };
        if self.reads.len() < prereads { LogMethod::Overwrite } else { LogMethod::Update }
    }

    /// The method where records are durable before what they describe: writes are recorded as
    /// `usual`, and zeroes over whole stripes with a record without payload. With `cancels`
    /// ([`LargeWrite::Cancel`](crate::LargeWrite)) so are full-stripe writes, in place.
    pub(crate) fn durable_method(
        &mut self,
        view: StripeView<'_>,
        (pieces, content): (&[Piece], Content),
        cancels: bool,
        usual: LogMethod,
    ) -> LogMethod {
        if content != Content::Host && is_whole(view.geometry.layout(), pieces) {
            return LogMethod::Zero;
        }
        bands(pieces, &mut self.plain);
        let data = u32::from(view.geometry.layout().data_units());
        // If a crash cuts a full-stripe write off and a member is lost with it, that member's unit
        // is lost. With logged differences it is not.
        let whole =
            cancels && view.missing.is_empty() && self.plain.iter().all(|band| band.written.count() == data);
        if whole { LogMethod::Cancel } else { usual }
    }

    /// Notes reads of what new check units depend on and is not written. (`self.plain` are the
    /// bands.)
    fn read_unwritten(&mut self, view: StripeView<'_>) {
        self.reads.clear();
        for band in &self.plain {
            let rest = view.unwritten(band.written);
            self.reads.extend(rest.map(|unit| (unit, band.columns)));
        }
        merge(&mut self.reads);
    }

    /// The fragments that a method logs: one for each piece, or one for each band of each check
    /// unit that changes; none where nothing goes to a log.
    pub(crate) fn fragments(
        &mut self,
        view: StripeView<'_>,
        pieces: &[Piece],
        method: LogMethod,
    ) -> Vec<Fragment> {
        match method {
            LogMethod::Update => pieces
                .iter()
                .map(|piece| Fragment { unit: piece.unit, columns: piece.columns, bare: false })
                .collect(),
            LogMethod::Overwrite => {
                bands(pieces, &mut self.plain);
                let of_band = |band: &Band| {
                    let columns = band.columns;
                    view.changed_checks(band.written).map(move |unit| Fragment { unit, columns, bare: false })
                };
                self.plain.iter().flat_map(of_band).collect()
            }
            LogMethod::Content => Vec::new(),
            LogMethod::Cancel | LogMethod::Zero => {
                let unit = view.checks().next().expect("a logged layout has parity");
                vec![Fragment { unit, columns: pieces[0].columns, bare: true }]
            }
        }
    }

    /// Plans a logged write to a stripe without missing units.
    pub(crate) fn write_logged(
        &mut self,
        plan: &mut Plan,
        view: StripeView<'_>,
        write: StripeWrite<'_>,
        method: LogMethod,
        fragments: &[Fragment],
    ) {
        let piece = write.pieces[0];
        let rereads = method == LogMethod::Update && view.cached(piece.unit, piece.columns).is_none();
        if rereads && self.combines(view, write.pieces) {
            combined::write_logged(plan, view, write, fragments);
            return;
        }
        match method {
            LogMethod::Update => logged_update(plan, view, write, fragments),
            LogMethod::Overwrite => self.logged_overwrite(plan, view, write, fragments),
            LogMethod::Cancel | LogMethod::Zero | LogMethod::Content => {
                unreachable!("such a write updates parity in place")
            }
        }
        plan.next_phase();
        plan.commit_before = Some(plan.phase());
        write_pieces(plan, view, write);
    }

    /// Plans a write whose record is durable before its data is written. The record has checksums
    /// of old and new content, or where check units are updated in place, the new content itself. A
    /// full-stripe write is written with its parity and is durable when it is answered: until then
    /// a crash may leave a mixture of old and new units.
    pub(crate) fn write_durably_logged(
        &mut self,
        plan: &mut Plan,
        view: StripeView<'_>,
        write: StripeWrite<'_>,
        method: Option<LogMethod>,
        fragments: &[Fragment],
    ) -> Result<(), Lost> {
        if method == Some(LogMethod::Update) {
            self.update_durably_logged(plan, view, write, fragments)?;
            plan.next_phase();
            plan.commit_before = Some(plan.phase());
            write_pieces(plan, view, write);
            return Ok(());
        }
        match method {
            Some(LogMethod::Content) => self.write_recorded(plan, view, write),
            Some(LogMethod::Zero) => {
                zero_durably_logged(plan, view, write);
                Ok(())
            }
            _ => cancelling(plan, view, write),
        }
    }

    /// Reads the old data (missing units are computed from the rest of the stripe), and computes
    /// the differences and the checksums.
    fn update_durably_logged(
        &mut self,
        plan: &mut Plan,
        view: StripeView<'_>,
        write: StripeWrite<'_>,
        fragments: &[Fragment],
    ) -> Result<(), Lost> {
        let StripeWrite { pieces, content, .. } = write;
        plan.strategy = Strategy::LoggedUpdate;
        let mut old: Vec<Old> = Vec::with_capacity(pieces.len());
        let mut computed = Vec::new();
        for piece in pieces {
            if view.missing.has(piece.unit) {
                let sources = read_others(plan, view, piece.unit, piece.columns)?;
                let source = plan.scratch(piece.columns.length());
                computed.push((Span::new(source, Sectors::ZERO, piece.columns.length()), sources));
                old.push(Old::of(piece, source));
            } else {
                let known = view.cached(piece.unit, piece.columns);
                old.push(known.unwrap_or_else(|| preread(plan, view, piece)));
            }
        }
        plan.next_phase();
        for (span, sources) in computed {
            plan.sum(span, sources);
        }
        plan.next_phase();
        plan_differences(plan, pieces, content, fragments, &old, true);
        Ok(())
    }

    fn logged_overwrite(
        &mut self,
        plan: &mut Plan,
        view: StripeView<'_>,
        write: StripeWrite<'_>,
        fragments: &[Fragment],
    ) {
        let StripeWrite { pieces, content, .. } = write;
        bands(pieces, &mut self.plain);
        self.read_unwritten(view);
        let hull = self.hull();
        self.read_phase(plan, view, hull);
        plan.strategy = Strategy::LoggedOverwrite;
        plan.next_phase();
        for (index, fragment) in fragments.iter().enumerate() {
            let columns = fragment.columns;
            let source = |unit: Unit| {
                let written =
                    pieces.iter().find(|piece| piece.unit == unit && piece.columns.contain(columns));
                match written {
                    Some(piece) => content.span(piece, columns),
                    None => {
                        let old = self.old.iter().find(|old| old.unit == unit);
                        old.expect("what is not written was read").span(columns)
                    }
                }
            };
            let record = Span::new(Source::Record(index as u16), Sectors::ZERO, columns.length());
            plan.sum(record, view.code().encode(fragment.unit).map(|(unit, by)| (source(unit), by)));
            plan.checksum(record);
        }
    }
}

fn logged_update(plan: &mut Plan, view: StripeView<'_>, write: StripeWrite<'_>, fragments: &[Fragment]) {
    let StripeWrite { pieces, content, .. } = write;
    plan.strategy = Strategy::LoggedUpdate;
    let mut old: Vec<Old> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let known = view.cached(piece.unit, piece.columns);
        old.push(known.unwrap_or_else(|| preread(plan, view, piece)));
    }
    plan.next_phase();
    plan_differences(plan, pieces, content, fragments, &old, false);
}

/// Writes check units together with the data, in place, after a durable record with the checksums
/// of all units. Check units are computed from the data alone: what is not written is read. All
/// units that are missing are written.
fn cancelling(plan: &mut Plan, view: StripeView<'_>, write: StripeWrite<'_>) -> Result<(), Lost> {
    plan.strategy = Strategy::LoggedCancel;
    let StripeWrite { pieces, content, .. } = write;
    let columns = pieces[0].columns;
    let mut new: Vec<(Unit, Span)> = Vec::new();
    for unit in view.data() {
        let piece = pieces.iter().find(|piece| piece.unit == unit);
        let span = match piece {
            Some(piece) => content.span(piece, columns),
            // A member was lost since the method was chosen.
            None if view.missing.has(unit) => return Err(Lost),
            None => {
                let span = Span::new(plan.scratch(columns.length()), Sectors::ZERO, columns.length());
                let location = view.locate(unit, columns.from);
                plan.read(location.slot, location.at, span);
                span
            }
        };
        new.push((unit, span));
    }
    plan.next_phase();
    let of = |unit: Unit| new.iter().find(|(other, _)| *other == unit).expect("all data is known").1;
    let checks = view.checks().map(|check| {
        let result = Span::new(plan.scratch(columns.length()), Sectors::ZERO, columns.length());
        (check, result)
    });
    let computed: Vec<(Unit, Span)> = checks.collect();
    let terms = |check: Unit| view.code().encode(check).map(|(unit, by)| (of(unit), by)).collect();
    plan.sums_of(&computed.iter().map(|(check, result)| (*result, terms(*check))).collect::<Vec<_>>());
    plan.next_phase();
    new.iter().chain(&computed).for_each(|(_, span)| plan.checksum(*span));
    plan.next_phase();
    plan.commit_before = Some(plan.phase());
    write_pieces(plan, view, StripeWrite { durable: true, ..write });
    for (check, result) in computed.into_iter().filter(|(check, _)| !view.missing.has(*check)) {
        write_unit(plan, view, (check, columns.from), result, true);
    }
    Ok(())
}

/// Writes zeroes to all units, including the parity, after a durable record of this. After a crash
/// the whole write is redone.
fn zero_durably_logged(plan: &mut Plan, view: StripeView<'_>, write: StripeWrite<'_>) {
    let StripeWrite { pieces, content, durable } = write;
    plan.commit_before = Some(plan.phase());
    if content.unmaps() {
        unmap(plan, view, pieces);
    } else {
        plan.strategy = Strategy::FullStripe;
        write_pieces(plan, view, write);
        let columns = pieces[0].columns;
        for check in view.present_checks() {
            let zeroes = Span::new(Source::Zeroes, Sectors::ZERO, columns.length());
            write_unit(plan, view, (check, columns.from), zeroes, durable);
        }
    }
}
