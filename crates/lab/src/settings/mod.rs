//! The settings of an array, usable both as options and as keys of files. An option takes
//! precedence over a file.

mod log;
mod organization;
mod rate;
mod rival;
mod size;
mod time;
mod tuning;

pub use log::LogSettings;
pub use organization::{
    ConsistencyName, OrganizationSettings, ReadName, RotationName, SettingError, describe,
};
pub use rate::Rate;
pub use rival::RivalName;
pub use size::{Size, SizeError};
pub use time::Time;
pub use tuning::{LargeWriteName, LogPoolName, TuningError, TuningSettings};

/// Fills in what `$ours` leaves open from `$theirs`, setting by setting.
#[macro_export]
macro_rules! fill {
    ($ours:expr, $theirs:expr, [$($field:ident),+ $(,)?]) => {{
        let (mut ours, theirs) = ($ours, $theirs);
        $(ours.$field = ours.$field.or(theirs.$field);)+
        ours
    }};
}
