//! The timeouts for members.

use clap::Args;
use parlour_engine::ACCESS_TIMEOUT;
use parlour_lab::fill;
use parlour_lab::settings::Time;
use parlour_units::{Duration, ParseDurationError};
use serde::{Deserialize, Serialize};

/// How long is waited for members.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[command(next_help_heading = "Waiting for members")]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct TimeoutSettings {
    /// Fail a member that does not answer an access within this time [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) access_timeout: Option<Time>,
    /// Wait this long for members that are absent at the start; 0s: not at all [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) wait: Option<Time>,
}

fn parse_time(text: &str) -> Result<Time, ParseDurationError> {
    text.parse().map(Time)
}

impl TimeoutSettings {
    pub(crate) fn or(self, file: Self) -> Self {
        fill!(self, file, [access_timeout, wait])
    }

    /// The time limit of an access. It has a minimum, so that a busy system is not mistaken for a
    /// member that does not answer.
    pub(crate) fn access_timeout(&self) -> Duration {
        self.access_timeout.map_or(ACCESS_TIMEOUT, |Time(time)| time.max(LEAST_ACCESS_TIMEOUT))
    }

    /// How long to wait for absent members.
    pub(crate) fn wait(&self) -> std::time::Duration {
        let Time(wait) = self.wait.unwrap_or(Time(WAIT));
        std::time::Duration::from_nanos(wait.nanoseconds())
    }
}

/// The time until the slowest disks of a machine are found.
const WAIT: Duration = Duration::from_secs(30);
/// Shorter access timeouts are raised to this one.
const LEAST_ACCESS_TIMEOUT: Duration = Duration::from_millis(100);
