//! Parity logging (Stodolsky et al., section 3): the work that it adds in the background, after
//! requests are answered.

use parlour_array::{CommitPart, LogFlush};
use parlour_drive::angle::Angle;
use parlour_model::bursts::{Burst, Later};
use parlour_model::disk::Disk;
use parlour_model::utilization::array::{Array, Organization, Update};
use parlour_model::utilization::logging::{Logging, Reading, Sublogs};
use parlour_units::Sectors;

use super::refused::{Unmodelled, geometry};
use super::stages::Stages;
use crate::experiment::prepared::Prepared;

/// What a request causes in the background, in an array whose members are all there.
pub(super) fn later(prepared: &Prepared, stages: &Stages) -> Result<Later, Unmodelled> {
    let layout = geometry(prepared).layout();
    let (part, blocks) = stages.written;
    let Some(logs) = layout.logs().filter(|_| part > 0.0) else { return Ok(Later::default()) };
    let shape = logs.shape();
    let mechanics = prepared.description.mechanics(Angle::default())?;
    // A log record is as long as the write, but at most a stripe unit.
    let unit = layout.unit_length().get() as f64;
    let written = Sectors::new(blocks.min(unit).round().max(1.0) as u64);
    let mut disk = Disk::of(&mechanics, written).map_err(parlour_model::utilization::Refused::from)?;
    // Regions fill what the array uses of a drive.
    let used = prepared.length.get() as f64 / mechanics.surface.blocks() as f64;
    disk.cylinders = (disk.cylinders * used).max(1.0);
    let track = disk.units * written.get() as f64;
    let room = shape.segment.saturating_sub(layout_header(prepared)) as f64 / written.get() as f64;
    let appended = Appended::of(prepared, stages, room);
    let log = f64::from(shape.sublogs) * f64::from(shape.sublog_segments) * shape.segment as f64;
    // (Late appends may be longer than a cylinder: the rest takes its time without further seeks.)
    let most_tracks = if geometry(prepared).is_journaled() { disk.tracks } else { f64::INFINITY };
    let append_tracks = (appended.segments * shape.segment as f64 / track).round().min(most_tracks);
    let logging = Logging {
        sublogs: match shape.sublogs {
            1 => Sublogs::Unstriped,
            several => Sublogs::Striped(several.into()),
        },
        ratio: log / (f64::from(shape.stripes) * unit),
        regions: shape.regions,
        segment: append_tracks.max(1.0) as u32,
        zero_latency: mechanics.zero_latency.writes,
        reading: Reading::default(),
    };
    let array = Array {
        disk,
        disks: geometry(prepared).members().into(),
        organization: Organization::ParityLogging(logging),
        failures: layout.check_units().into(),
        preread: !prepared.simulated.old_data_known,
        update: if prepared.simulated.combined { Update::OneAccess } else { Update::TwoAccesses },
    };
    let model = array.model()?;
    let logging = model.logging().expect("the organization is parity logging");
    let disks = f64::from(array.disks);
    // A write longer than a stripe unit causes several log records.
    let pieces = part * (blocks / unit).max(1.0);
    let sublogs = f64::from(shape.sublogs);
    let cycle = sublogs * f64::from(shape.sublog_segments) / appended.segments * appended.records;
    // Each failure that is survived needs one more copy of the log to be written (one is read), and
    // one more set of check units (section 9).
    let (copies, checks) = (f64::from(logs.log_copies()), f64::from(layout.check_units()));
    let touched = Touched {
        disk,
        blocks: checks * f64::from(shape.stripes) * unit / written.get() as f64 / disks,
        updates: checks * cycle / disks,
        gap: prepared.tuning.reintegration_gap.get() / written.get() + 1,
        whole: checks * logging.parity_access() / disks,
    };
    let each_cycle = pieces / cycle;
    let parity = Burst { often: each_cycle, disks, each: touched.time() };
    let appends = pieces / appended.records;
    let mut bursts = vec![
        Burst { often: appends, disks: copies, each: logging.log_write() },
        Burst { often: each_cycle, disks: sublogs, each: logging.sublog_read() },
        parity,
        parity,
    ];
    if geometry(prepared).is_journaled() {
        let stored = appends * appended.segments * room * written.get() as f64;
        bursts.push(Burst {
            often: tables(prepared, stored) + each_cycle,
            disks,
            each: table(prepared, &disk),
        });
    }
    Ok(Later { bursts })
}

