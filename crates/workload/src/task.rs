//! Tasks: the requests that a process makes as one unit of work: a single request, a transaction, a
//! whole file.

use std::num::NonZeroU16;

use parlour_units::{Duration, Sector, Sectors};

use crate::random::Random;

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A read.
    Read,
    /// A write.
    Write,
    /// The content is no longer needed.
    Trim,
    /// All earlier writes are made durable. A flush has no position.
    Flush,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The kind.
    pub kind: Kind,
    /// The first sector.
    pub at: Sector,
    /// The length.
    pub length: Sectors,
}

/// How each part of a range is accessed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// One request.
    Once(Kind),
    /// The part is read, and a fraction of the parts is written back.
    Back {
        /// The time from the answer to the write.
        after: Duration,
        /// The fraction of parts that are written back.
        part: f64,
    },
}

/// A range that is accessed in parts, several of them at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// The first sector.
    pub at: Sector,
    /// The length.
    pub length: Sectors,
    /// The length of a part; the last part may be shorter.
    pub part: Sectors,
    /// The number of parts at once: one, plus the parts that are read ahead or written behind.
    pub at_once: NonZeroU16,
    /// How each part is accessed.
    pub way: Way,
}

/// The requests that a process makes as one unit of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Task {
    /// The think time before its first request.
    thinks: Duration,
    looks: Looks,
    work: Work,
    beside: Option<Ask>,
    /// The number of requests not answered, including those that will certainly follow.
    open: u16,
}

/// Blocks that are read one after another at the beginning.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Looks {
    at: [Sector; Task::LOOKS],
    length: Sectors,
    count: u8,
    asked: u8,
    answered: u8,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Work {
    /// A single request, until it is sent.
    Once(Option<Ask>),
    /// The rest of a range.
    Through(Stretch),
    /// The blocks that were read are written back after this time, in the same order; and the
    /// number written.
    Update { after: Duration, written: u8 },
}

impl Looks {
    const NONE: Looks =
        Looks { at: [Sector::ZERO; Task::LOOKS], length: Sectors::ZERO, count: 0, asked: 0, answered: 0 };

    fn new(places: &[Sector], length: Sectors) -> Looks {
        let mut looks = Looks { length, count: places.len() as u8, ..Looks::NONE };
        looks.at[..places.len()].copy_from_slice(places);
        looks
    }

    fn ask(&self, kind: Kind, index: u8) -> Ask {
        Ask { kind, at: self.at[usize::from(index)], length: self.length }
    }
}

impl Task {
    /// The most blocks that a task may read at its beginning.
    pub const LOOKS: usize = 3;

    fn new(looks: Looks, work: Work) -> Task {
        Task { thinks: Duration::ZERO, looks, work, beside: None, open: 0 }
    }

    /// A single request.
    pub fn once(ask: Ask) -> Task {
        Task::new(Looks::NONE, Work::Once(Some(ask)))
    }

    /// Accesses a range part by part.
    ///
    /// # Panics
    /// If the range or its parts are empty.
    pub fn through(stretch: Stretch) -> Task {
        assert!(!stretch.part.is_zero() && !stretch.length.is_zero(), "a task asks for something");
        Task::new(Looks::NONE, Work::Through(stretch))
    }

    /// Reads records one after another, pauses, and writes them back.
    ///
    /// # Panics
    /// With no records, or more than [`Task::LOOKS`].
    pub fn update(records: &[Sector], length: Sectors, after: Duration) -> Task {
        assert!(!records.is_empty(), "an update has something to update");
        Task::new(Looks::new(records, length), Work::Update { after, written: 0 })
    }

    /// Adds the opening of a file before the task: a think time, and reads of blocks one after
    /// another.
    ///
    /// # Panics
    /// With more blocks than [`Task::LOOKS`].
    #[must_use]
    pub fn opened(self, thinks: Duration, blocks: &[Sector], length: Sectors) -> Task {
        Task { thinks, looks: Looks::new(blocks, length), ..self }
    }

    /// Adds a request that the task does not wait for.
    #[must_use]
    pub fn beside(self, ask: Ask) -> Task {
        Task { beside: Some(ask), ..self }
    }

    /// The think time before its first request.
    pub fn thinks(&self) -> Duration {
        self.thinks
    }

    /// Takes the request that the task does not wait for.
    pub fn take_beside(&mut self) -> Option<Ask> {
        self.beside.take()
    }

    /// The next request that needs no earlier answer, if there is one.
    pub fn next_ask(&mut self) -> Option<Ask> {
        let looks = &mut self.looks;
        if looks.answered < looks.count {
            if looks.asked > looks.answered {
                return None;
            }
            looks.asked += 1;
            self.open += 1;
            return Some(looks.ask(Kind::Read, looks.asked - 1));
        }
        let ask = match &mut self.work {
            Work::Once(ask) => ask.take()?,
            Work::Through(stretch) if self.open < stretch.at_once.get() => stretch.take()?,
            Work::Through(_) | Work::Update { .. } => return None,
        };
        self.open += 1;
        Some(ask)
    }

    /// One of its requests was answered. Returns the request that follows, and the time until it is
    /// sent.
    pub fn answered(&mut self, ask: &Ask, random: &mut Random) -> Option<(Duration, Ask)> {
        self.open -= 1;
        let next = self.follower(ask, random);
        self.open += u16::from(next.is_some());
        next
    }

