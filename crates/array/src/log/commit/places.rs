//! The members, or journal devices, on which an entry stands.

use parlour_units::Slot;

use crate::context::Context;
use crate::durable::Durable;
use crate::log::Logs;
use crate::log::commit::logs::Stream;
use crate::log::lanes::Lanes;
use crate::log::ring::Ring;
use crate::roster::SlotState;

/// The slots to whose members the next entry goes: f + 1 of one group, in as many failure domains,
/// where the code survives f losses in a group; fewer, if fewer are active. Journal devices take
/// it, if they are enough: as many as the geometry names. Of a group, those take it that have the
/// least to do; among equals, those whose heads are nearest to the commit log.
///
/// Members in `full` have no space for an entry: they are left out, if others are enough.
pub(in crate::log) fn places(cx: &Context, durable: &Durable, full: &[Slot]) -> Vec<Slot> {
    let log = cx.geometry.commit_log().0;
    let load = |slot: Slot| {
        let member = cx.roster.member_at(slot)?;
        let (queue, head) = cx.roster.queue(member);
        Some((full.contains(&slot), queue, head.get().abs_diff(log.get()), slot))
    };
    let of_group = |group: u16| {
        let mut loads: Vec<(bool, u32, u64, Slot)> = active(cx, durable, group).filter_map(load).collect();
        loads.sort_unstable();
        let count = copies(cx, group);
        (group, first_apart(cx, (loads, Vec::new()), count, |load| load.3))
    };
    // A group with fewer members than an entry needs is the last choice, but for an empty one.
    let rank = |(group, loads): &(u16, Vec<(bool, u32, u64, Slot)>)| {
        let any_full = loads.iter().any(|load| load.0);
        let on_devices = loads.iter().any(|(.., slot)| cx.geometry.is_for_journal(*slot));
        let lacking = copies(cx, *group) - loads.len();
        // (Devices that are too few are the last choice: an opening does without them.)
        let choice = match (on_devices, lacking == 0) {
            (true, true) => 0,
            (false, _) => 1,
            (true, false) => 2,
        };
        let longest_queue = loads.iter().map(|load| load.1).max();
        (loads.is_empty(), lacking, any_full, choice, longest_queue)
    };
    let groups = (0..cx.geometry.commit_groups()).map(of_group);
    let best = groups.min_by_key(rank);
    best.map_or_else(Vec::new, |(_, loads)| loads.into_iter().map(|(.., slot)| slot).collect())
}

/// Whether there is a member for the next entry.
pub(in crate::log) fn is_any_left(cx: &Context, durable: &Durable) -> bool {
    let left = |group| active(cx, durable, group).any(|slot| cx.roster.member_at(slot).is_some());
    (0..cx.geometry.commit_groups()).any(left)
}

/// Whether the next entry goes to no member in `full`.
pub(super) fn have_space(cx: &Context, durable: &Durable, full: &[Slot]) -> bool {
    places(cx, durable, full).iter().all(|slot| !full.contains(slot))
}

/// The first `count` of `list` whose slots are in different failure domains, and not in one of
/// `taken`.
fn first_apart<T>(
    cx: &Context,
    (list, mut taken): (impl IntoIterator<Item = T>, Vec<u16>),
    count: usize,
    slot: impl Fn(&T) -> Slot,
) -> Vec<T> {
    let is_apart = |one: &T| {
        let domain = cx.geometry.domain_of(slot(one));
        let apart = !taken.contains(&domain);
        taken.push(domain);
        apart
    };
    list.into_iter().filter(is_apart).take(count).collect()
}

/// The number of members, or journal devices, of `group` on which an entry stands.
fn copies(cx: &Context, group: u16) -> usize {
    usize::from(cx.geometry.copies_in(group))
}

/// The slots of a group whose members are believed after a crash.
pub(super) fn active(cx: &Context, durable: &Durable, group: u16) -> impl Iterator<Item = Slot> {
    let slots = cx.geometry.commit_slots_of(group);
    slots.filter(|slot| durable.known_state(cx, *slot) == SlotState::Active)
}

/// Where an entry that stands in `slots` is to stand as well.
pub(super) fn further_places(cx: &Context, durable: &Durable, slots: &[Slot]) -> Vec<Slot> {
    let Some(group) = slots.first().map(|slot| cx.geometry.commit_group_of(*slot)) else {
        return Vec::new();
    };
    let lacking = copies(cx, group).saturating_sub(count_active(cx, durable, group, slots));
    if lacking == 0 {
        return Vec::new();
    }
    let taken = active_of(cx, durable, group, slots).map(|slot| cx.geometry.domain_of(slot)).collect();
    let others = active(cx, durable, group).filter(|slot| !slots.contains(slot));
    first_apart(cx, (others, taken), lacking, |slot| *slot)
}

/// Those of `slots` in this group whose members are believed after a crash. (Copies in other groups
/// do not count: as many members may be lost of each.)
fn active_of(cx: &Context, durable: &Durable, group: u16, slots: &[Slot]) -> impl Iterator<Item = Slot> {
    let counts = move |slot: &Slot| {
        cx.geometry.commit_group_of(*slot) == group && durable.known_state(cx, *slot) == SlotState::Active
    };
    slots.iter().copied().filter(counts)
}

/// The number of their failure domains.
fn count_active(cx: &Context, durable: &Durable, group: u16, slots: &[Slot]) -> usize {
    cx.geometry.count_domains(active_of(cx, durable, group, slots))
}

