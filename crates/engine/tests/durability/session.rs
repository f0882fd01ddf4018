//! A complete journal, and the members' content after a power cut at any time in it.
//!
//! A change is durable if it was requested as durable and is completed, or if a flush that began
//! after its completion is completed. For changes that are not durable at the cut, each sector
//! holds either the durable content or any later change.

use std::path::PathBuf;

use parlour_engine::Change;

use crate::common::Numbers;
use crate::content::SECTOR;
use crate::journal::{Event, File, Journal, Kind, NEVER, Request};

/// A change of a file.
#[derive(Clone, Copy, Debug)]
struct Made {
    asked: usize,
    answered: usize,
    /// The time from which the change survives a cut.
    durable: usize,
    /// The number of completed bytes.
    done: u64,
}

/// A complete journal; see the module's documentation.
#[derive(Debug)]
pub(crate) struct Session {
    events: Vec<Event>,
    pub(crate) files: Vec<File>,
    pub(crate) requests: Vec<Request>,
    /// The changes of each file.
    changes: Vec<Vec<Made>>,
    /// The times to which [`Focus`] refers.
    moments: Moments,
}

#[derive(Debug, Default)]
struct Moments {
    durable: Vec<usize>,
    flushes: Vec<usize>,
    superblocks: Vec<usize>,
    records: Vec<usize>,
    exclusion: Vec<usize>,
    absence: Vec<usize>,
    reads: Vec<usize>,
}

/// The time at which power is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "planted-bugs"), expect(dead_code, reason = "some are drawn only"))]
pub(crate) enum Focus {
    /// Any time, or one of the following.
    Any,
    /// Just after a change has become durable, or was promised to be.
    Durable,
    /// Just after hosts' flushes have been answered.
    Flushes,
    /// While superblocks are written.
    Superblocks,
    /// While other metadata is written.
    Records,
    /// While a member is being excluded.
    Exclusion,
    /// While a member is missing and not yet replaced.
    Absence,
    /// Just after a read.
    Reads,
}

/// What remains after a cut of a member's volatile cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    Nothing,
    All,
    /// A random choice of changes; a change under way remains in part.
    Changes,
    /// A random choice of the sectors of each change.
    Sectors,
}

impl Kept {
    /// Chooses for each of `count` members.
    pub(crate) fn draw(numbers: &mut Numbers, count: usize) -> Vec<Kept> {
        let one = |numbers: &mut Numbers| match numbers.below(4) {
            0 => Kept::Nothing,
            1 => Kept::All,
            2 => Kept::Changes,
            _ => Kept::Sectors,
        };
        let lone = numbers.below(count as u64) as usize;
        match numbers.below(4) {
            0 => vec![Kept::Nothing; count],
            1 => (0..count).map(|file| if file == lone { Kept::All } else { Kept::Nothing }).collect(),
            2 => (0..count).map(|file| if file == lone { Kept::Nothing } else { Kept::All }).collect(),
            _ => (0..count).map(|_| one(numbers)).collect(),
        }
    }
}

impl Session {
    pub(crate) fn of(journal: &Journal) -> Session {
        let (events, files, requests) = journal.close();
        let mut session =
            Session { events, files, requests, changes: Vec::new(), moments: Moments::default() };
        session.changes = (0..session.files.len()).map(|file| session.changes_of(file)).collect();
        let answers = |kind: Kind| {
            let answered = session.requests.iter().filter(move |request| request.kind == kind);
            answered.map(|request| request.ended).filter(|ended| *ended != NEVER).collect()
        };
        session.moments = Moments {
            durable: session.find_durable(),
            flushes: answers(Kind::Flush),
            reads: answers(Kind::Read),
            // The second superblock is in the last MiB.
            superblocks: session.find_writes(|at, length| at == 0 || at + (1 << 20) >= length),
            records: session.find_writes(|at, _| at > 0 && at < journal.metadata()),
            exclusion: session.find_between(Event::is_degraded, Event::is_excluded),
            absence: session.find_between(Event::is_excluded, Event::is_degraded),
        };
        session
    }

    pub(crate) fn length(&self) -> usize {
        self.events.len()
    }

