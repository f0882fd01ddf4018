//! The result of the handshake, which applies to the whole transmission.

/// The result of the negotiated options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Negotiated {
    /// `NBD_OPT_STRUCTURED_REPLY` was accepted.
    pub(crate) structured_replies: bool,
    /// `NBD_OPT_SET_META_CONTEXT` selected `base:allocation`.
    pub(crate) base_allocation: bool,
}
