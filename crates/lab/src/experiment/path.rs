//! `[path]`: the processors, channel and buses between hosts and drives.

use parlour_sim::paths::{Bus, Cost, Paths, Processors};
use parlour_units::{Bytes, Duration};
use serde::{Deserialize, Serialize};

use crate::settings::{Rate, Time};

/// `[path]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct PathSettings {
    /// The number of processors that serve requests and accesses.
    pub processors: Option<u16>,
    /// The processor time of a request.
    pub request: Option<Time>,
    /// The additional processor time for each sector of the request.
    pub request_sector: Option<Time>,
    /// The processor time of an access.
    pub access: Option<Time>,
    /// The additional processor time for each sector of the access.
    pub access_sector: Option<Time>,
    /// The rate of the channel to the hosts, shared by all requests.
    pub channel: Option<Rate>,
    /// The fixed time of each transfer on the channel.
    pub channel_each: Option<Time>,
    /// The rate of each bus (string) between array and drives.
    pub string: Option<Rate>,
    /// The fixed time of each transfer on a bus.
    pub string_each: Option<Time>,
    /// The number of drives on each bus, in the order of members.
    pub members_per_string: Option<u16>,
}

/// Why the `[path]` table is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathSettingsError {
    /// A key is given without the key that it belongs to.
    #[error("path.{key} is for path.{of}; give that, too")]
    Alone {
        /// The key.
        key: &'static str,
        /// The key that it belongs to.
        of: &'static str,
    },
    /// A bus has no drives.
    #[error("path.members-per-string: at least one drive hangs on a bus")]
    NoMembers,
    /// A rate is not positive.
    #[error("path.{0}: its rate must be positive")]
    NoRate(&'static str),
    /// There are no processors.
    #[error("path.processors: there must be one at least, or leave the key away")]
    NoProcessor,
}

impl PathSettings {
    /// Returns the path to this number of drives, if there is one.
    ///
    /// # Errors
    /// The settings are invalid.
    pub fn paths(&self, drives: u16) -> Result<Option<Paths>, PathSettingsError> {
        self.check()?;
        if self.processors.is_none() && self.channel.is_none() && self.string.is_none() {
            return Ok(None);
        }
        let time = |time: Option<Time>| time.map_or(Duration::ZERO, |time| time.0);
        let cost = |each, sector| Cost { each: time(each), sector: time(sector) };
        let bus = |rate: Rate, each| Bus { rate: rate.0, each: time(each) };
        let processors = self.processors.map(|count| Processors {
            count,
            request: cost(self.request, self.request_sector),
            access: cost(self.access, self.access_sector),
        });
        let strings = drives.div_ceil(self.members_per_string());
        Ok(Some(Paths {
            processors,
            channel: self.channel.map(|rate| bus(rate, self.channel_each)),
            strings: match self.string {
                Some(rate) => vec![bus(rate, self.string_each); usize::from(strings)],
                None => Vec::new(),
            },
        }))
    }

    /// The bus of a drive, if there are buses.
    pub fn string_of(&self, drive: u16) -> Option<u16> {
        self.string.map(|_| drive / self.members_per_string())
    }

    fn members_per_string(&self) -> u16 {
        self.members_per_string.unwrap_or(1)
    }

    fn check(&self) -> Result<(), PathSettingsError> {
        if self.members_per_string == Some(0) {
            return Err(PathSettingsError::NoMembers);
        }
        if self.processors == Some(0) {
            return Err(PathSettingsError::NoProcessor);
        }
        let rates = [("channel", self.channel), ("string", self.string)];
        if let Some((key, _)) = rates.into_iter().find(|(_, rate)| *rate == Some(Rate(Bytes::new(0)))) {
            return Err(PathSettingsError::NoRate(key));
        }
        let owned = [
            ("request", self.request.is_some(), "processors", self.processors.is_some()),
            ("request-sector", self.request_sector.is_some(), "processors", self.processors.is_some()),
            ("access", self.access.is_some(), "processors", self.processors.is_some()),
            ("access-sector", self.access_sector.is_some(), "processors", self.processors.is_some()),
            ("channel-each", self.channel_each.is_some(), "channel", self.channel.is_some()),
            ("string-each", self.string_each.is_some(), "string", self.string.is_some()),
            ("members-per-string", self.members_per_string.is_some(), "string", self.string.is_some()),
        ];
        match owned.into_iter().find(|(_, is_set, _, is_there)| *is_set && !is_there) {
            Some((key, _, of, _)) => Err(PathSettingsError::Alone { key, of }),
            None => Ok(()),
        }
    }
}
