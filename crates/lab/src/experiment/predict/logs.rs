//! Parity logging (Stodolsky et al., section 3): the work that it adds in the background, after
//! requests are answered.

use parlour_drive::angle::Angle;
use parlour_model::disk::Disk;
use parlour_model::utilization::array::{Array, Organization, Update};
use parlour_model::utilization::logging::{Logging, Reading, Sublogs};
use parlour_units::Sectors;

use super::refused::Unmodelled;
use super::stages::Stages;
use crate::experiment::prepared::Prepared;

/// Background work of an array.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Background {
    /// The mean disk time of the background work that each request causes, in milliseconds, summed
    /// over all disks.
    pub(super) each_request: f64,
}

impl Background {
    pub(super) fn of(prepared: &Prepared, stages: &Stages) -> Result<Background, Unmodelled> {
        let layout = prepared.geometry.layout();
        let (part, blocks) = stages.written;
        let Some(logs) = layout.logs().filter(|_| part > 0.0) else { return Ok(Background::default()) };
        let shape = logs.shape();
        let mechanics = prepared.description.mechanics(Angle::default())?;
        // A log record is as long as the write, but at most a stripe unit.
        let unit = layout.unit_length().get() as f64;
        let written = Sectors::new(blocks.min(unit).round().max(1.0) as u64);
        let disk = Disk::of(&mechanics, written).map_err(parlour_model::utilization::Refused::from)?;
        let track = disk.units * written.get() as f64;
        let log = f64::from(shape.sublogs) * f64::from(shape.sublog_segments) * shape.segment as f64;
        let logging = Logging {
            sublogs: match shape.sublogs {
                1 => Sublogs::Unstriped,
                several => Sublogs::Striped(several.into()),
            },
            ratio: log / (f64::from(shape.stripes) * unit),
            regions: shape.regions,
            segment: (shape.segment as f64 / track).round().max(1.0) as u32,
            zero_latency: mechanics.zero_latency.writes,
            reading: Reading::default(),
        };
        let array = Array {
            disk,
            disks: prepared.geometry.members().into(),
            organization: Organization::ParityLogging(logging),
            failures: 1,
            preread: !prepared.simulated.old_data_known,
            update: if prepared.simulated.combined { Update::OneAccess } else { Update::TwoAccesses },
        };
        let work = array.model()?.small_write();
        // A write longer than a stripe unit causes several log records.
        let pieces = (blocks / unit).max(1.0);
        Ok(Background { each_request: part * pieces * work.overhead() })
    }
}
