//! A journal that is complete, and what a power cut at any time of it would have left of the
//! members.
//!
//! A change is durable when it was asked to be and is done, or when a flush that began after it was
//! done is done. Of what is not durable at the cut each sector holds what was durable or any change
//! since.

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
    /// From when on it survives a cut.
    durable: usize,
    /// How many bytes were done.
    done: u64,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Session {
    events: Vec<Event>,
    pub(crate) files: Vec<File>,
    pub(crate) requests: Vec<Request>,
    /// By file.
    changes: Vec<Vec<Made>>,
    /// Times of which [`Focus`] speaks.
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

/// When power is pulled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "planted-bugs"), expect(dead_code, reason = "some are drawn only"))]
pub(crate) enum Focus {
    /// At any time, or at one of the following.
    Any,
    /// When something has just become durable, or was promised to be.
    Durable,
    /// When hosts' flushes have just been answered.
    Flushes,
    /// While superblocks are written.
    Superblocks,
    /// While other metadata is written.
    Records,
    /// While a member is being excluded.
    Exclusion,
    /// While one is missing, and no other in its place.
    Absence,
    /// When something has just been read.
    Reads,
}

/// What a cut leaves of what one member had in its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    Nothing,
    All,
    /// Each change, or not; one under way in part.
    Changes,
    /// Each sector of each change, or not.
    Sectors,
}

impl Kept {
    /// For each of `count` members.
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

    /// All times from the first event of one kind to the next of another.
    fn find_between(&self, from: fn(&Event) -> bool, to: fn(&Event) -> bool) -> Vec<usize> {
        let Some(begin) = self.events.iter().position(from) else { return Vec::new() };
        let rest = self.events[begin..].iter().position(to);
        (begin..rest.map_or(self.length(), |rest| begin + rest)).collect()
    }

    /// When writes began that `matches` by where they were and how long the file is.
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

    /// A time at which power is pulled.
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

    /// Since when a member that is missing at `cut` was surely out of the array, and no other in
    /// its place.
    pub(crate) fn excluded(&self, cut: usize) -> Option<usize> {
        let mut before = self.events[..cut].iter().enumerate().rev();
        before.find_map(|(now, event)| match event {
            Event::Excluded => Some(Some(now)),
            Event::Whole(_) | Event::Degraded(_) => Some(None),
            _ => None,
        })?
    }

    /// Whether all members were there at `cut`, and the files without any one of which the array
    /// does then.
    pub(crate) fn dispensable(&self, cut: usize) -> (bool, &[usize]) {
        let told = self.events[..cut].iter().rev().find_map(|event| match event {
            Event::Whole(files) => Some((true, &files[..])),
            Event::Degraded(files) => Some((false, &files[..])),
            _ => None,
        });
        // The first event says who is there.
        told.unwrap_or_else(|| match &self.events[0] {
            Event::Whole(files) => (true, &files[..]),
            _ => (false, &[]),
        })
    }

    /// The files that were there at `cut`.
    pub(crate) fn present(&self, cut: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.files.len()).filter(move |file| self.files[*file].since <= cut)
    }

    pub(crate) fn name(&self, file: usize) -> PathBuf {
        self.files[file].path.file_name().expect("a file has a name").into()
    }

    /// What a cut leaves of a file.
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