    fn follower(&mut self, ask: &Ask, random: &mut Random) -> Option<(Duration, Ask)> {
        let looks = &mut self.looks;
        let looked = looks.answered < looks.count;
        looks.answered += u8::from(looked);
        match &mut self.work {
            Work::Update { after, .. } if looked && looks.answered == looks.count => {
                Some((*after, looks.ask(Kind::Write, 0)))
            }
            _ if looked => None,
            Work::Update { written, .. } => {
                *written += 1;
                (*written < looks.count).then(|| (Duration::ZERO, looks.ask(Kind::Write, *written)))
            }
            Work::Through(Stretch { way: Way::Back { after, part }, .. }) if ask.kind == Kind::Read => {
                random.happens(*part).then_some((*after, Ask { kind: Kind::Write, ..*ask }))
            }
            Work::Once(_) | Work::Through(_) => None,
        }
    }

    /// Whether all requests are sent and answered.
    pub fn is_over(&self) -> bool {
        let asked = match &self.work {
            Work::Once(ask) => ask.is_none(),
            Work::Through(stretch) => stretch.length.is_zero(),
            Work::Update { .. } => true,
        };
        self.open == 0 && self.looks.answered == self.looks.count && asked
    }
}

impl Stretch {
    /// Takes the next part of the range, if something is left.
    fn take(&mut self) -> Option<Ask> {
        let length = self.part.min(self.length);
        if length.is_zero() {
            return None;
        }
        let kind = match self.way {
            Way::Once(kind) => kind,
            Way::Back { .. } => Kind::Read,
        };
        let ask = Ask { kind, at: self.at, length };
        (self.at, self.length) = (self.at + length, self.length - length);
        Some(ask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(kind: Kind, at: u64, length: u64) -> Ask {
        Ask { kind, at: Sector::new(at), length: Sectors::new(length) }
    }

    /// All requests of a task, if each is answered before the next is sent, except those that are
    /// sent at once.
    fn asked(mut task: Task) -> Vec<(Kind, u64, u64)> {
        let (mut random, mut open, mut all) = (Random::new(1), std::collections::VecDeque::new(), Vec::new());
        while !task.is_over() {
            while let Some(ask) = task.next_ask() {
                open.push_back(ask);
            }
            let ask: Ask = open.pop_front().expect("a task that is not over waits for something");
            all.push((ask.kind, ask.at.get(), ask.length.get()));
            open.extend(task.answered(&ask, &mut random).map(|(_, ask)| ask));
        }
        all
    }

    fn stretch(at_once: u16, way: Way) -> Stretch {
        let at_once = NonZeroU16::new(at_once).unwrap();
        Stretch { at: Sector::new(100), length: Sectors::new(20), part: Sectors::new(8), at_once, way }
    }

    #[test]
    fn a_stretch_is_gone_through_in_parts() {
        use Kind::{Read, Write};
        let parts = [(Read, 100, 8), (Read, 108, 8), (Read, 116, 4)];
        assert_eq!(asked(Task::through(stretch(1, Way::Once(Read)))), parts);
        assert_eq!(asked(Task::through(stretch(2, Way::Once(Read)))), parts);
        let back = Way::Back { after: Duration::ZERO, part: 1.0 };
        let all = asked(Task::through(stretch(1, back)));
        let there_and_back: Vec<_> =
            parts.iter().flat_map(|(_, at, length)| [(Read, *at, *length), (Write, *at, *length)]).collect();
        assert_eq!(all, there_and_back);
    }

    #[test]
    fn no_more_parts_are_at_once_than_may_be() {
        let mut task = Task::through(stretch(2, Way::Once(Kind::Read)));
        let first = task.next_ask().unwrap();
        assert!(task.next_ask().is_some() && task.next_ask().is_none());
        assert_eq!(task.answered(&first, &mut Random::new(1)), None);
        assert!(task.next_ask().is_some() && task.next_ask().is_none() && !task.is_over());
    }

    #[test]
    fn records_are_all_read_before_they_are_written_back() {
        use Kind::{Read, Write};
        let records = [Sector::new(8), Sector::new(80), Sector::new(16)];
        let all = asked(Task::update(&records, Sectors::new(4), Duration::from_millis(1)));
        let expected =
            [(Read, 8, 4), (Read, 80, 4), (Read, 16, 4), (Write, 8, 4), (Write, 80, 4), (Write, 16, 4)];
        assert_eq!(all, expected);
        let mut task = Task::update(&records[..1], Sectors::new(4), Duration::from_millis(1));
        let read = task.next_ask().unwrap();
        let write = (Duration::from_millis(1), ask(Write, 8, 4));
        assert_eq!(task.answered(&read, &mut Random::new(1)), Some(write));
    }

    #[test]
    fn a_file_is_opened_before_it_is_read() {
        let blocks = [Sector::new(0), Sector::new(8)];
        let task = Task::through(stretch(4, Way::Once(Kind::Read)));
        let mut task = task.opened(Duration::from_millis(2), &blocks, Sectors::new(1));
        assert_eq!(task.thinks(), Duration::from_millis(2));
        assert_eq!(task.next_ask(), Some(ask(Kind::Read, 0, 1)));
        assert_eq!(task.next_ask(), None);
        let places: Vec<u64> = asked(Task { open: 0, looks: Looks::new(&blocks, Sectors::new(1)), ..task })
            .into_iter()
            .map(|(_, at, _)| at)
            .collect();
        assert_eq!(places, [0, 8, 100, 108, 116]);
    }

    #[test]
    fn a_flush_is_a_task_that_ends() {
        assert_eq!(asked(Task::once(ask(Kind::Flush, 0, 0))), [(Kind::Flush, 0, 0)]);
    }
}
