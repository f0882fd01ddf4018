//! Which ends of long writes are held back, for which requests that are still to come, and which
//! stripes are being written for two requests. `gather.rs` decides.

use crate::buffer::BufferId;
use crate::ids::HostId;
use crate::stage::Range;
use parlour_units::{Duration, Instant, Sector};

/// While the write before one is under way, the write behind it is waited for no longer than this:
/// as long as slow members may take for a few long writes.
pub(super) const PATIENCE_BEHIND: Duration = Duration::from_millis(100);
/// A write that was announced is waited for no longer than this.
const PATIENCE: Duration = Duration::from_millis(5);
/// The most writes that are announced and still to come; more are ignored until some are over.
const MOST: usize = 64;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Gather {
    held: Vec<Held>,
    together: Vec<Together>,
    /// Writes that are being received, and until when they are waited for.
    expected: Vec<(Range, Instant)>,
}

/// The end of a write, which waits for the rest of its stripe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) host: HostId,
    /// From the beginning of the stripe.
    pub(super) range: Range,
    /// The rest of the stripe.
    pub(super) rest: Range,
    /// The write that ends where this one begins, while it is under way.
    pub(super) behind: Option<HostId>,
    /// It waits no longer than this.
    pub(super) until: Instant,
}

/// A stripe that is written for two requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Together {
    /// The array's own write.
    pub(super) own: HostId,
    pub(super) hosts: [HostId; 2],
    /// The content of the stripe.
    pub(super) buffer: BufferId,
}

impl Gather {
    /// A write of `range` is being received.
    pub(super) fn expect(&mut self, now: Instant, range: Range) {
        self.expected.retain(|expected| expected.1 > now);
        if self.expected.len() < MOST {
            self.expected.push((range, now + PATIENCE));
        }
    }

    /// A write that begins `at` has come.
    pub(super) fn has_come(&mut self, at: Sector) {
        if let Some(index) = self.expected.iter().position(|expected| expected.0.from == at) {
            self.expected.swap_remove(index);
        }
    }

    /// Until when a write of `rest`, or of that and more behind it, is waited for, if one is.
    pub(super) fn awaits(&self, now: Instant, rest: Range) -> Option<Instant> {
        let fits = |range: Range| range.from == rest.from && range.to >= rest.to;
        let until = self.expected.iter().filter(|expected| fits(expected.0)).map(|expected| expected.1);
        until.max().filter(|until| *until > now)
    }

    /// Until when the first of the held parts waits, at most.
    pub(super) fn next(&self) -> Option<Instant> {
        self.held.iter().map(|held| held.until).min()
    }

    pub(super) fn hold(&mut self, held: Held) {
        self.held.push(held);
    }

    /// A request has ended.
    pub(super) fn ended(&mut self, host: HostId) {
        let behind_it = self.held.iter_mut().filter(|held| held.behind == Some(host));
        behind_it.for_each(|held| held.behind = None);
    }

    /// The first part that is held and `fits`.
    pub(super) fn first(&self, fits: impl Fn(&Held) -> bool) -> Option<Held> {
        self.held.iter().copied().find(fits)
    }

    /// Takes what is held of this request.
    pub(super) fn take(&mut self, host: HostId) {
        self.held.retain(|held| held.host != host);
    }

    pub(super) fn begin(&mut self, together: Together) {
        self.together.push(together);
    }

    /// The array's own write has ended.
    pub(super) fn end(&mut self, own: HostId) -> Option<Together> {
        let index = self.together.iter().position(|together| together.own == own)?;
        Some(self.together.swap_remove(index))
    }
}
