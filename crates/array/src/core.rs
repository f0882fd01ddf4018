//! The components that carry requests and maintenance out: what hosts and maintenance stand on.

use crate::context::Context;
use crate::durable::Durable;
use crate::log::Logs;
use crate::stripe::Stripes;

/// See the module. Each component calls those above it in this list, which it gets as arguments.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) cx: Context,
    pub(crate) durable: Durable,
    pub(crate) logs: Logs,
    pub(crate) stripes: Stripes,
}
