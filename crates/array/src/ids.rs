//! Names of jobs and of hosts' requests.

/// Names a job while it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct JobId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

/// Names a host's request while it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostId(pub(crate) u32);
