//! Why papers cannot be reproduced.

use std::path::PathBuf;

use parlour_lab::reproduce::plan::PlanError;

/// Why papers cannot be reproduced.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReproduceError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("{path}: the report cannot be written: {source}; use another --report", path = .path.display())]
    Report { path: PathBuf, source: std::io::Error },
}
