//! The script of a run: hosts' requests and faults, which are known before the run. Removing an
//! event does not change the others, so a failing script can be shortened.

mod added;
mod draw;
mod extra;

use std::fmt;
use std::ops;

use parlour_units::Duration;

use crate::coverage::Fault;
use crate::damage::Damage;
use crate::options::Options;
use crate::request::{Ask, Range};
use crate::silent::Silent;
pub(crate) use draw::draw;
pub(crate) use extra::Extra;

/// A run: an array and its events.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    seed: u64,
    options: Options,
    events: Vec<Event>,
}

impl Script {
    pub(crate) fn new(seed: u64, options: Options, events: Vec<Event>) -> Script {
        Script { seed, options, events }
    }

    /// The seed of everything that is drawn during the run.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// The parameters of the array.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    /// The same script without some of its events.
    pub(crate) fn without(&self, events: ops::Range<usize>) -> Script {
        let mut shorter = self.clone();
        shorter.events.drain(events);
        shorter
    }

    /// Whether it may have the faults of this kind.
    pub(crate) fn has(&self, extra: Extra) -> bool {
        extra.is_in(self.seed)
    }
}

/// An event at a time. The clock of events stops while the array is given time to come to rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) number: u64,
    pub(crate) at: Duration,
    pub(crate) what: What,
}

/// The way in which members return when the array is opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Return {
    All,
    /// All members except one, which has another fault.
    But(Fault, u16),
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Host(Ask, Range),
    /// The array crashes and is opened again. Then all data is read, if `read`.
    Crash {
        power: bool,
        read: bool,
    },
    /// The array is stopped, loses power if `power`, and is opened again.
    Stop {
        power: bool,
        back: Return,
    },
    /// A slot loses its member.
    Lose(Fault, u16),
    Replace(u16),
    /// A missing member of a slot returns.
    Back(u16),
    Spare,
    /// A sector of a member's data area becomes unreadable.
    Latent(u16, u64),
    /// A sector of a member's metadata becomes unreadable; the number selects the sector.
    Metadata(u16, u64),
    Transient(u16),
    /// The next flush of a member fails.
    FlushFails(u16),
    /// All flushes of a member are reported as done, but make nothing durable.
    FlushesLie(u16),
    /// The system lacks a resource for the next access of a member.
    Starved(u16),
    /// A member has no space for data, logs or metadata.
    FullEverywhere(u16),
    Slow(u16),
    /// The next write of a kind to a member has a silent fault.
    Silent(u16, Silent),
    /// Another server opens the array, and writes a block; the number selects the block.
    Rival(u64),
    /// A member is copied while the array is served.
    Clone(u16),
    /// After the next stop, one of the copies is put into its member's slot; the number selects the
    /// copy.
    PutClone(u64),
    /// Metadata of a member, or a log on it, is damaged.
    Damage(u16, Damage),
    Scrub {
        repair: bool,
    },
    Full(u16),
    Rot(u64),
    /// The array comes to rest, and all checks are done. Missing members are replaced before, if
    /// `heal`.
    Rest {
        heal: bool,
    },
    /// The array comes to rest. Used by the exhaustive check.
    Quiet,
    /// From here on every cut is tried. Used by the exhaustive check.
    Watch,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.nanoseconds() as f64 / 1e6;
        write!(f, "{at:>10.3} ms  #{:<4} ", self.number)?;
        match self.what {
            What::Host(Ask::Flush, _) => write!(f, "host: flush"),
            What::Host(ask, Range { at, length }) => write!(f, "host: {ask} {length} at {at}"),
            What::Crash { power, .. } => write!(f, "{}", if power { "power is cut" } else { "killed" }),
            What::Stop { power, back } => {
                let then = if power { ", power cut" } else { "" };
                match back {
                    Return::All => write!(f, "stop{then}, open"),
                    Return::But(fault, slot) => write!(f, "stop{then}, open: {} at {slot}", fault.name()),
                }
            }
            What::Lose(fault, slot) => write!(f, "{} of member {slot}", fault.name()),
            What::Replace(slot) => write!(f, "replace member {slot}"),
            What::Spare => write!(f, "add a spare"),
            What::Latent(slot, sector) => write!(f, "member {slot} cannot read data sector {sector}"),
            What::Back(slot) => write!(f, "member {slot} is back"),
            What::Metadata(slot, _) => write!(f, "member {slot} cannot read a sector of its metadata"),
            What::Transient(slot) => write!(f, "the next read of member {slot} fails"),
            What::FlushFails(slot) => write!(f, "the next flush of member {slot} fails"),
            What::Silent(slot, silent) => write!(f, "of member {slot}, {silent}"),
            What::Damage(slot, damage) => write!(f, "of member {slot}, {damage}"),
            What::FlushesLie(slot) => {
                write!(f, "flushes of member {slot} make nothing durable from here on")
            }
            What::Starved(slot) => {
                write!(f, "the system lacks what the next access of member {slot} takes")
            }
            What::FullEverywhere(slot) => write!(f, "member {slot} has no room, not for metadata either"),
            What::Rival(_) => write!(f, "another server opens the array"),
            What::Clone(slot) => write!(f, "member {slot} is copied"),
            What::PutClone(_) => write!(f, "a copy takes its member's slot when the array is stopped next"),
            What::Slow(slot) => write!(f, "member {slot} becomes slow"),
            What::Scrub { repair } => write!(f, "scrub{}", if repair { ", repairing" } else { "" }),
            What::Full(slot) => write!(f, "member {slot} has no room"),
            What::Rot(_) => write!(f, "a unit rots"),
            What::Rest { heal } => write!(f, "rest{}", if heal { ", all members whole" } else { "" }),
            What::Quiet => write!(f, "quiet"),
            What::Watch => write!(f, "cuts from here on"),
        }
    }
}
