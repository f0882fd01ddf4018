//! Compares a drive model with measurements: the distance between two distributions of service
//! times.
//!
//! The figure is the *demerit* of Ruemmler and Wilkes: the root mean square of the horizontal
//! distance between the measured and the modelled cumulative distribution. It is computed in the
//! bins of DiskSim 4.0, so that both can be compared.

use parlour_units::{Duration, Instant};

use crate::drive::Drive;
use crate::mechanics::Way;

/// A request that was measured on a real drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The line in its trace, from 1.
    pub line: usize,
    /// The direction of its transfer.
    pub way: Way,
    /// Its first block.
    pub block: u64,
    /// The number of its blocks.
    pub blocks: u64,
    /// The measured time.
    pub took: Duration,
    /// The time from its completion to the next request.
    pub pause: Duration,
}

/// Why a line is not a measurement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {wrong}; a line is `R|W LABEL BLOCK BLOCKS MICROSECONDS PAUSE`")]
pub struct TraceError {
    /// The line's number, from 1.
    pub line: usize,
    /// The error.
    pub wrong: String,
}

/// Reads a trace with one request per line.
pub fn read_trace(text: &str) -> Result<Vec<Measured>, TraceError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| measured(index + 1, line).map_err(|wrong| TraceError { line: index + 1, wrong }))
        .collect()
}

fn measured(number_of_line: usize, line: &str) -> Result<Measured, String> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [way, _label, block, blocks, took, pause] = fields[..] else {
        return Err(format!("{} fields instead of 6", fields.len()));
    };
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("'{text}' is no whole number"));
    let time = |text: &str| match text.parse::<f64>() {
        Ok(microseconds) if (0.0..1e12).contains(&microseconds) => {
            Ok(Duration::from_nanoseconds((microseconds * 1e3).round() as u64))
        }
        _ => Err(format!("'{text}' is no time")),
    };
    let way = match way {
        "R" => Way::Read,
        "W" => Way::Write,
        other => return Err(format!("'{other}' is neither R nor W")),
    };
    let blocks = number(blocks)?;
    if blocks == 0 {
        return Err("no blocks".to_owned());
    }
    Ok(Measured {
        line: number_of_line,
        way,
        block: number(block)?,
        blocks,
        took: time(took)?,
        pause: time(pause)?,
    })
}

/// The modelled time of each request, one after another, with the pauses of the trace.
pub fn modelled(drive: &mut Drive, trace: &[Measured]) -> Vec<Duration> {
    let mut now = Instant::ZERO;
    trace
        .iter()
        .map(|request| {
            let served = drive.serve(now, request.way, request.block, request.blocks);
            let took = served.done.since(now);
            now = served.done + request.pause;
            took
        })
        .collect()
}

/// The demerit figure of two sets of times, in milliseconds.
pub fn demerit(a: &[Duration], b: &[Duration]) -> f64 {
    let (a, b) = (Curve::of(a), Curve::of(b));
    let squares = (1..10_000).map(|step| {
        let part = f64::from(step) / 10_000.0;
        (a.at(part) - b.at(part)).powi(2)
    });
    (squares.sum::<f64>() / 9_999.0).sqrt()
}

/// A cumulative distribution: pairs of milliseconds and the fraction of times up to them.
struct Curve(Vec<(f64, f64)>);

impl Curve {
    /// Bins are a microsecond wide up to 100 µs. From there on their width is a hundredth of where
    /// they begin.
    fn of(times: &[Duration]) -> Curve {
        let mut sorted: Vec<u64> = times.iter().map(|time| time.nanoseconds() / 1_000).collect();
        sorted.sort_unstable();
        let mut points = Vec::new();
        let mut edge = 0_u64;
        loop {
            let below = sorted.partition_point(|time| *time < edge);
            let part = (below as f64 / sorted.len() as f64 * 1e6).round() / 1e6;
            points.push((edge as f64 / 1e3, part));
            if part >= 1.0 || sorted.is_empty() {
                return Curve(points);
            }
            edge += 1 + edge / 100;
        }
    }

    /// The time within which this fraction of all times lies.
    fn at(&self, part: f64) -> f64 {
        let index = self.0.partition_point(|(_, y)| *y < part).min(self.0.len() - 1);
        let (x, y) = self.0[index];
        let Some((before, below)) = index.checked_sub(1).map(|index| self.0[index]) else { return x };
        if y > below { before + (part - below) / (y - below) * (x - before) } else { x }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_are_no_distance_apart_and_a_shift_is_its_own() {
        let times: Vec<Duration> = (1..500).map(|n| Duration::from_micros(n * 40)).collect();
        let later: Vec<Duration> = times.iter().map(|time| *time + Duration::from_millis(2)).collect();
        assert!(demerit(&times, &times) < 1e-9);
        assert!((demerit(&times, &later) - 2.0).abs() < 0.05, "{}", demerit(&times, &later));
    }

    #[test]
    fn a_line_that_is_no_measurement_is_named() {
        let error = read_trace("R Hit 1 2 3.0 4.0\nX Hit 1 2 3.0 4.0\n").unwrap_err();
        assert_eq!(error.to_string().split(';').next(), Some("line 2: 'X' is neither R nor W"));
        assert!(read_trace("R Hit 1 2 3.0\n").unwrap_err().wrong.contains("5 fields"));
        assert!(read_trace("R Hit 1 0 3.0 4.0\n").is_err());
    }
}
