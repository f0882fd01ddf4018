//! What can be set, as options and as keys of a configuration file alike. An option wins over the file.

mod file;
mod log;
mod organization;
mod serving;
mod shape;
mod size;
mod tuning;

pub(crate) use file::{ConfigError, ConfigFile};
pub(crate) use log::LogSettings;
pub(crate) use organization::{ConsistencyName, OrganizationSettings, SettingError, describe};
pub(crate) use serving::{Address, NBD_PORT, ServingSettings};
pub(crate) use shape::{ShapeError, ShapeOptions};
pub(crate) use size::Size;
pub(crate) use tuning::{TuningError, TuningSettings};

/// Fills what `$ours` leaves open from `$theirs`, setting by setting.
macro_rules! fill {
    ($ours:expr, $theirs:expr, [$($field:ident),+ $(,)?]) => {{
        let (mut ours, theirs) = ($ours, $theirs);
        $(ours.$field = ours.$field.or(theirs.$field);)+
        ours
    }};
}
pub(crate) use fill;
