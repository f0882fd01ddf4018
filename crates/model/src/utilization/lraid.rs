//! LRAID-X4 (Bhide and Dias), whose throughput is limited by collecting sorted runs (§10).

use crate::disk::Disk;

/// The writes per second of the whole array if its log is read in subsequences of `subsequence`
/// tracks, at most a cylinder: `tracksr·D / (Tfewtrackseek + R + tracksr(2R + H))`.
/// `few_track_seek` is in milliseconds; the paper takes a seek over 5 cylinders, and 2.4 tracks
/// with memory for 2% of a disk. More disks do not increase it.
pub fn peak_throughput(disk: &Disk, few_track_seek: f64, subsequence: f64) -> f64 {
    let time = few_track_seek + disk.rotation + subsequence * (2.0 * disk.rotation + disk.head_switch);
    1e3 * subsequence * disk.units / time
}

/// The limit with unlimited memory: subsequences of a whole cylinder.
pub fn most_throughput(disk: &Disk, few_track_seek: f64) -> f64 {
    peak_throughput(disk, few_track_seek, disk.tracks)
}
