//! The progress of work that goes stripe by stripe, with several stripes under way at once.

use std::collections::BTreeSet;

use parlour_units::Stripe;

/// Stripes before `next` are done, except those that are under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frontier {
    next: u64,
    under_way: BTreeSet<u64>,
}

impl Frontier {
    /// A frontier with all stripes before `next` done.
    pub(crate) fn at(next: u64) -> Frontier {
        Frontier { next, under_way: BTreeSet::new() }
    }

    /// The next stripe to begin.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// All stripes before this are done.
    pub(crate) fn done(&self) -> u64 {
        self.under_way.first().copied().unwrap_or(self.next)
    }

    /// Whether `stripe` is done.
    pub(crate) fn has(&self, stripe: Stripe) -> bool {
        stripe.get() < self.next && !self.under_way.contains(&stripe.get())
    }

    /// Whether `stripe` was begun and is not done.
    pub(crate) fn is_at(&self, stripe: Stripe) -> bool {
        self.under_way.contains(&stripe.get())
    }

    /// Begins the next stripe.
    pub(crate) fn begin(&mut self) {
        self.under_way.insert(self.next);
        self.next += 1;
    }

    /// Skips the next stripe.
    pub(crate) fn skip(&mut self) {
        self.next += 1;
    }

    /// Skips the stripes before `to`.
    pub(crate) fn skip_to(&mut self, to: u64) {
        assert!(to >= self.next, "work goes on");
        self.next = to;
    }

    /// A stripe that was begun is done. After a restart of the work, a job from before may still
    /// end.
    pub(crate) fn end(&mut self, stripe: Stripe) {
        self.under_way.remove(&stripe.get());
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }
}