impl Logs {
    /// The newest entry of records that stands on fewer members than it could: what it holds is to
    /// be stored elsewhere.
    pub(super) fn last_exposed(&mut self, cx: &Context, durable: &Durable) -> Option<u64> {
        let streams = self.commits.streams.as_mut()?;
        if std::mem::take(&mut streams.unchecked) {
            let newest = |lanes: &Lanes| {
                let exposed = lanes.places().filter(|(_, slots)| is_exposed(cx, durable, slots));
                // Nothing is known of entries that are forgotten.
                exposed.map(|(number, _)| number).max().unwrap_or(0).max(lanes.lagging())
            };
            streams.all_mut().iter_mut().for_each(|stream| stream.exposed = newest(&stream.lanes));
        }
        streams.exposed_record()
    }

    /// Whether all entries that would be found after a crash stand on enough members for one more
    /// that joins, and are found without the journal devices that are gone. Members whose end of
    /// the rebuild is not recorded yet are about to count too.
    pub(crate) fn entries_are_protected(&mut self, cx: &Context, durable: &Durable) -> bool {
        self.last_exposed(cx, durable);
        let Some(streams) = &self.commits.streams else { return true };
        let enough = |slots: &[Slot]| {
            slots.first().is_some_and(|slot| {
                let group = cx.geometry.commit_group_of(*slot);
                let have = count_active(cx, durable, group, slots);
                let whole = |slot: &Slot| cx.roster.state(*slot) == SlotState::Active;
                let whole = cx.geometry.count_domains(cx.geometry.commit_slots_of(group).filter(whole));
                have >= copies(cx, group).min(whole) && !is_exposed(cx, durable, slots)
            })
        };
        let apart = streams.apart;
        let protected = |Stream { lanes, exposed, .. }: &Stream| {
            let mut places = lanes.places().map(|(_, slots)| slots);
            let known = |ring: &Ring| ring.last() > apart && enough(ring.last_slots());
            !lanes.would_be_found(*exposed) && lanes.all().iter().all(known) && places.all(enough)
        };
        streams.all().iter().all(protected)
    }

    /// Members have come or gone: entries may stand on fewer of them than they could.
    pub(crate) fn look_for_exposed(&mut self) {
        if let Some(streams) = &mut self.commits.streams {
            streams.unchecked = true;
            for stream in streams.all_mut() {
                stream.stuck = false;
                stream.lanes.try_marks();
            }
        }
    }
}

/// Whether an entry that stands in `slots` stands on fewer members than it could. One on journal
/// devices could stand on members, of which fewer would be lacking.
pub(super) fn is_exposed(cx: &Context, durable: &Durable, slots: &[Slot]) -> bool {
    let Some(first) = slots.first() else { return true };
    let elsewhere = || {
        let have = slots.iter().filter(|slot| durable.known_state(cx, **slot) == SlotState::Active).count();
        let lacking = |group: u16, have: usize| copies(cx, group).saturating_sub(have);
        let groups = 0..cx.geometry.commit_groups();
        let least =
            groups.map(|group| lacking(group, cx.geometry.count_domains(active(cx, durable, group)))).min();
        least.is_some_and(|least| least < lacking(cx.geometry.commit_group_of(*first), have))
    };
    !further_places(cx, durable, slots).is_empty() || cx.geometry.is_for_journal(*first) && elsewhere()
}

#[cfg(test)]
mod tests {
    use parlour_units::Sectors;

    use super::*;
    use crate::commands::tests::{LENGTH, opened_as, opened_in_groups};
    use crate::geometry::{Creation, Geometry, LogCreation};
    use crate::organization::{Consistency, Organization};

    /// Each group may lose a member: an entry on one member of each could be lost.
    #[test]
    fn an_entry_needs_all_its_copies_in_one_group() {
        let array = opened_in_groups(2);
        let core = &array.rooms.core;
        let further = |slots: [u16; 2]| further_places(&core.cx, &core.durable, &slots.map(Slot::new));
        assert_eq!(further([0, 2]), [], "two of the first group");
        assert_eq!(further([0, 5]), [Slot::new(1)], "one of each group");
    }

    /// Of two copies in one failure domain one counts.
    #[test]
    fn an_entry_needs_its_copies_in_different_failure_domains() {
        let raid6 = Organization::named("raid6").expect("it is in the table").organization;
        let layout = raid6.layout.declustered().expect("its parity moves");
        let creation = Creation {
            organization: Organization { layout, ..raid6 },
            checks: 2,
            members: 12,
            groups: 1,
            width: Some(6),
            domains: Some(3),
            spares: 0,
            unit: Sectors::new(16),
            block: Sectors::new(1),
            member_length: LENGTH,
            log: LogCreation::default(),
            consistency: Consistency::Bitmap,
        };
        let array = opened_as(&Geometry::create(&creation).expect("a possible array"));
        let core = &array.rooms.core;
        let further = |slots: [u16; 3]| further_places(&core.cx, &core.durable, &slots.map(Slot::new));
        assert_eq!(further([3, 7, 11]), [], "one of each domain");
        assert_eq!(further([0, 3, 1]), [Slot::new(2)], "two of the first");
        assert_eq!(further([1, 4, 7]), [Slot::new(0), Slot::new(2)], "three of the second");
        let slots = [0, 3, 6, 4, 1, 5].map(Slot::new);
        let apart = first_apart(&core.cx, (slots, Vec::new()), 3, |slot| *slot);
        assert_eq!(apart, [0, 4, 5].map(Slot::new));
    }
}
