//! The settings of a server: limits on memory, thresholds, pace. They may change from one start of
//! the server to the next.

use clap::{Args, ValueEnum};
use parlour_array::{LargeWrite, LogFlush, LogPool, Tuning};
use parlour_units::Sectors;
use serde::{Deserialize, Serialize};

use super::Size;
use crate::fill;

/// Bounds, thresholds and pace; what is left open is the array's default.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[command(next_help_heading = "Tuning")]
#[serde(rename_all = "kebab-case", default)]
pub struct TuningSettings {
    /// Memory for clients' payload [default: 64MiB]
    #[arg(long, value_name = "SIZE")]
    pub host_memory: Option<Size>,
    /// Memory for prereads, parity and reconstruction [default: 64MiB]
    #[arg(long, value_name = "SIZE")]
    pub scratch_memory: Option<Size>,
    /// Memory for log buffers [default: 64MiB]
    #[arg(long, value_name = "SIZE")]
    pub log_memory: Option<Size>,
    /// How regions share the log buffers [default: global]
    #[arg(long, value_name = "HOW")]
    pub log_pool: Option<LogPoolName>,
    /// Append to the logs when this many buffers are in use [default: with `journal` when half of
    /// its room for records is in use, otherwise when a buffer is full]
    #[arg(long, value_name = "BUFFERS")]
    pub log_watermark: Option<u32>,
    /// How a full-stripe write passes the log [default: cancel with `journal`, or where logs are
    /// shorter than parity]
    #[arg(long, value_name = "HOW")]
    pub large_write: Option<LargeWriteName>,
    /// Reintegrations at once [default: 2]
    #[arg(long, value_name = "COUNT")]
    pub reintegration_buffers: Option<u32>,
    /// Memory of one reintegration [default: 64MiB]
    #[arg(long, value_name = "SIZE")]
    pub reintegration_memory: Option<Size>,
    /// One pool of memory for prereads, log buffers and reintegrations, instead of a share for
    /// each. Then log-memory is the most that is kept back for late appends, and
    /// reintegration-memory the most that one reintegration takes [default: none]
    #[arg(long, value_name = "SIZE")]
    pub shared_memory: Option<Size>,
    /// Memory for data that need not be read again before it is overwritten [default: none]
    #[arg(long, value_name = "SIZE")]
    pub preread_cache: Option<Size>,
    /// Read errors, halved each hour, beyond which a member is reported as failing [default: 16]
    #[arg(long, value_name = "COUNT")]
    pub error_threshold: Option<u32>,
    /// Stripes rebuilt, resynced or scrubbed at once while no client waits [default: 16]
    #[arg(long, value_name = "COUNT")]
    pub maintenance_depth: Option<u32>,
    /// The same while clients wait [default: 1]
    #[arg(long, value_name = "COUNT")]
    pub maintenance_depth_busy: Option<u32>,
    /// Writes for each member that are put in their place at once, with write-back [default: 16]
    #[arg(long, value_name = "COUNT")]
    pub destage_depth: Option<u32>,
}

/// How regions share the log buffers (Stodolsky §2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogPoolName {
    /// One pool; a write waits only when all of it is full.
    Global,
    /// Each region has its own.
    Static,
}

/// How a full-stripe write passes the log (Stodolsky §2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LargeWriteName {
    /// New parity goes to the log.
    Overwrite,
    /// New parity is written in place, and what the log holds is voided.
    Cancel,
}

/// A tuning with which no array can work.
#[derive(Debug, thiserror::Error)]
pub enum TuningError {
    /// The memory is too small for a single operation.
    #[error("--{0} {1} is too little: use at least {2}")]
    TooLittle(&'static str, Sectors, Sectors),
    /// Memory is shared by regions and by region at the same time.
    #[error(
        "--log-pool static gives each region its own log buffers, and --shared-memory shares them; leave one out"
    )]
    SharedAndStatic,
    /// The number is zero.
    #[error("--{0} 0 would stop the array from ever doing it: use at least 1")]
    Zero(&'static str),
}

