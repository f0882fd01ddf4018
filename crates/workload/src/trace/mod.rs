//! Recorded requests: readers of the formats of published traces.
//!
//! A reader handles one line at a time and stores nothing except a format's header. An error names
//! the number of the line that it does not understand.

mod blkparse;
mod disksim;
mod fio;
mod line;
mod msr;
mod spc;

use std::io::{self, BufRead, Read};

use line::Line;
pub use line::{Recorded, What};

/// The format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// DiskSim's ASCII: milliseconds, device, block, blocks, flags.
    Disksim,
    /// SPC, as UMass publishes them: unit, block, bytes, operation, seconds.
    Spc,
    /// MSR Cambridge: time, host, disk, type, offset, bytes, response time.
    Msr,
    /// The output of blkparse; queued requests.
    Blkparse,
    /// fio's iolog, of version 2 or 3.
    Fio,
}

impl Format {
    /// All formats, with their names for people.
    pub const ALL: [(&'static str, Format); 5] = [
        ("disksim", Format::Disksim),
        ("spc", Format::Spc),
        ("msr", Format::Msr),
        ("blkparse", Format::Blkparse),
        ("fio", Format::Fio),
    ];

    /// The format with this name.
    pub fn named(name: &str) -> Option<Format> {
        Format::ALL.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }
}

/// Why a trace cannot be read further.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// A line is not valid in its format.
    #[error("line {line}: {wrong}")]
    Line {
        /// The line's number, from 1.
        line: u64,
        /// The error.
        wrong: String,
    },
    /// A line is too long.
    #[error("line {line} is longer than {} KiB: this is no text of requests", LONGEST >> 10)]
    TooLong {
        /// The line's number, from 1.
        line: u64,
    },
    /// The file cannot be read.
    #[error("line {line}: {source}")]
    Unreadable {
        /// The line's number, from 1.
        line: u64,
        /// The system's error.
        source: io::Error,
    },
}

/// The longest possible line.
const LONGEST: u64 = 64 << 10;

/// A trace being read.
#[derive(Debug)]
pub struct Trace<R> {
    reader: R,
    /// The last line read, and its number.
    text: Vec<u8>,
    line: u64,
    format: Format,
    fio: fio::Head,
    over: bool,
}

impl<R: BufRead> Trace<R> {
    /// Reads requests in this format.
    pub fn new(reader: R, format: Format) -> Trace<R> {
        Trace { reader, text: Vec::new(), line: 0, format, fio: fio::Head::default(), over: false }
    }

    /// The number of the last line read, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Reads a line. Returns whether there was one.
    fn advance(&mut self) -> Result<bool, TraceError> {
        self.text.clear();
        self.line += 1;
        let line = self.line;
        let read = self.reader.by_ref().take(LONGEST).read_until(b'\n', &mut self.text);
        let length = read.map_err(|source| TraceError::Unreadable { line, source })?;
        if length as u64 == LONGEST && !self.text.ends_with(b"\n") {
            return Err(TraceError::TooLong { line });
        }
        Ok(length > 0)
    }

    fn parse(&mut self) -> Result<Line, String> {
        // The names of processes and files may have any bytes.
        let text = &*String::from_utf8_lossy(&self.text);
        match self.format {
            _ if text.trim().is_empty() => Ok(Line::Nothing),
            Format::Disksim => disksim::line(text).map(Line::Request),
            Format::Spc => spc::line(text).map(Line::Request),
            Format::Msr => msr::line(text),
            Format::Blkparse => blkparse::line(text),
            Format::Fio => self.fio.line(text),
        }
    }
}

