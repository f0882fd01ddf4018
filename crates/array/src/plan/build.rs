//! Builders: from the pieces of a stripe to a plan, by the strategy that takes the fewest accesses
//! (Chen §3).

use parlour_units::{Sectors, Stripe, Unit};

use crate::cache::Cached;
use crate::columns::{Columns, Piece};
use crate::effect::Action;
use crate::geometry::Geometry;
use crate::layout::{Layout, Location};
use crate::planted::{Bug, is_planted};
use crate::roster::floating::Floats;
use crate::tuning::Tuning;

use super::{Band, Plan, Source, Span, Strategy, bands, combined};

/// A set of a stripe's units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnitSet(u64);

impl UnitSet {
    pub(crate) const NONE: UnitSet = UnitSet(0);

    pub(crate) fn of(unit: Unit) -> UnitSet {
        UnitSet(1 << unit.get())
    }

    pub(crate) fn has(self, unit: Unit) -> bool {
        self.0 >> unit.get() & 1 == 1
    }

    pub(crate) fn insert(&mut self, unit: Unit) {
        self.0 |= 1 << unit.get();
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn count(self) -> u32 {
        self.0.count_ones()
    }

    pub(crate) fn and(self, other: UnitSet) -> UnitSet {
        UnitSet(self.0 & other.0)
    }
}

impl FromIterator<Unit> for UnitSet {
    fn from_iter<I: IntoIterator<Item = Unit>>(units: I) -> UnitSet {
        units.into_iter().fold(UnitSet::NONE, |mut set, unit| {
            set.insert(unit);
            set
        })
    }
}

/// A stripe as a plan sees it: where its units are, and which of them can be used.
#[derive(Clone, Copy)]
pub(crate) struct StripeView<'a> {
    pub(crate) geometry: &'a Geometry,
    pub(crate) stripe: Stripe,
    /// Units whose member is failed or not yet rebuilt.
    pub(crate) missing: UnitSet,
    /// Old data that need not be read.
    pub(crate) cached: &'a [Cached],
    /// Where units are, where they float.
    pub(crate) floats: Option<&'a Floats>,
}

/// Where old content stands: from `column` of `unit` on, at `start` of the source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Old {
    unit: Unit,
    source: Source,
    column: Sectors,
    start: Sectors,
}

impl Old {
    /// What `piece` overwrites, at the start of `source`.
    pub(super) fn of(piece: &Piece, source: Source) -> Old {
        Old { unit: piece.unit, source, column: piece.columns.from, start: Sectors::ZERO }
    }

    pub(super) fn span(&self, columns: Columns) -> Span {
        Span::new(self.source, self.start + (columns.from - self.column), columns.length())
    }
}

/// More is missing than the code can make up for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost;

impl StripeView<'_> {
    /// Whether there is data among `units`.
    pub(crate) fn any_data(&self, units: UnitSet) -> bool {
        let layout = self.geometry.layout();
        layout.units().any(|unit| layout.is_data(unit) && units.has(unit))
    }

    pub(super) fn cached(&self, unit: Unit, columns: Columns) -> Option<Old> {
        let known = self.cached.iter().find(|entry| entry.unit == unit && entry.columns.contain(columns))?;
        let Cached { columns, buffer, start, .. } = *known;
        Some(Old { unit, source: Source::Buffer(buffer), column: columns.from, start })
    }

    /// The same stripe, as if `units` were missing too.
    pub(crate) fn without(self, units: UnitSet) -> Self {
        StripeView { missing: UnitSet(self.missing.0 | units.0), ..self }
    }

    pub(super) fn locate(&self, unit: Unit, column: Sectors) -> Location {
        let home = self.geometry.layout().locate(self.stripe, unit);
        let now = self.floats.map_or(home, |floats| floats.locate(home));
        let at = self.geometry.data_start() + (now.at + column).from_start();
        Location { slot: now.slot, at }
    }

    pub(super) fn data(&self) -> impl Iterator<Item = Unit> + use<> {
        (0..self.geometry.layout().data_units()).map(Unit::new)
    }

    pub(super) fn checks(&self) -> impl Iterator<Item = Unit> + use<> {
        let data = self.geometry.layout().data_units();
        (data..data + self.geometry.layout().check_units()).map(Unit::new)
    }

    pub(super) fn present_checks(self) -> impl Iterator<Item = Unit> {
        self.checks().filter(move |unit| !self.missing.has(*unit))
    }

    fn present_check(self) -> Option<Unit> {
        self.present_checks().next()
    }
}