/// The largest payload of a request must fit into the memory for payload.
const LEAST_HOST_MEMORY: Sectors = Sectors::new(65_536);
/// A window of the widest stripe must fit.
const LEAST_MEMORY: Sectors = Sectors::new(2_048);

impl TuningSettings {
    /// Fills in what these settings leave open from those of a file.
    #[must_use]
    pub fn or(self, file: Self) -> Self {
        fill!(
            self,
            file,
            [
                host_memory,
                scratch_memory,
                log_memory,
                log_pool,
                log_watermark,
                large_write,
                reintegration_buffers,
                reintegration_memory,
                shared_memory,
                preread_cache,
                error_threshold,
                maintenance_depth,
                maintenance_depth_busy,
                destage_depth,
            ]
        )
    }

    /// Returns the tuning for the array.
    ///
    /// # Errors
    /// A limit is so low that the array could not work.
    pub fn tuning(&self) -> Result<Tuning, TuningError> {
        self.check()?;
        let default = Tuning::default();
        let sectors = |size: Option<Size>, default: Sectors| size.map_or(default, Size::sectors);
        Ok(Tuning {
            host_memory: sectors(self.host_memory, default.host_memory),
            scratch_memory: sectors(self.scratch_memory, default.scratch_memory),
            log_memory: sectors(self.log_memory, default.log_memory),
            log_pool: match self.log_pool {
                Some(LogPoolName::Static) => LogPool::Static,
                Some(LogPoolName::Global) => LogPool::Global,
                None => default.log_pool,
            },
            log_flush: self.log_watermark.map(LogFlush::Watermark).or(default.log_flush),
            large_write: match self.large_write {
                Some(LargeWriteName::Overwrite) => Some(LargeWrite::Overwrite),
                Some(LargeWriteName::Cancel) => Some(LargeWrite::Cancel),
                None => default.large_write,
            },
            reintegration_buffers: self.reintegration_buffers.unwrap_or(default.reintegration_buffers),
            reintegration_memory: sectors(self.reintegration_memory, default.reintegration_memory),
            shared_memory: self.shared_memory.map(Size::sectors).or(default.shared_memory),
            preread_cache: sectors(self.preread_cache, default.preread_cache),
            error_threshold: self.error_threshold.unwrap_or(default.error_threshold),
            maintenance_depth: self.maintenance_depth.unwrap_or(default.maintenance_depth),
            maintenance_depth_busy: self.maintenance_depth_busy.unwrap_or(default.maintenance_depth_busy),
            destage_depth: self.destage_depth.unwrap_or(default.destage_depth),
            ..default
        })
    }

    fn check(&self) -> Result<(), TuningError> {
        let least = [
            ("host-memory", self.host_memory, LEAST_HOST_MEMORY),
            ("scratch-memory", self.scratch_memory, LEAST_MEMORY),
            ("log-memory", self.log_memory, LEAST_MEMORY),
            ("reintegration-memory", self.reintegration_memory, LEAST_MEMORY),
            ("shared-memory", self.shared_memory, LEAST_MEMORY),
        ];
        for (key, size, least) in least {
            if let Some(size) = size.filter(|size| size.sectors() < least) {
                return Err(TuningError::TooLittle(key, size.sectors(), least));
            }
        }
        if self.shared_memory.is_some() && self.log_pool == Some(LogPoolName::Static) {
            return Err(TuningError::SharedAndStatic);
        }
        let counts = [
            ("reintegration-buffers", self.reintegration_buffers),
            ("error-threshold", self.error_threshold),
            ("maintenance-depth", self.maintenance_depth),
            ("maintenance-depth-busy", self.maintenance_depth_busy),
            ("destage-depth", self.destage_depth),
            ("log-watermark", self.log_watermark),
        ];
        match counts.into_iter().find(|(_, count)| *count == Some(0)) {
            Some((key, _)) => Err(TuningError::Zero(key)),
            None => Ok(()),
        }
    }
}
