//! Whether writes to a region are logged now.

use parlour_units::Region;

use super::Logs;
use crate::context::Context;
use crate::durable::Durable;
use crate::mode::Mode;
use crate::roster::SlotState;
use crate::update;

impl Logs {
    /// Whether writes to `region` are logged now. With `journal` they are while the members of the
    /// region's log stand; otherwise only while all members do.
    pub(crate) fn logs_writes(&self, cx: &Context, durable: &Durable, region: Region) -> bool {
        if !self.exist() || durable.bitmap().needs_resync(region) {
            return false;
        }
        let open = match cx.geometry.is_journaled() {
            true => {
                let serves = matches!(cx.mode, Mode::Serving | Mode::Stopping);
                serves && !cx.takes_no_writes() && cx.writes
            }
            false => cx.mode == Mode::Serving,
        };
        open && update::goes_to_log(&cx.geometry, self.log_stands(cx, region), durable.is_whole(cx))
    }

    /// Whether all members that hold `region`'s log are active.
    pub(crate) fn log_stands(&self, cx: &Context, region: Region) -> bool {
        let mut slots = update::log_slots(cx.geometry.layout(), region);
        slots.all(|slot| cx.roster.state(slot) == SlotState::Active)
    }
}
