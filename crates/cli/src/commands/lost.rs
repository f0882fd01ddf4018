//! `parlour lost`: lists data that cannot be read.

use clap::Args;
use parlour_engine::control::Request;
use parlour_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::commands::rebuild::account;
use crate::console::{Columns, Console};
use crate::control::{self, ArrayOption, CommandError};
use crate::failure::Failure;

/// List the data that cannot be read
///
/// It is what failures have cost: blocks of stripes that have lost more members than they survive,
/// and blocks on the bad-block log, which a rebuild had to pass over. They read as errors. Sectors
/// of members that cannot be read are not listed for themselves: 'parlour scrub' counts those with
/// which nothing can be computed.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// List at most so many ranges
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    most: usize,
    #[command(flatten)]
    array: ArrayOption,
}

/// A part of the server's answer.
#[derive(Deserialize)]
struct Part {
    /// Start and length, in bytes.
    ranges: Vec<[u64; 2]>,
    next: Option<u64>,
}

/// What is lost.
#[derive(Debug, Default, PartialEq, Serialize)]
struct Lost {
    /// Bytes that cannot be read.
    bytes: u64,
    /// Bytes of the array.
    capacity: u64,
    /// Ranges that cannot be read.
    count: u64,
    /// The first of them: start and length, in bytes.
    ranges: Vec<[u64; 2]>,
}

impl Lost {
    /// Takes ranges that follow those so far; one that touches the last one belongs to it.
    fn take(&mut self, ranges: Vec<[u64; 2]>, end: &mut Option<u64>, most: usize) {
        for [at, length] in ranges {
            self.bytes += length;
            if *end == Some(at) {
                if let Some(last) = self.ranges.last_mut().filter(|[start, so_far]| start + so_far == at) {
                    last[1] += length;
                }
            } else {
                self.count += 1;
                if self.ranges.len() < most {
                    self.ranges.push([at, length]);
                }
            }
            *end = Some(at + length);
        }
    }
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let mut lost = Lost { capacity: account(&options.array)?.capacity.get(), ..Lost::default() };
    let (mut from, mut end) = (Some(0), None);
    while let Some(stripe) = from {
        let answer = control::call(&options.array.array, &Request::Lost { from: stripe })?;
        let part: Part = serde_json::from_value(answer).map_err(CommandError::from)?;
        lost.take(part.ranges, &mut end, options.most);
        from = part.next;
    }
    console.answer(&lost, || text(&lost))?;
    Ok(())
}

fn text(lost: &Lost) -> String {
    let (bytes, capacity) = (Bytes::new(lost.bytes), Bytes::new(lost.capacity));
    if lost.count == 0 {
        return format!("Nothing is lost: all of {capacity} can be read\n");
    }
    let ranges = if lost.count == 1 { "1 range".to_owned() } else { format!("{} ranges", lost.count) };
    let mut columns = Columns::new(["From", "To", "Length"]).right([0, 1, 2]);
    for [at, length] in &lost.ranges {
        let end = Bytes::new(at + length);
        columns.row([Bytes::new(*at), end, Bytes::new(*length)].map(|bytes| bytes.to_string()));
    }
    let left = lost.count - lost.ranges.len() as u64;
    let rest = if left > 0 { format!("  … and {left} more (--most)\n") } else { String::new() };
    format!("{bytes} of {capacity} cannot be read, in {ranges}:\n\n{}{rest}", columns.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_over_two_answers_are_one() {
        let (mut lost, mut end) = (Lost::default(), None);
        lost.take(vec![[0, 10], [20, 10]], &mut end, 2);
        lost.take(vec![[30, 5], [40, 1]], &mut end, 2);
        lost.take(vec![[41, 1]], &mut end, 2);
        let ranges = vec![[0, 10], [20, 15]];
        assert_eq!(lost, Lost { bytes: 27, capacity: 0, count: 3, ranges });
    }

    #[test]
    fn what_is_not_listed_is_counted() {
        let lost = Lost { bytes: 8_192, capacity: 1 << 20, count: 2, ranges: vec![[4_096, 4_096]] };
        let text = text(&lost);
        assert!(text.starts_with("8 KiB of 1 MiB cannot be read, in 2 ranges:"), "{text}");
        assert!(text.contains("4 KiB  8 KiB") && text.contains("and 1 more"), "{text}");
    }
}
