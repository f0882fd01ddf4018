//! Effects that wait to be handed out, by class, and effects that the driver has.

use std::collections::{BTreeMap, VecDeque};

use parlour_units::{Member, Sector, Sectors};

use crate::effect::{Action, Class, EffectId};

/// The number of waiting effects that are searched for ones to merge.
const MERGED_OF: u32 = 1_024;
/// The approximate greatest length of merged zeroes.
const LONGEST_ZEROES: Sectors = Sectors::new(64 << 11);

/// See the module.
#[derive(Debug)]
pub(crate) struct Effects {
    /// Whether members may be written to.
    writes: bool,
    /// By class.
    waiting: [VecDeque<EffectId>; 5],
    /// The length of all of these.
    queued: usize,
    /// For an effect that was handed out: the effects that were merged into it.
    merged: BTreeMap<EffectId, Vec<EffectId>>,
    /// The number of effects that the driver has not answered yet.
    flying: u32,
}

impl Effects {
    /// Without effects; `writes` says whether members may be written to.
    pub(crate) fn new(writes: bool) -> Effects {
        Effects { writes, waiting: Default::default(), queued: 0, merged: BTreeMap::new(), flying: 0 }
    }

    /// Queues `effect`, which carries out `action`.
    ///
    /// # Panics
    /// If it writes, but members were opened read-only.
    pub(super) fn push(&mut self, class: Class, effect: EffectId, action: Action) {
        assert!(self.writes || !action.changes(), "an array that is opened read-only writes nothing");
        self.waiting[class as usize].push_back(effect);
        self.queued += 1;
    }

    /// Whether no effect waits to be handed out.
    pub(crate) fn are_handed_out(&self) -> bool {
        self.queued == 0
    }

    /// The next effect of the first class that has any.
    pub(super) fn pop(&mut self) -> Option<EffectId> {
        let effect = self.waiting.iter_mut().find_map(VecDeque::pop_front)?;
        self.queued -= 1;
        self.flying += 1;
        Some(effect)
    }

    /// Merges waiting effects of `class` into `first` if they zero the ranges that follow it.
    /// Returns the length of the merged range.
    pub(super) fn merge_zeroes(
        &mut self,
        first: EffectId,
        class: Class,
        (member, at, length): (Member, Sector, Sectors),
        action: impl Fn(EffectId) -> Action,
    ) -> Sectors {
        let (mut end, mut merged, mut seen) = (at + length, Vec::new(), 0);
        self.waiting[class as usize].retain(|id| {
            seen += 1;
            if seen > MERGED_OF || end - at >= LONGEST_ZEROES {
                return true;
            }
            let next = match action(*id) {
                Action::Zero { member: other, at, length } if other == member && at == end => length,
                _ => return true,
            };
            end = end + next;
            merged.push(*id);
            false
        });
        self.queued -= merged.len();
        if !merged.is_empty() {
            self.merged.insert(first, merged);
        }
        end - at
    }

    /// `effect` is answered. Returns the effects that were merged into it.
    pub(crate) fn answered(&mut self, effect: EffectId) -> Vec<EffectId> {
        self.flying -= 1;
        self.merged.remove(&effect).unwrap_or_default()
    }

    /// Drops all effects that are not handed out yet.
    pub(crate) fn forget(&mut self) {
        self.waiting.iter_mut().for_each(VecDeque::clear);
        self.queued = 0;
    }

    /// Whether the driver has no effects.
    pub(crate) fn none_flies(&self) -> bool {
        self.flying == 0
    }
}
