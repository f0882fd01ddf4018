//! What client and server agreed on, for all that follows the handshake.

/// What the options agreed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Negotiated {
    /// `NBD_OPT_STRUCTURED_REPLY` was accepted.
    pub(crate) structured_replies: bool,
    /// `NBD_OPT_SET_META_CONTEXT` selected `base:allocation`.
    pub(crate) base_allocation: bool,
}
