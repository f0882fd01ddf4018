//! Settings of the parity logs, fixed at creation.

use clap::Args;
use parlour_array::LogCreation;
use serde::{Deserialize, Serialize};

use super::{SettingError, Size};
use crate::fill;

/// What is asked of the logs; what is left open follows from the members' size.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[command(next_help_heading = "Parity log")]
#[serde(rename_all = "kebab-case", default)]
pub struct LogSettings {
    /// Sublogs of each region (L) [default: about 0.16 × members]
    #[arg(long, value_name = "COUNT")]
    pub sublogs: Option<u16>,
    /// About how many regions (B) [default: from the members' size]
    #[arg(long, value_name = "COUNT")]
    pub regions: Option<u32>,
    /// Length of log over length of parity (A) [default: 0.5, large members 1/16]
    #[arg(long, value_name = "RATIO")]
    pub log_ratio: Option<f64>,
    /// A log segment: what a log is divided into; an append takes one or several [default: from the
    /// members' size]
    #[arg(long, value_name = "SIZE")]
    pub log_segment: Option<Size>,
    /// Round each share of a region up to whole tracks of this length
    #[arg(long, value_name = "SIZE")]
    pub log_track: Option<Size>,
    /// Acknowledge a short write when it is durable in the journal, which has this much room for
    /// writes on each member, and put it in its place later; 0: acknowledge it when it is in its
    /// place [default: with a journal 1/64 of a member, at most 64 MiB, and none on members below
    /// 64 MiB]
    #[arg(long, value_name = "SIZE")]
    pub write_back: Option<Size>,
    /// Entries of records, and of writes, that the journal has under way at once [default: 4, fewer
    /// where it is short]
    #[arg(long, value_name = "COUNT")]
    pub journal_lanes: Option<u16>,
    /// Journal devices on which each entry stands [default: one more than members may be lost]
    #[arg(long, value_name = "COUNT")]
    pub journal_copies: Option<u16>,
}

impl LogSettings {
    /// Fills in what these settings leave open from those of a file.
    #[must_use]
    pub fn or(self, file: Self) -> Self {
        fill!(
            self,
            file,
            [sublogs, regions, log_ratio, log_segment, log_track, write_back, journal_lanes, journal_copies]
        )
    }

    /// Returns the settings for the array, which checks them.
    ///
    /// # Errors
    /// A setting of the logs is given, but the organization has no log.
    pub fn creation(&self, has_log: bool) -> Result<LogCreation, SettingError> {
        match self.first_set() {
            Some(key) if !has_log => Err(SettingError::NoLog(key)),
            _ => Ok(LogCreation {
                segment: self.log_segment.map(Size::sectors),
                sublogs: self.sublogs,
                ratio: self.log_ratio,
                regions: self.regions,
                track: self.log_track.map(Size::sectors),
                writes: self.write_back.map(Size::sectors),
                lanes: self.journal_lanes,
                journals: 0,
                journal_slots: None,
                journal_copies: self.journal_copies,
            }),
        }
    }

    fn first_set(&self) -> Option<&'static str> {
        let set = [
            (self.sublogs.is_some(), "sublogs"),
            (self.regions.is_some(), "regions"),
            (self.log_ratio.is_some(), "log-ratio"),
            (self.log_segment.is_some(), "log-segment"),
            (self.log_track.is_some(), "log-track"),
        ];
        set.into_iter().find(|(is_set, _)| *is_set).map(|(_, key)| key)
    }
}
