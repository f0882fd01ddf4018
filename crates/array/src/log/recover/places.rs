//! Where the units of a region that is being recovered are.

use parlour_units::{Region, Sector, Sectors, Slot, Unit};

use crate::context::Context;
use crate::log::Logs;
use crate::log::recover::redo::Run;

impl Logs {
    pub(in crate::log) fn is_unit_there(
        &self,
        cx: &Context,
        region: Region,
        stripe: u32,
        unit: Unit,
    ) -> bool {
        let stripe = cx.geometry.layout().stripe_in(region, stripe.into());
        stripe.is_some_and(|stripe| !cx.roster.missing(&cx.geometry, stripe).has(unit))
    }

    pub(in crate::log) fn run_at(&self, cx: &Context, region: Region, run: &Run) -> (Slot, Sector) {
        self.unit_at(cx, region, run.stripe, run.unit, run.columns.from)
    }

    pub(in crate::log) fn unit_at(
        &self,
        cx: &Context,
        region: Region,
        stripe: u32,
        unit: Unit,
        column: Sectors,
    ) -> (Slot, Sector) {
        let layout = cx.geometry.layout();
        let stripe = layout.stripe_in(region, stripe.into()).expect("it was looked up before");
        let location = cx.roster.places(&cx.geometry).locate(stripe, unit);
        (location.slot, cx.geometry.absolute(location.at + column))
    }
}
