//! What can be set, as options and as keys of a configuration file alike. An option wins over the
//! file.

mod file;
mod serving;
mod shape;
mod timeouts;

pub(crate) use file::ConfigFile;
pub(crate) use serving::{Address, ServingSettings};
pub(crate) use shape::{ShapeError, ShapeOptions};
pub(crate) use timeouts::TimeoutSettings;

pub(crate) use parlour_lab::settings::{
    ConsistencyName, LogSettings, OrganizationSettings, SettingError, Size, TuningError, TuningSettings,
    describe,
};
