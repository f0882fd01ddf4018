//! The content that may be read after a power cut: for each sector, the last write that was
//! answered before a completed flush began, or was answered as durable, or any later write. Content
//! that was read once must stay.

use std::collections::{BTreeMap, BTreeSet};

use crate::content::{ANY, LOST, Value, ZEROES};
use crate::journal::{Kind, NEVER, Request};
use crate::session::Session;
use crate::story::{Setup, UNIT};

/// The values that each sector may hold.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    one: Vec<Value>,
    /// The sectors with several possible values.
    several: BTreeMap<usize, Vec<Value>>,
    /// Sectors of whole stripes that were being written: if a member was lost with the power, they
    /// may be lost with it.
    cut_off: BTreeSet<usize>,
}

impl Expected {
    /// The expected content of a new array.
    pub(crate) fn zeroes(sectors: u64) -> Expected {
        Expected { one: vec![ZEROES; sectors as usize], several: BTreeMap::new(), cut_off: BTreeSet::new() }
    }

    fn allowed(&self, sector: usize) -> &[Value] {
        self.several.get(&sector).map_or(std::slice::from_ref(&self.one[sector]), Vec::as_slice)
    }

    fn allow(&mut self, sector: usize, values: Vec<Value>) {
        match values[..] {
            [value] => {
                self.one[sector] = value;
                self.several.remove(&sector);
            }
            _ => {
                self.several.insert(sector, values);
            }
        }
    }

    /// The expected content after a cut at `cut` in `session`, which began with this content.
    /// `reads_last` says whether content that was read must stay: with the papers' behaviour that
    /// is not guaranteed if a member is lost.
    pub(crate) fn after(&self, setup: Setup, session: &Session, cut: usize, reads_last: bool) -> Expected {
        let mut after = self.clone();
        if setup.is_logged() {
            after.cut_off.extend(whole_stripes(setup, session, cut));
        }
        let writes = writes_of(session, cut, 0);
        if reads_last {
            self.narrow(session, cut, &mut after, &writes);
        }
        for (sector, of) in writes {
            let covered = |ended: usize| of.iter().any(|(write, _, lasting)| *lasting && write.begun > ended);
            let mut values: Vec<Value> = match of.iter().any(|(_, _, lasting)| *lasting) {
                true => Vec::new(),
                false => after.allowed(sector).to_vec(),
            };
            let left = of.iter().filter(|(write, ..)| write.ended == NEVER || !covered(write.ended));
            values.extend(left.map(|(_, value, _)| *value));
            after.allow(sector, values);
        }
        after
    }

    /// The expected content of an array that is forced to trust its parity, with a member missing
    /// since `excluded`. The parity of a stripe is right if all members were flushed after the last
    /// write to it. Other stripes may have any content.
    pub(crate) fn after_force(
        &self,
        setup: Setup,
        session: &Session,
        cut: usize,
        excluded: usize,
    ) -> Expected {
        let mut after = self.after(setup, session, cut, false);
        let stripe = setup.stripe();
        // A durable write flushes all members of its stripe if one is missing. Not every stripe has
        // a unit on the missing member.
        let durable_writes_flush = setup.stripes_span_all_members();
        let lasting = session.requests.iter().filter(|request| match request.kind {
            Kind::Write { durable, .. } => durable && durable_writes_flush,
            Kind::Flush => true,
            Kind::Read => false,
        });
        let lasting = lasting.filter(|request| request.succeeded && request.ended < cut);
        let last = lasting.map(|request| request.begun).filter(|begun| *begun >= excluded).max();
        for (sector, of) in writes_of(session, cut, excluded) {
            let fits = |write: &Request| write.succeeded && last.is_some_and(|last| write.ended < last);
            if of.iter().any(|(write, _, lasting)| !lasting && !fits(write)) {
                let begin = sector / stripe * stripe;
                let end = (begin + stripe).min(after.one.len());
                (begin..end).for_each(|sector| after.allow(sector, vec![ANY]));
            }
        }
        after
    }

    /// If the content of a sector was read before any write to it in this session, only that value
    /// stays possible.
    fn narrow(
        &self,
        session: &Session,
        cut: usize,
        after: &mut Expected,
        writes: &BTreeMap<usize, Vec<Written<'_>>>,
    ) {
        let done =
            |request: &&Request| request.kind == Kind::Read && request.succeeded && request.ended < cut;
        for read in session.requests.iter().filter(done) {
            for (sector, value) in (read.at as usize..).zip(&read.read) {
                let written =
                    writes.get(&sector).is_some_and(|of| of.iter().any(|(w, ..)| w.begun < read.ended));
                if !written && self.allowed(sector).contains(value) {
                    after.allow(sector, vec![*value]);
                }
            }
        }
    }

    /// Checks that `found`, from sector `at` on, is allowed. From then on exactly this content is
    /// expected.
    ///
    /// # Errors
    /// The content is not allowed. The error describes the difference.
    pub(crate) fn see(&mut self, at: u64, found: &[Value]) -> Result<(), String> {
        for (sector, value) in (at as usize..).zip(found) {
            let allowed = self.allowed(sector);
            if *value == LOST && self.cut_off.contains(&sector) {
                continue;
            }
            if !allowed.contains(value) && !allowed.contains(&ANY) {
                return Err(format!("sector {sector} holds {value}, not one of {allowed:?}"));
            }
            self.allow(sector, vec![*value]);
            self.cut_off.remove(&sector);
        }
        Ok(())
    }
}

/// The sectors of whole stripes that were being written at `cut`.
fn whole_stripes(setup: Setup, session: &Session, cut: usize) -> BTreeSet<usize> {
    let stripe = setup.stripe();
    let cut_off = session.requests.iter().filter(|request| request.begun < cut && request.ended >= cut);
    let writes = cut_off.filter(|request| matches!(request.kind, Kind::Write { .. }));
    let of_write = |write: &Request| {
        let range = write.at as usize..(write.at + write.length) as usize;
        let all = range.start / stripe * stripe..range.end.div_ceil(stripe) * stripe;
        let in_stripe = move |sector: usize| {
            let column = sector / stripe * stripe + sector % UNIT;
            (column..sector / stripe * stripe + stripe).step_by(UNIT).all(|unit| range.contains(&unit))
        };
        all.filter(move |sector| in_stripe(*sector)).collect::<Vec<usize>>()
    };
    writes.flat_map(of_write).collect()
}

/// A write, its value, and whether it is guaranteed to be durable.
type Written<'a> = (&'a Request, Value, bool);

/// The writes of `session` that were begun before `cut`, by sector. Only flushes and durable writes
/// after `since` count.
fn writes_of(session: &Session, cut: usize, since: usize) -> BTreeMap<usize, Vec<Written<'_>>> {
    let done = |request: &&Request| request.succeeded && request.ended < cut && request.begun >= since;
    let flushes = session.requests.iter().filter(|request| request.kind == Kind::Flush);
    let flushes: Vec<&Request> = flushes.filter(done).collect();
    let lasts = |write: &Request, durable: bool| {
        let flushed = || flushes.iter().any(|flush| flush.begun > write.ended);
        write.succeeded && write.ended < cut && (durable && write.begun >= since || flushed())
    };
    let mut writes: BTreeMap<usize, Vec<Written<'_>>> = BTreeMap::new();
    for request in session.requests.iter().filter(|request| request.begun < cut) {
        if let Kind::Write { value, durable } = request.kind {
            let lasting = lasts(request, durable);
            for sector in request.at..request.at + request.length {
                writes.entry(sector as usize).or_default().push((request, value, lasting));
            }
        }
    }
    writes
}