/// How often a table of the logs is written that lets the journal forget what was appended, if a
/// request causes `stored` sectors of segments: when that is a sixteenth of the stream of records.
/// (One more is written for each reintegration.)
fn tables(prepared: &Prepared, stored: f64) -> f64 {
    let records = geometry(prepared).commit_part(CommitPart::Records).1.get() as f64;
    stored / (records / TABLE)
}

/// A table is worth to be written for this part of the stream.
const TABLE: f64 = 16.0;

/// The time of each disk for a table.
fn table(prepared: &Prepared, disk: &Disk) -> f64 {
    let sectors = geometry(prepared).table_length().bytes().get() as f64 / 1024.0;
    disk.access(sectors / disk.unit)
}

/// The length of a segment's header.
fn layout_header(prepared: &Prepared) -> u64 {
    geometry(prepared).log_header_length().map_or(0, Sectors::get)
}

/// What is appended to a region's log at a time, in the mean.
struct Appended {
    records: f64,
    segments: f64,
}

impl Appended {
    /// `room` records fit into a segment. If records must be durable in a journal before, they are
    /// appended as late as possible: when the journal is half full, all records of regions that
    /// have some in its oldest quarter. Their last segment is half full.
    fn of(prepared: &Prepared, stages: &Stages, room: f64) -> Appended {
        let geometry = geometry(prepared);
        let regions = f64::from(geometry.layout().region_count());
        let when_full = prepared.tuning.log_flush(geometry) == LogFlush::WhenFull;
        if !geometry.is_journaled() || when_full {
            return Appended { records: room, segments: 1.0 };
        }
        let journal = geometry.commit_part(CommitPart::Records).1.get() as f64;
        let each = stages.recorded.1 + geometry.block().get() as f64;
        let logs = geometry.layout().logs();
        let most = logs.map_or(1, |regions| regions.segments());
        let segment = logs.map_or(1, |regions| regions.shape().segment) as f64;
        let buffers = prepared.tuning.log_memory.get() as f64 / segment / regions;
        let most_records = room * f64::from(most).min(buffers.max(1.0));
        let records = (1.0 + journal * (7.0 / 16.0) / each / regions).min(most_records);
        let segments = (records / room + 0.5).clamp(1.0, f64::from(most));
        Appended { records, segments }
    }
}

/// What a reintegration touches of the parity on one disk.
struct Touched {
    disk: Disk,
    /// The blocks of the parity, and the records that are applied to them.
    blocks: f64,
    updates: f64,
    /// So many untouched blocks in a row are left out.
    gap: u64,
    /// The time to read or write all of it.
    whole: f64,
}

impl Touched {
    /// The time to read or write what is touched. Records are at random places.
    fn time(&self) -> f64 {
        let untouched = (-self.updates / self.blocks).exp();
        let long = untouched.powi(self.gap.try_into().unwrap_or(i32::MAX));
        let left_out = long * (self.gap as f64 - (self.gap as f64 - 1.0) * untouched);
        let accesses = (self.blocks * (1.0 - untouched) * long).max(1.0);
        let first = self.disk.seek + self.disk.rotation;
        let pass = (self.whole - first).max(0.0);
        // What is left out passes under the heads, unless a seek and a part of a revolution are
        // less.
        let between = (pass * left_out / accesses).min(self.disk.single_cylinder_seek + self.disk.rotation);
        first + pass * (1.0 - left_out) + (accesses - 1.0) * between
    }
}
