//! How far a plan has come.

/// The state of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the job's owner has to go on"]
pub(crate) enum Progress {
    /// Some of its effects are not answered yet.
    Running,
    /// Its log records have to count before it goes on: see
    /// [`Plan::commit_before`](crate::plan::Plan).
    Commits,
    /// It is carried out.
    Done,
    /// Some step failed, and all others of its phase are answered.
    Broken,
}