impl<R: BufRead> Iterator for Trace<R> {
    type Item = Result<Recorded, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.over {
            let line = self.advance().and_then(|any| match any {
                true => self.parse().map_err(|wrong| TraceError::Line { line: self.line, wrong }),
                false => Ok(Line::End),
            });
            match line {
                Ok(Line::Request(recorded)) => return Some(Ok(recorded)),
                Ok(Line::Nothing) => {}
                Ok(Line::End) => self.over = true,
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use parlour_units::{Duration, Sector, Sectors};

    use super::*;

    fn read(format: &str, text: &str) -> Result<Vec<Recorded>, String> {
        let format = Format::named(format).expect("it is one of the list");
        Trace::new(text.as_bytes(), format).collect::<Result<_, _>>().map_err(|error| error.to_string())
    }

    fn at(nanoseconds: u64, device: u32, what: What) -> Recorded {
        Recorded { at: Some(Duration::from_nanoseconds(nanoseconds)), device, what }
    }

    const fn area(sector: u64, sectors: u64) -> (Sector, Sectors) {
        (Sector::new(sector), Sectors::new(sectors))
    }

    fn reads((sector, length): (Sector, Sectors)) -> What {
        What::Read(sector, length)
    }

    fn writes((sector, length): (Sector, Sectors)) -> What {
        What::Write(sector, length)
    }

    #[test]
    fn disksim_is_read() {
        let trace = "0.000000 0 1234 8 1\n12.500000 1 99 16 0\n";
        let expected = vec![at(0, 0, reads(area(1_234, 8))), at(12_500_000, 1, writes(area(99, 16)))];
        assert_eq!(read("disksim", trace), Ok(expected));
        assert_eq!(read("disksim", "0.0 0 1 8\n"), Err("line 1: 4 fields instead of 5".to_owned()));
    }

    #[test]
    fn lines_without_end_and_names_that_are_no_text_do_no_harm() {
        let long = "1 ".repeat(40_000);
        assert!(read("disksim", &long).unwrap_err().starts_with("line 1 is longer than 64 KiB"));
        let bytes = b"  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [k\xff]\n";
        let read: Result<Vec<_>, _> = Trace::new(&bytes[..], Format::Blkparse).collect();
        assert_eq!(read.map(|read| read.len()).map_err(|error| error.to_string()), Ok(1));
    }

    #[test]
    fn spc_is_read() {
        let trace = "0,20941264,8192,W,0.551706\n1,3072,512,r,1.25\n";
        let expected = vec![
            at(551_706_000, 0, writes(area(20_941_264, 16))),
            at(1_250_000_000, 1, reads(area(3_072, 1))),
        ];
        assert_eq!(read("spc", trace), Ok(expected));
        assert!(read("spc", "0,1,512,W,0.0\n0,1,512,X,0.0\n").unwrap_err().starts_with("line 2: 'X'"));
    }

    #[test]
    fn msr_is_read() {
        let trace = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
                     128166372003061629,hm,1,Read,383496192,32768,1331\n";
        let since_1601 = 128_166_372_003_061_629 * 100;
        assert_eq!(read("msr", trace), Ok(vec![at(since_1601, 1, reads(area(749_016, 64)))]));
        assert!(read("msr", "128166372003061629,hm,1,Read,0,512\n").unwrap_err().contains("6 fields"));
        assert!(read("msr", "1,hm,1,Erase,0,512,3\n").unwrap_err().contains("'Erase'"));
    }

    #[test]
    fn blkparse_is_read() {
        let trace = "  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]\n\
                     \x20 8,0    3        2     0.000001829   697  G   W 223490 + 8 [kjournald]\n\
                     \x20 8,16   0        3     0.500000000   697  Q FWS 0 + 0 [sync]\n\
                     \x20 8,0    1        4     1.000000000   700  Q  RA 100 + 32 [cat]\n\
                     \x20 8,0    1        5     1.100000000   700  Q  FN [jbd2/sda1-8]\n\
                     \x20 8,0    1        6     1.200000000   700  Q   R 36 (12 00 00 00 24 00 ..) [hald]\n\
                     \x20 8,0    1        7     1.300000000   700  U   N [cat] 1\n\
                     \x20 8,0    1        0     1.400000000     0  m   N cfq700 put_queue\n\
                     \x20 8,0    1        8     1.500000000   700  Q  DS 64 + 8 [fstrim]\n\
                     \x20 8,0    1        9     1.600000000   700  Q FWFS 72 + 8 [jbd2/sda1-8]\n\
                     CPU0 (8,0):\n Reads Queued: 1\n";
        let (sector, length) = area(64, 8);
        let expected = vec![
            at(0, 8 << 20, writes(area(223_490, 8))),
            at(500_000_000, 8 << 20 | 16, What::Flush),
            at(1_000_000_000, 8 << 20, reads(area(100, 32))),
            at(1_100_000_000, 8 << 20, What::Flush),
            at(1_500_000_000, 8 << 20, What::Trim(sector, length)),
            at(1_600_000_000, 8 << 20, writes(area(72, 8))),
        ];
        assert_eq!(read("blkparse", trace), Ok(expected));
        let cut = "8,0 1 8 1.5 700 Q R 64 + \n";
        assert!(read("blkparse", cut).unwrap_err().contains("SECTOR + COUNT"));
        assert!(read("blkparse", "nonsense\n").unwrap_err().starts_with("line 1: "));
    }

    #[test]
    fn fio_logs_of_both_versions_are_read() {
        let second = "fio version 2 iolog\n/dev/a add\n/dev/a open\n/dev/b add\n/dev/a write 4096 8192\n\
                      /dev/b read 0 512\n/dev/a sync 0 0\n/dev/a trim 512 512\n/dev/a close\n";
        let nothing = |device, what| Recorded { at: None, device, what };
        let (sector, length) = area(1, 1);
        let expected = vec![
            nothing(0, writes(area(8, 16))),
            nothing(1, reads(area(0, 1))),
            nothing(0, What::Flush),
            nothing(0, What::Trim(sector, length)),
        ];
        assert_eq!(read("fio", second), Ok(expected));
        let third = "fio version 3 iolog\n0 /dev/a add\n0 /dev/a open\n5 /dev/a read 512 1024\n";
        assert_eq!(read("fio", third), Ok(vec![at(5_000, 0, reads(area(1, 2)))]));
        let waits = "fio version 2 iolog\n/dev/a wait 0 0\n/dev/a read 0 512\n/dev/a wait 20 0\n\
                     /dev/a read 512 512\n/dev/a wait 10 0\n/dev/a read 0 512\n";
        let expected = vec![
            at(0, 0, reads(area(0, 1))),
            at(20_000_000, 0, reads(area(1, 1))),
            at(20_000_000, 0, reads(area(0, 1))),
        ];
        assert_eq!(read("fio", waits), Ok(expected));
        let mixed = "fio version 3 iolog\n5 /dev/a wait 512 1024\n";
        assert!(read("fio", mixed).unwrap_err().contains("version 2"));
        assert!(read("fio", "/dev/a add\n").unwrap_err().contains("fio version"));
        assert!(read("fio", "fio version 2 iolog\n/dev/a eat 0 1\n").unwrap_err().contains("line 2: 'eat'"));
    }
}