/// What a write writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// The host's payload.
    Host,
    /// Zeroes; whole stripes may give their space back.
    Zeroes { may_unmap: bool },
}

impl Content {
    /// Whether whole stripes give their space back.
    pub(crate) fn unmaps(self) -> bool {
        self == (Content::Zeroes { may_unmap: true })
    }

    pub(super) fn span(self, piece: &Piece, columns: Columns) -> Span {
        let start = piece.host + (columns.from - piece.columns.from);
        match self {
            Content::Host => Span::new(Source::Host, start, columns.length()),
            Content::Zeroes { .. } => Span::new(Source::Zeroes, Sectors::ZERO, columns.length()),
        }
    }
}

/// A write to one stripe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StripeWrite<'a> {
    pub(crate) pieces: &'a [Piece],
    pub(crate) content: Content,
    /// Whether it must be durable when it is answered.
    pub(crate) durable: bool,
}

/// How a write to a healthy stripe goes to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogMethod {
    /// Difference of old and new data.
    Update,
    /// New parity.
    Overwrite,
    /// New parity in place; what the log holds for the stripe no longer counts.
    Cancel,
    /// The same, where all units become zeroes, parity too.
    Zero,
}

impl LogMethod {
    /// Whether its record only voids what the log holds: parity is written in place.
    pub(crate) fn is_bare(self) -> bool {
        matches!(self, LogMethod::Cancel | LogMethod::Zero)
    }
}

/// Room in the log that is reserved for a plan: record `n` of the plan tells of these
/// columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// The unit whose difference is told; the check unit where new parity is.
    pub(crate) unit: Unit,
    pub(crate) columns: Columns,
    /// It has no payload: a cancel or zero record.
    pub(crate) bare: bool,
}

/// How a band's check units are brought up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Modify,
    Reconstruct,
    /// No check unit is there to be updated.
    Nothing,
}

/// Builds plans, keeping the memory of its tables from one to the next.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    /// See [`Tuning::copies_in_turn`](crate::Tuning::copies_in_turn).
    copies_in_turn: bool,
    /// Whether small writes read what they overwrite in the same access
    /// ([`Simulated::combined`](crate::Simulated)).
    combined: bool,
    bands: Vec<(Band, Method)>,
    plain: Vec<Band>,
    reads: Vec<(Unit, Columns)>,
}

impl Builder {
    pub(crate) fn new(tuning: &Tuning, combined: bool) -> Builder {
        Builder { copies_in_turn: tuning.copies_in_turn, combined, ..Builder::default() }
    }

