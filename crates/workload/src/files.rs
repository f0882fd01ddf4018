//! Whole-file reads, as in Hauser et al.: files of several sizes all over the space, in lists, with
//! one process per list.

use std::num::NonZeroU16;

use parlour_units::{Duration, Sector, Sectors};

use crate::random::Random;
use crate::space::Space;
use crate::task::{Kind, Stretch, Task, Way};

/// The files, and how they are read.
#[derive(Clone, Debug, PartialEq)]
pub struct FileSet {
    /// The sizes of files. There are equally many files of each size, also in each part of each
    /// volume.
    pub sizes: Vec<Sectors>,
    /// The fraction of each volume that the files fill. The free space is between them.
    pub filled: f64,
    /// The number of lists, of lengths as equal as possible. The first process reads the first
    /// list, and so on.
    pub lists: u32,
    /// Whether a list is read again after its end.
    pub again: bool,
    /// The time of the host to open a file.
    pub opening: Duration,
    /// The number of blocks that are read one after another when a file is opened, anywhere on the
    /// file's volume: at most [`Task::LOOKS`].
    pub looks: usize,
    /// The length of a read.
    pub read: Sectors,
    /// The number of reads ahead of the one that the process waits for.
    pub ahead: u16,
}

/// Why a set of files is invalid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum FilesError {
    /// There is no size, or an empty file.
    #[error("a set of files has at least one size, and no file is empty")]
    Empty,
    /// The filled part is not a fraction.
    #[error("files fill {0} of a volume: it is above 0, and at most 1")]
    NoPart(f64),
    /// There is no room for one file of each size.
    #[error("a file of each size takes {needed} sectors, and files may fill {room} of a volume")]
    NoRoom {
        /// The sectors of one file of each size.
        needed: u64,
        /// The sectors that may be filled.
        room: u64,
    },
    /// Some list would be empty.
    #[error(
        "there are {files} files, one of each size {rounds} times, which are not enough for {lists} lists"
    )]
    TooManyLists {
        /// The number of files.
        files: u64,
        /// The number of files of each size.
        rounds: u64,
        /// The number of lists.
        lists: u32,
    },
    /// More than the most blocks are read at opening.
    #[error("a file is opened with at most {most} blocks read, and not {0}", most = Task::LOOKS)]
    TooManyLooks(usize),
    /// The length of a read is not a whole number of blocks.
    #[error("files are read in whole blocks of {block} sectors, and not in parts of {read}")]
    NoRead {
        /// The length of a read.
        read: u64,
        /// The block.
        block: u64,
    },
}

/// The files being read.
#[derive(Clone, Debug, PartialEq)]
pub struct Files {
    set: FileSet,
    block: Sectors,
    lists: Vec<List>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct List {
    files: Vec<File>,
    next: usize,
}

/// The position of a file, and its volume.
#[derive(Clone, Copy, Debug, PartialEq)]
struct File {
    at: Sector,
    length: Sectors,
    volume: (Sector, Sectors),
}

impl Files {
    /// Places the files, and distributes them to lists at random.
    pub fn new(set: FileSet, space: &Space, random: &mut Random) -> Result<Files, FilesError> {
        let block = space.block();
        if set.sizes.is_empty() || set.sizes.iter().any(|size| size.is_zero()) {
            return Err(FilesError::Empty);
        }
        if !(set.filled > 0.0 && set.filled <= 1.0) {
            return Err(FilesError::NoPart(set.filled));
        }
        if set.looks > Task::LOOKS {
            return Err(FilesError::TooManyLooks(set.looks));
        }
        if set.read.is_zero() || !set.read.is_multiple_of(block) {
            return Err(FilesError::NoRead { read: set.read.get(), block: block.get() });
        }
        let mut rounds = Vec::new();
        for volume in space.each() {
            rounds.extend(laid_out(&set, volume, block, random)?);
        }
        let too_many = FilesError::TooManyLists {
            files: (rounds.len() * set.sizes.len()) as u64,
            rounds: rounds.len() as u64,
            lists: set.lists,
        };
        if set.lists == 0 || rounds.len() < set.lists as usize {
            return Err(too_many);
        }
        shuffle(&mut rounds, random);
        let mut lists = vec![List::default(); set.lists as usize];
        let count = lists.len();
        for (index, round) in rounds.into_iter().enumerate() {
            lists[index % count].files.extend(round);
        }
        lists.iter_mut().for_each(|list| shuffle(&mut list.files, random));
        Ok(Files { set, block, lists })
    }

    /// The number of files.
    pub fn count(&self) -> usize {
        self.lists.iter().map(|list| list.files.len()).sum()
    }