    fn changes_of(&self, file: usize) -> Vec<Made> {
        let mut made: Vec<Made> = Vec::new();
        let mut flushes: Vec<(usize, usize)> = Vec::new();
        for (now, event) in self.events.iter().enumerate() {
            match event {
                Event::Asked { file: of, change } if *of == file && *change != Change::Flush => {
                    made.push(Made { asked: now, answered: NEVER, durable: NEVER, done: u64::MAX });
                }
                Event::Answered { asked, done } => match (&self.events[*asked], done) {
                    (Event::Asked { file: of, change: Change::Flush }, Some(_)) if *of == file => {
                        flushes.push((*asked, now));
                    }
                    (Event::Asked { file: of, .. }, _) if *of == file => {
                        let index = made.binary_search_by_key(asked, |made| made.asked);
                        if let Ok(index) = index {
                            (made[index].answered, made[index].done) = (now, done.unwrap_or(0));
                        }
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        for made in &mut made {
            let itself = match &self.events[made.asked] {
                Event::Asked { change: Change::Write { durable: true, .. }, .. } => made.answered,
                _ => NEVER,
            };
            let covering = flushes.iter().filter(|(begun, _)| *begun > made.answered).map(|(_, done)| *done);
            made.durable = covering.min().unwrap_or(NEVER).min(itself);
        }
        made
    }

    fn find_durable(&self) -> Vec<usize> {
        let promised = self.requests.iter().filter(|request| match request.kind {
            Kind::Write { durable, .. } => durable,
            Kind::Flush => true,
            Kind::Read => false,
        });
        let durable = self.changes.iter().flatten().map(|made| made.durable);
        let mut moments: Vec<usize> = promised.map(|request| request.ended).chain(durable).collect();
        moments.retain(|moment| *moment != NEVER);
        moments.sort_unstable();
        moments.dedup();
        moments
    }

    /// All times from the first event of one kind to the next event of another.
    fn find_between(&self, from: fn(&Event) -> bool, to: fn(&Event) -> bool) -> Vec<usize> {
        let Some(begin) = self.events.iter().position(from) else { return Vec::new() };
        let rest = self.events[begin..].iter().position(to);
        (begin..rest.map_or(self.length(), |rest| begin + rest)).collect()
    }

    /// The start times of writes whose position and file length satisfy `matches`.
    fn find_writes(&self, matches: impl Fn(u64, u64) -> bool) -> Vec<usize> {
        let length = |file: usize| self.files[file].initial.len() as u64;
        let found = self.events.iter().enumerate().filter_map(|(now, event)| match event {
            Event::Asked { file, change: Change::Write { at, .. } } if matches(*at, length(*file)) => {
                Some(now)
            }
            _ => None,
        });
        found.collect()
    }

    /// Chooses a time for the power cut.
    pub(crate) fn draw_cut(&self, focus: Focus, numbers: &mut Numbers) -> usize {
        const DRAWN: [Focus; 5] =
            [Focus::Any, Focus::Durable, Focus::Flushes, Focus::Superblocks, Focus::Records];
        let focus = if focus == Focus::Any { DRAWN[numbers.below(5) as usize] } else { focus };
        let Moments { durable, flushes, superblocks, records, exclusion, absence, reads } = &self.moments;
        let moments = match focus {
            Focus::Any => &[][..],
            Focus::Durable => durable,
            Focus::Flushes => flushes,
            Focus::Superblocks => superblocks,
            Focus::Records => records,
            Focus::Exclusion => exclusion,
            Focus::Absence => absence,
            Focus::Reads => reads,
        };
        if moments.is_empty() {
            return numbers.below(self.length() as u64 + 1) as usize;
        }
        let moment = moments[numbers.below(moments.len() as u64) as usize];
        (moment + 1 + numbers.below(8) as usize).min(self.length())
    }

    /// The time since which the member that is missing at `cut` is certainly excluded and not yet
    /// replaced.
    pub(crate) fn excluded(&self, cut: usize) -> Option<usize> {
        let mut before = self.events[..cut].iter().enumerate().rev();
        before.find_map(|(now, event)| match event {
            Event::Excluded => Some(Some(now)),
            Event::Whole(_) | Event::Degraded(_) => Some(None),
            _ => None,
        })?
    }

    /// Whether all members were present at `cut`, and the files of which the array can lose any one
    /// at that time.
    pub(crate) fn dispensable(&self, cut: usize) -> (bool, &[usize]) {
        let told = self.events[..cut].iter().rev().find_map(|event| match event {
            Event::Whole(files) => Some((true, &files[..])),
            Event::Degraded(files) => Some((false, &files[..])),
            _ => None,
        });
        // The first event names the initial members.
        told.unwrap_or_else(|| match &self.events[0] {
            Event::Whole(files) => (true, &files[..]),
            _ => (false, &[]),
        })
    }

    /// The files that were present at `cut`.
    pub(crate) fn present(&self, cut: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.files.len()).filter(move |file| self.files[*file].since <= cut)
    }

    pub(crate) fn name(&self, file: usize) -> PathBuf {
        self.files[file].path.file_name().expect("a file has a name").into()
    }

    /// The content of a file after a cut.
    pub(crate) fn image(&self, file: usize, cut: usize, kept: Kept, numbers: &mut Numbers) -> Vec<u8> {
        let mut image = self.files[file].initial.to_vec();
        for made in self.changes[file].iter().take_while(|made| made.asked < cut) {
            let Event::Asked { change, .. } = &self.events[made.asked] else { unreachable!("a change") };
            let (at, length) = match change {
                Change::Write { at, bytes, .. } => (*at as usize, bytes.len()),
                Change::Zero { at, length } => (*at as usize, *length as usize),
                Change::Flush => unreachable!("a flush changes nothing"),
            };
            let length = length.min(made.done.min(usize::MAX as u64) as usize);
            let under_way = made.answered >= cut;
            let whole = made.durable < cut || kept == Kept::All;
            let torn = kept == Kept::Sectors || kept == Kept::Changes && under_way;
            let lands = kept == Kept::Changes && numbers.below(2) == 0;
            for start in (0..length).step_by(SECTOR) {
                if whole || (if torn { numbers.below(2) == 0 } else { lands }) {
                    let sector = &mut image[at + start..at + (start + SECTOR).min(length)];
                    match change {
                        Change::Write { bytes, .. } => {
                            sector.copy_from_slice(&bytes[start..start + sector.len()]);
                        }
                        _ => sector.fill(0),
                    }
                }
            }
        }
        image
    }
}