    /// A write whose check units are updated at once.
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
        let parity = self.parity_phase(plan, view, write, hull, &old);
        plan.next_phase();
        write_pieces(plan, view, write);
        // A copy is as much the data as the first is; and where a data unit is missing, its content
        // lives in the check unit alone. Other check units are recomputed after a crash.
        let copies = view.geometry.layout().data_units() == 1;
        let check_durable = durable && (copies || !view.missing.and(view.data().collect()).is_empty());
        let write = StripeWrite { durable: check_durable, ..write };
        self.write_checks(plan, view, write, hull, parity);
        Ok(())
    }

    /// Whether what a write overwrites is read in the same access. Several pieces are not: one
    /// might be written and another fail, and then the difference is not known.
    fn combines(&self, view: StripeView<'_>, pieces: &[Piece]) -> bool {
        self.combined && pieces.len() == 1 && view.geometry.layout().check_units() == 1
    }

    /// A write to a stripe without missing units whose parity goes to the log.
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
            LogMethod::Cancel | LogMethod::Zero => unreachable!("a cancelling write updates parity in place"),
        }
        plan.next_phase();
        plan.commit_before = Some(plan.phase());
        write_pieces(plan, view, write);
    }

    /// How a write to a healthy stripe is best logged: the fewest accesses, then the least to log.
    /// `known`: nothing needs to be read for the difference.
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
        self.reads.clear();
        for band in &self.plain {
            let rest = view.data().filter(|unit| !band.written.has(*unit));
            self.reads.extend(rest.map(|unit| (unit, band.columns)));
        }
        merge(&mut self.reads);
        let prereads = if known { 0 } else { pieces.len() };
        if self.reads.len() < prereads { LogMethod::Overwrite } else { LogMethod::Update }
    }

    /// How a write goes to a log whose records are durable before their data: whole stripes in
    /// place, else differences.
    pub(crate) fn durable_method(
        &mut self,
        view: StripeView<'_>,
        pieces: &[Piece],
        content: Content,
        cancels: bool,
    ) -> LogMethod {
        if content != Content::Host && is_whole(view.geometry.layout(), pieces) {
            return LogMethod::Zero;
        }
        bands(pieces, &mut self.plain);
        let data = u32::from(view.geometry.layout().data_units());
        // A whole stripe that a crash cuts short loses the unit of a member that is lost with it:
        // differences do not.
        let whole =
            cancels && view.missing.is_empty() && self.plain.iter().all(|band| band.written.count() == data);
        if whole { LogMethod::Cancel } else { LogMethod::Update }
    }

    /// A write whose record is durable before its data is written. The record tells old and new
    /// content by its checksums. A whole stripe is written with its parity, and is durable when it
    /// is answered: until then a crash may mix old and new in it.
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
        if method == Some(LogMethod::Zero) {
            zero_durably_logged(plan, view, write);
            return Ok(());
        }
        if !view.missing.is_empty() {
            // A member was lost since the method was chosen.
            return Err(Lost);
        }
        plan.strategy = Strategy::LoggedCancel;
        let StripeWrite { pieces, content, .. } = write;
        let columns = pieces[0].columns;
        let new = |unit: Unit| {
            let piece = pieces.iter().find(|piece| piece.unit == unit).expect("each unit is written");
            content.span(piece, columns)
        };
        let parity = Span::new(plan.scratch(columns.length()), Sectors::ZERO, columns.length());
        plan.xor(parity, view.data().map(new));
        plan.next_phase();
        view.data().for_each(|unit| plan.checksum(new(unit)));
        plan.checksum(parity);
        plan.next_phase();
        plan.commit_before = Some(plan.phase());
        write_pieces(plan, view, StripeWrite { durable: true, ..write });
        for check in view.checks() {
            let location = view.locate(check, columns.from);
            plan.write(location.slot, location.at, parity, true);
        }
        Ok(())
    }

    /// Reads what is about to be overwritten, computing what is missing from the rest of the
    /// stripe, and finds the differences and the checksums.
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
                let sources = self.read_others(plan, view, piece.unit, piece.columns)?;
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
            plan.xor(span, sources);
        }
        plan.next_phase();
        plan_differences(plan, pieces, content, fragments, &old, true);
        Ok(())
    }

    /// What a method logs: a fragment for each piece, or for each band of new parity.
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
                let unit = view.checks().next().expect("a logged layout has parity");
                self.plain.iter().map(|band| Fragment { unit, columns: band.columns, bare: false }).collect()
            }
            LogMethod::Cancel | LogMethod::Zero => {
                let unit = view.checks().next().expect("a logged layout has parity");
                vec![Fragment { unit, columns: pieces[0].columns, bare: true }]
            }
        }
    }

    /// Chooses a method for each band. Where both are possible, one is taken for all bands: the one
    /// that reads fewer times, then less, then the modifying one.
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

    /// Gives each band `preferred` where that is possible, and says how many reads of how much it
    /// takes.
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
                        .chain(view.present_check())
                        .filter(|unit| view.cached(*unit, band.columns).is_none());
                    self.reads.extend(read.map(|unit| (unit, band.columns)));
                }
                Method::Reconstruct => {
                    let rest = view.data().filter(|unit| !band.written.has(*unit));
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
        let layout = view.geometry.layout();
        let all = |method| self.bands.iter().all(|(_, chosen)| *chosen == method);
        if layout.check_units() == 0 {
            Strategy::Direct
        } else if layout.data_units() == 1 {
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

    fn hull(&self) -> Columns {
        let first = self.plain.first().expect("a write touches something").columns;
        let last = self.plain.last().expect("a write touches something").columns;
        Columns::new(first.from, last.to)
    }

    /// Reads what the methods need, each unit into a scratch buffer of its own.
    fn read_phase(&self, plan: &mut Plan, view: StripeView<'_>, hull: Columns) -> Vec<Old> {
        let mut read: Vec<Old> = Vec::new();
        for (unit, columns) in &self.reads {
            let old = match read.iter().find(|old| old.unit == *unit) {
                Some(old) => *old,
                None => {
                    let source = plan.scratch(hull.length());
                    let old = Old { unit: *unit, source, column: hull.from, start: Sectors::ZERO };
                    read.push(old);
                    old
                }
            };
            let location = view.locate(*unit, columns.from);
            plan.read(location.slot, location.at, old.span(*columns));
        }
        read
    }

    /// Computes new parity into the scratch buffer that is returned; none where nothing is
    /// computed.
    fn parity_phase(
        &self,
        plan: &mut Plan,
        view: StripeView<'_>,
        write: StripeWrite<'_>,
        hull: Columns,
        read: &[Old],
    ) -> Option<Source> {
        let StripeWrite { pieces, content, .. } = write;
        let copies = view.geometry.layout().data_units() == 1;
        let check = view.present_check().filter(|_| !copies)?;
        let parity = match read.iter().find(|old| old.unit == check) {
            Some(old) => old.source,
            None => plan.scratch(hull.length()),
        };
        for (band, method) in &self.bands {
            let columns = band.columns;
            let old = |unit: Unit| {
                let known =
                    view.cached(unit, columns).or_else(|| read.iter().find(|old| old.unit == unit).copied());
                known.expect("what a method needs was read or is cached").span(columns)
            };
            let new = |unit: Unit| {
                let piece =
                    pieces.iter().find(|piece| piece.unit == unit).expect("a written unit has a piece");
                content.span(piece, columns)
            };
            let destination = Span::new(parity, columns.from - hull.from, columns.length());
            let written = view.data().filter(|unit| band.written.has(*unit));
            match method {
                Method::Modify => {
                    plan.xor_into(destination, written.flat_map(|unit| [old(unit), new(unit)]));
                }
                Method::Reconstruct => {
                    let unit = |unit| if band.written.has(unit) { new(unit) } else { old(unit) };
                    plan.xor(destination, view.data().map(unit));
                }
                Method::Nothing => {}
            }
        }
        Some(parity)
    }

    fn write_checks(
        &mut self,
        plan: &mut Plan,
        view: StripeView<'_>,
        write: StripeWrite<'_>,
        hull: Columns,
        parity: Option<Source>,
    ) {
        let StripeWrite { pieces, content, durable } = write;
        if is_planted(Bug::DegradedWriteForgetsParity) && !view.missing.is_empty() {
            return;
        }
        for check in view.present_checks() {
            self.reads.clear();
            self.reads.extend(self.bands.iter().map(|(band, _)| (check, band.columns)));
            merge(&mut self.reads);
            if self.copies_in_turn && parity.is_none() {
                plan.next_phase();
            }
            for (_, columns) in &self.reads {
                let span = match parity {
                    Some(source) => Span::new(source, columns.from - hull.from, columns.length()),
                    None => content.span(&pieces[0], *columns),
                };
                let location = view.locate(check, columns.from);
                plan.write(location.slot, location.at, span, durable);
            }
        }
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
        self.reads.clear();
        for band in &self.plain {
            let rest = view.data().filter(|unit| !band.written.has(*unit));
            self.reads.extend(rest.map(|unit| (unit, band.columns)));
        }
        merge(&mut self.reads);
        let hull = self.hull();
        let old = self.read_phase(plan, view, hull);
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
                        let old = old.iter().find(|old| old.unit == unit);
                        old.expect("what is not written was read").span(columns)
                    }
                }
            };
            let record = Span::new(Source::Record(index as u16), Sectors::ZERO, columns.length());
            plan.xor(record, view.data().map(source));
            plan.checksum(record);
        }
    }

    /// Writes data and no parity: what that was before is not known.
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

