//! The settings that are both options and keys of a configuration file. An option overrides the
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
