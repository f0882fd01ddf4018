//! The end of loading: a region's log is known, or is given up.

use parlour_units::Region;

use crate::context::Context;
use crate::durable::Durable;
use crate::log::{LoadState, Logs};
use crate::signal::Signal;

impl Logs {
    pub(crate) fn region_known(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        let log = self.region(region);
        log.load = LoadState::Known;
        let nothing = log.live.is_empty();
        let wanted = std::mem::take(&mut log.wanted) && !nothing && cx.roster.is_degraded();
        log.waiters.wake(&mut cx.runnable);
        if wanted {
            self.want_parity(cx, region);
        }
        self.append_ready(cx, durable, region);
        cx.signal(Signal::FlushesMayStart);
    }

    /// A region's log cannot be read. Nothing is redone from it, and the records and intents of the
    /// region in the commit log are of no use either.
    pub(crate) fn give_log_up(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        let recovery = self.end_recovery(region);
        if let Some(recovery) = &recovery {
            let commits = &mut self.commits;
            recovery.record_names().chain(recovery.intent_names()).for_each(|name| commits.orphan(name));
        }
        self.discard_log(cx, durable, region);
        // Jobs that waited for the recovery go on waiting until it is durable that the log does not
        // count.
        if recovery.is_some() {
            cx.signal(Signal::ReadsMayGoOn);
        }
    }
}