/// The method that a band can have, `preferred` if possible.
fn possible(view: StripeView<'_>, band: &Band, preferred: Method) -> Option<Method> {
    let layout = view.geometry.layout();
    let missing_written = !band.written.and(view.missing).is_empty();
    let missing_rest = view.data().any(|unit| view.missing.has(unit) && !band.written.has(unit));
    if view.present_check().is_none() {
        return (!missing_written).then_some(Method::Nothing);
    }
    if layout.data_units() == 1 {
        return Some(Method::Reconstruct);
    }
    match (missing_written, missing_rest, preferred) {
        (true, true, _) => None,
        (true, false, _) => Some(Method::Reconstruct),
        (false, true, _) => Some(Method::Modify),
        (false, false, preferred) => Some(preferred),
    }
}

/// Sorts reads by unit and column and joins those that touch.
fn merge(reads: &mut Vec<(Unit, Columns)>) {
    reads.sort_unstable();
    let mut kept = 0;
    for index in 1..reads.len() {
        let (unit, columns) = reads[index];
        let last = &mut reads[kept];
        if last.0 == unit && last.1.to >= columns.from {
            last.1.to = last.1.to.max(columns.to);
        } else {
            kept += 1;
            reads[kept] = (unit, columns);
        }
    }
    reads.truncate(kept + 1);
}

