//! A full log is merged with the parity: area by area, from one parity disk to the other.
//!
//! Of an area, the old parity is read from the disk that has it, and the updates from each run; the
//! new parity is written to the other disk. While one area is written, the next is read.

use std::ops::Range;

/// A merge under way.
#[derive(Clone, Debug)]
pub(super) struct Merge {
    /// All of the parity, in units.
    parity: u64,
    /// The units of an area.
    area: u64,
    /// Where the next area to be read begins.
    next: u64,
    /// The area that is read, and its accesses that are not completed.
    reading: Option<(Range<u64>, usize)>,
    /// The area that waits to be written.
    ready: Option<Range<u64>>,
    /// The area that is written.
    writing: Option<Range<u64>>,
    /// The units that are written.
    written: u64,
}

/// What is to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Read this area and its updates, and say [how many accesses](Merge::reads) that takes.
    Read(Range<u64>),
    /// Write this area.
    Write(Range<u64>),
}

impl Merge {
    pub(super) fn new(parity: u64, area: u64) -> Merge {
        Merge { parity, area, next: 0, reading: None, ready: None, writing: None, written: 0 }
    }

    /// The part of the parity that is merged.
    pub(super) fn part(&self) -> f64 {
        self.written as f64 / self.parity as f64
    }

    pub(super) fn is_done(&self) -> bool {
        self.written == self.parity
    }

    /// What can begin now.
    pub(super) fn begin(&mut self) -> Option<Next> {
        if self.writing.is_none()
            && let Some(area) = self.ready.take()
        {
            self.writing = Some(area.clone());
            return Some(Next::Write(area));
        }
        // Memory is for two areas: one that is written, and one that is read or waits.
        if self.reading.is_none() && self.ready.is_none() && self.next < self.parity {
            let area = self.next..(self.next + self.area).min(self.parity);
            self.next = area.end;
            self.reading = Some((area.clone(), 0));
            return Some(Next::Read(area));
        }
        None
    }

    /// Reading an area takes so many accesses.
    pub(super) fn reads(&mut self, accesses: usize) {
        self.reading.as_mut().expect("an area is read").1 = accesses;
    }

    /// One access of the area that is read is completed.
    pub(super) fn read(&mut self) {
        let (_, left) = self.reading.as_mut().expect("an area is read");
        *left -= 1;
        if *left == 0 {
            self.ready = self.reading.take().map(|(area, _)| area);
        }
    }

    /// The area that was written is there.
    pub(super) fn wrote(&mut self) {
        let area = self.writing.take().expect("an area is written");
        self.written += area.end - area.start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_area_is_read_while_the_one_before_is_written() {
        let mut merge = Merge::new(25, 10);
        assert_eq!((merge.begin(), merge.begin()), (Some(Next::Read(0..10)), None));
        merge.reads(2);
        merge.read();
        assert_eq!(merge.begin(), None);
        merge.read();
        assert_eq!(merge.begin(), Some(Next::Write(0..10)));
        assert_eq!((merge.begin(), merge.begin()), (Some(Next::Read(10..20)), None));
        merge.reads(1);
        merge.read();
        assert_eq!(merge.begin(), None, "memory is for two");
        merge.wrote();
        assert_eq!(merge.begin(), Some(Next::Write(10..20)));
        assert_eq!(merge.begin(), Some(Next::Read(20..25)));
        merge.reads(1);
        merge.read();
        merge.wrote();
        assert_eq!(merge.begin(), Some(Next::Write(20..25)));
        assert!(!merge.is_done());
        merge.wrote();
        assert!(merge.is_done() && merge.begin().is_none());
    }
}