    /// The next file of this process, if its list has one.
    pub(crate) fn begin(&mut self, process: u32, random: &mut Random) -> Option<Task> {
        let count = self.lists.len();
        let list = &mut self.lists[process as usize % count];
        if list.next == list.files.len() && self.set.again {
            list.next = 0;
        }
        let File { at, length, volume: (start, room) } = *list.files.get(list.next)?;
        list.next += 1;
        let at_once = NonZeroU16::MIN.saturating_add(self.set.ahead);
        let stretch = Stretch { at, length, part: self.set.read, at_once, way: Way::Once(Kind::Read) };
        let mut blocks = [Sector::ZERO; Task::LOOKS];
        for look in &mut blocks[..self.set.looks] {
            *look = start + self.block * random.below(room.get() / self.block.get());
        }
        Some(Task::through(stretch).opened(self.set.opening, &blocks[..self.set.looks], self.block))
    }
}

/// Places one file of each size in random order, repeatedly, evenly over a volume.
fn laid_out(
    set: &FileSet,
    volume: (Sector, Sectors),
    block: Sectors,
    random: &mut Random,
) -> Result<Vec<Vec<File>>, FilesError> {
    let (start, length) = volume;
    let room = (length.get() as f64 * set.filled) as u64;
    if let Some(large) = set.sizes.iter().find(|size| size.get() > room) {
        return Err(FilesError::NoRoom { needed: large.get(), room });
    }
    let mut sizes: Vec<Sectors> = set.sizes.iter().map(|size| size.round_up(block)).collect();
    let needed = sizes.iter().fold(0_u64, |sum, size| sum.saturating_add(size.get()));
    let count = room / needed;
    if count == 0 {
        return Err(FilesError::NoRoom { needed, room });
    }
    let apart = Sectors::new(length.get() / count).round_down(block);
    let round = |index| {
        shuffle(&mut sizes, random);
        let mut at = start + apart * index;
        let place = |length: &Sectors| {
            let file = File { at, length: *length, volume };
            at = at + *length;
            file
        };
        sizes.iter().map(place).collect()
    };
    Ok((0..count).map(round).collect())
}

/// Shuffles: all orders are equally likely (Fisher and Yates).
fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for index in (1..items.len()).rev() {
        items.swap(index, random.below(index as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hauser et al.: ten sizes from 50 to 275 KB.
    fn set() -> FileSet {
        FileSet {
            sizes: (0..10).map(|step| Sectors::new((50 + 25 * step) * 2)).collect(),
            filled: 0.9,
            lists: 12,
            again: false,
            opening: Duration::from_millis(3),
            looks: 2,
            read: Sectors::new(16),
            ahead: 3,
        }
    }

    fn space() -> Space {
        Space::volumes(&[Sectors::new(1 << 20), Sectors::new(1 << 19)], Sectors::new(8)).unwrap()
    }

    #[test]
    fn files_lie_apart_within_their_volumes_and_sizes_are_everywhere() {
        let files = Files::new(set(), &space(), &mut Random::new(1)).unwrap();
        let mut all: Vec<File> = files.lists.iter().flat_map(|list| list.files.iter().copied()).collect();
        all.sort_by_key(|file| file.at);
        assert!(all.windows(2).all(|pair| pair[0].at + pair[0].length <= pair[1].at));
        for File { at, length, volume: (start, room) } in &all {
            assert!(*at >= *start && *at + *length <= *start + *room);
        }
        let (mean, count) =
            (all.iter().map(|file| file.length.get()).sum::<u64>() / all.len() as u64, all.len());
        assert!((325..330).contains(&mean), "162.5 KB and what rounds up to blocks, not {mean} sectors");
        let filled = mean as f64 * count as f64 / f64::from((1 << 20) + (1 << 19));
        assert!((0.88..0.9).contains(&filled), "{filled}");
        // Each tenth of the larger volume has files of all sizes.
        for tenth in 0..10 {
            let within = |file: &&File| (file.at.get() * 10) >> 20 == tenth;
            let mut sizes: Vec<u64> = all.iter().filter(within).map(|file| file.length.get()).collect();
            sizes.sort_unstable();
            sizes.dedup();
            assert_eq!(sizes.len(), 10);
        }
    }

    #[test]
    fn lists_are_even_and_each_file_is_read_once() {
        let mut files = Files::new(set(), &space(), &mut Random::new(1)).unwrap();
        let lengths: Vec<usize> = files.lists.iter().map(|list| list.files.len()).collect();
        assert!(lengths.iter().all(|length| length.abs_diff(lengths[0]) <= 10), "{lengths:?}");
        let (count, mut random) = (files.count(), Random::new(2));
        let mut read = 0;
        for process in 0..12 {
            while let Some(task) = files.begin(process, &mut random) {
                assert_eq!(task.thinks(), Duration::from_millis(3));
                read += 1;
            }
        }
        assert_eq!(read, count);
        let mut again = Files::new(FileSet { again: true, ..set() }, &space(), &mut random).unwrap();
        assert!((0..2 * count).all(|_| again.begin(0, &mut random).is_some()));
    }

    #[test]
    fn impossible_sets_are_refused() {
        let error = |set| Files::new(set, &space(), &mut Random::new(1)).unwrap_err();
        assert_eq!(error(FileSet { sizes: vec![], ..set() }), FilesError::Empty);
        assert_eq!(error(FileSet { filled: 1.5, ..set() }), FilesError::NoPart(1.5));
        assert_eq!(error(FileSet { looks: 4, ..set() }), FilesError::TooManyLooks(4));
        let read = Sectors::new(12);
        assert_eq!(error(FileSet { read, ..set() }), FilesError::NoRead { read: 12, block: 8 });
        let large = FileSet { sizes: vec![Sectors::new(1 << 19)], ..set() };
        assert_eq!(error(large), FilesError::NoRoom { needed: 1 << 19, room: 471_859 });
        assert!(matches!(error(FileSet { lists: 10_000, ..set() }), FilesError::TooManyLists { .. }));
    }
}