pub(super) fn write_pieces(plan: &mut Plan, view: StripeView<'_>, write: StripeWrite<'_>) {
    let StripeWrite { pieces, content, durable } = write;
    for piece in pieces.iter().filter(|piece| !view.missing.has(piece.unit)) {
        let location = view.locate(piece.unit, piece.columns.from);
        let durable = durable && !is_planted(Bug::DurableIgnored);
        plan.write(location.slot, location.at, content.span(piece, piece.columns), durable);
    }
}

/// Whether `pieces` are the same columns of each data unit.
pub(crate) fn is_whole(layout: &Layout, pieces: &[Piece]) -> bool {
    pieces.len() == usize::from(layout.data_units())
        && pieces.iter().all(|piece| piece.columns == pieces[0].columns)
}

/// Makes zeroes of all units, parity too, once a record says so: after a crash that is done again,
/// whatever of it was done.
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
            let location = view.locate(check, columns.from);
            let zeroes = Span::new(Source::Zeroes, Sectors::ZERO, columns.length());
            plan.write(location.slot, location.at, zeroes, durable);
        }
    }
    if is_planted(Bug::ZeroedBeforeRecord) {
        plan.commit_before = Some(plan.phase() + 1);
    }
}

fn unmap(plan: &mut Plan, view: StripeView<'_>, pieces: &[Piece]) {
    plan.strategy = Strategy::Unmap;
    let columns = pieces[0].columns;
    for unit in view.data().chain(view.checks()).filter(|unit| !view.missing.has(*unit)) {
        let Location { slot, at } = view.locate(unit, columns.from);
        plan.push(Action::Zero { member: slot.into(), at, length: columns.length() }, &[]);
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

/// Each record = old ⊕ new, from what stands in `old` of each piece; with checksums of both, if
/// they are told, else with its own.
pub(super) fn plan_differences(
    plan: &mut Plan,
    pieces: &[Piece],
    content: Content,
    fragments: &[Fragment],
    old: &[Old],
    checksums: bool,
) {
    for (index, fragment) in fragments.iter().enumerate() {
        let found = pieces.iter().zip(old).find(|(piece, _)| piece.unit == fragment.unit);
        let (piece, old) = found.expect("a fragment belongs to a piece");
        let length = fragment.columns.length();
        let before = old.span(fragment.columns);
        let record = Span::new(Source::Record(index as u16), Sectors::ZERO, length);
        let after = content.span(piece, fragment.columns);
        plan.xor(record, [before, after]);
        if checksums {
            plan.checksum(before);
            plan.checksum(after);
        } else {
            plan.checksum(record);
        }
    }
}

/// Reads what a piece is about to overwrite.
fn preread(plan: &mut Plan, view: StripeView<'_>, piece: &Piece) -> Old {
    let old = Old::of(piece, plan.scratch(piece.columns.length()));
    let location = view.locate(piece.unit, piece.columns.from);
    plan.read(location.slot, location.at, old.span(piece.columns));
    old
}
