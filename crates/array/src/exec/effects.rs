//! Effects that wait to be handed out, by class, and those that the driver has.

use std::collections::{BTreeMap, VecDeque};

use parlour_units::{Member, Sector, Sectors};

use crate::effect::{Action, Class, EffectId};

/// Of so many effects that wait, those are looked for that are handed out together, …
const MERGED_OF: u32 = 1_024;
/// … and of what becomes zeroes, about so much goes into one.
const LONGEST_ZEROES: Sectors = Sectors::new(64 << 11);

/// See the module.
#[derive(Debug)]
pub(crate) struct Effects {
    /// Whether members may be written to.
    writes: bool,
    /// By class.
    waiting: [VecDeque<EffectId>; 5],
    /// What was handed out as a part of another effect, by that one.
    merged: BTreeMap<EffectId, Vec<EffectId>>,
    /// Effects that the driver has and did not answer.
    flying: u32,
}

impl Effects {
    /// None yet; `writes` says whether members may be written to.
    pub(crate) fn new(writes: bool) -> Effects {
        Effects { writes, waiting: Default::default(), merged: BTreeMap::new(), flying: 0 }
    }

    /// Queues `effect`, which is to do `action`.
    ///
    /// # Panics
    /// If it writes, and members were opened for reading only.
    pub(super) fn push(&mut self, class: Class, effect: EffectId, action: Action) {
        assert!(self.writes || !action.changes(), "an array that is opened read-only writes nothing");
        self.waiting[class as usize].push_back(effect);
    }

    /// The next effect of the first class that has one.
    pub(super) fn pop(&mut self) -> Option<EffectId> {
        let effect = self.waiting.iter_mut().find_map(VecDeque::pop_front)?;
        self.flying += 1;
        Some(effect)
    }

    /// What waits in `class` and becomes zeroes behind the range of the effect `first` is handed
    /// out with it. Returns how much that is together.
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
        if !merged.is_empty() {
            self.merged.insert(first, merged);
        }
        end - at
    }

    /// `effect` is answered, with all that was handed out as a part of it: those are returned.
    pub(crate) fn answered(&mut self, effect: EffectId) -> Vec<EffectId> {
        self.flying -= 1;
        self.merged.remove(&effect).unwrap_or_default()
    }

    /// What is not handed out yet never is.
    pub(crate) fn forget(&mut self) {
        self.waiting.iter_mut().for_each(VecDeque::clear);
    }

    /// Whether the driver has none.
    pub(crate) fn none_flies(&self) -> bool {
        self.flying == 0
    }
}
