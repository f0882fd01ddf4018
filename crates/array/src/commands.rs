//! Commands of an administrator.

use parlour_units::{Instant, Member, Slot};

use crate::admin_error::AdminError;
use crate::array::Array;
use crate::report::Repair;
use crate::roster::MemberInfo;

impl Array {
    /// Excludes the member in `slot` on an administrator's request. See [`Array::may_lose`].
    ///
    /// # Errors
    /// The array would lose data without it, or it is not there.
    pub fn fail(&mut self, now: Instant, slot: Slot) -> Result<(), AdminError> {
        self.rooms.command(now, |rooms| rooms.maintenance.fail_on_request(&mut rooms.core, slot))
    }

    /// Removes the failed member from `slot`; it may return later if it was whole. Returns the
    /// driver's number of the member, which is to be closed.
    ///
    /// # Errors
    /// It is active, or is not there.
    pub fn remove(&mut self, now: Instant, slot: Slot) -> Result<Option<Member>, AdminError> {
        self.rooms.command(now, |rooms| rooms.maintenance.remove(&mut rooms.core, slot))
    }

    /// Adds a spare, which takes the slot of a failed member by itself. Returns the number by which
    /// effects name it.
    ///
    /// # Errors
    /// It is too small, or there are too many.
    pub fn add_spare(&mut self, now: Instant, info: MemberInfo) -> Result<Member, AdminError> {
        self.rooms.command(now, |rooms| rooms.maintenance.add_spare(&mut rooms.core, info))
    }

    /// Puts a new member into `slot` and rebuilds it. A member that is still active there is failed
    /// first. If a returning member comes with its own identity (see [`Array::may_return`]), only
    /// regions that are out of sync are rebuilt. Returns the number by which effects name the new
    /// member.
    ///
    /// # Errors
    /// It is too small, or the array would lose data without the old one.
    pub fn replace(&mut self, now: Instant, slot: Slot, info: MemberInfo) -> Result<Member, AdminError> {
        self.rooms.command(now, |rooms| rooms.maintenance.replace(&mut rooms.core, slot, info))
    }

    /// Goes on with rebuilds that have stopped, or starts some onto spares. Returns the slots that
    /// are being rebuilt.
    ///
    /// # Errors
    /// There is nothing to rebuild, or nothing to rebuild onto.
    pub fn rebuild(&mut self, now: Instant) -> Result<Vec<Slot>, AdminError> {
        self.rooms.command(now, |rooms| rooms.maintenance.rebuild_on_request(&mut rooms.core))
    }

    /// Starts a scrub of the whole array.
    ///
    /// # Errors
    /// One is under way, or the organization has nothing to compare or no such repair.
    pub fn scrub(&mut self, now: Instant, repair: Repair) -> Result<(), AdminError> {
        self.rooms.command(now, |rooms| rooms.maintenance.begin_scrub(&mut rooms.core.cx, repair))
    }

    /// Cancels the scrub under way. Stripes that it has begun are finished; its report is kept.
    ///
    /// # Errors
    /// None is under way.
    pub fn cancel_scrub(&mut self, now: Instant) -> Result<(), AdminError> {
        self.rooms.command(now, |rooms| rooms.maintenance.end_scrub())
    }

    /// Checks that all data of the member in `slot` can be had from the others. [`Array::fail`] and
    /// [`Array::replace`] do not check this, since an administrator may accept the loss.
    ///
    /// # Errors
    /// What would be lost, and what to do about it.
    pub fn may_lose(&self, slot: Slot) -> Result<(), AdminError> {
        self.rooms.core.may_lose(slot)
    }

    /// Finishes running work, records a clean shutdown, and stops.
    pub fn stop(&mut self, now: Instant) {
        self.rooms.change(now, |rooms| rooms.core.begin_stop());
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use parlour_units::{Instant, Region, Sector, Sectors, Slot};

    use super::*;
    use crate::organization::{Consistency, Organization};
    use crate::{
        Assembly, BufferId, Candidate, Creation, Geometry, Identity, LogCreation, MemberInfo, NewArray,
        Opening, Operation, Outcome, Request, SUPERBLOCK, Superblock, Tag, Tuning, create,
    };

    const MEMBERS: u16 = 5;
    pub(crate) const LENGTH: Sectors = Sectors::new(20_480);

    pub(crate) fn identity(number: u8) -> Identity {
        Identity([number; 16])
    }

    fn geometry(groups: u16) -> Geometry {
        Geometry::create(&Creation {
            organization: Organization::named("parity-logging").expect("it is in the table").organization,
            checks: 1,
            members: MEMBERS * groups,
            groups,
            width: None,
            domains: None,
            spares: 0,
            unit: Sectors::new(16),
            block: Sectors::new(1),
            member_length: LENGTH,
            log: LogCreation { segment: Some(Sectors::new(32)), ..LogCreation::default() },
            consistency: Consistency::Bitmap,
        })
        .expect("a possible array")
    }

    /// A new, empty array whose members carry out every effect.
    pub(crate) fn opened() -> Array {
        opened_in_groups(1)
    }

    /// The same with so many parity groups, of five members each.
    pub(crate) fn opened_in_groups(groups: u16) -> Array {
        opened_as(&geometry(groups))
    }

    /// The same, of this geometry.
    pub(crate) fn opened_as(geometry: &Geometry) -> Array {
        let count = usize::from(geometry.members());
        let members: Vec<(Identity, Sectors)> =
            (0..count).map(|number| (identity(number as u8 + 10), LENGTH)).collect();
        let new = NewArray {
            array: identity(1),
            session: identity(2),
            members: members.clone(),
            name: "test".into(),
            created: 0,
            zeroed: true,
        };
        let images = create(geometry, &new);
        let at = |image: usize, area: (Sector, Sectors)| {
            let found = images[image].iter().find(|(at, _)| *at == area.0);
            found.map(|(_, block)| {
                let mut bytes = block.clone();
                bytes.resize(area.1.bytes().as_usize(), 0);
                bytes
            })
        };
        let banks = |area: &dyn Fn(usize) -> (Sector, Sectors)| -> Vec<[Option<Vec<u8>>; 2]> {
            (0..count).map(|member| [0, 1].map(|bank| at(member, area(bank)))).collect()
        };
        let candidate = |member: usize| {
            let copy = |slot| at(member, (slot, SUPERBLOCK)).expect("both copies are written");
            let [first, second] = Geometry::superblocks_at(LENGTH).map(copy);
            let superblock = Superblock::decode_copies(&first, &second);
            Candidate { name: format!("member {member}"), length: LENGTH, superblock }
        };
        let candidates: Vec<Candidate> = (0..count).map(candidate).collect();
        let info = |(identity, length): &(Identity, Sectors)| MemberInfo {
            identity: *identity,
            length: *length,
            unmaps: true,
        };
        let opening = Opening {
            assembly: Assembly::new(&candidates).expect("it is whole"),
            members: members.iter().map(info).map(Some).collect(),
            spares: Vec::new(),
            bitmaps: banks(&|bank| (geometry.bitmap_at(bank), geometry.bitmap_length())),
            tables: banks(&|bank| (geometry.table_at(bank), geometry.table_length())),
            bad_block_logs: Vec::new(),
            commits: Vec::new(),
            session: identity(3),
            read_only: false,
            force: false,
            tuning: Tuning::default(),
        };
        let mut array = Array::open(Instant::ZERO, opening).expect("it can be opened");
        run(&mut array);
        array
    }

    pub(crate) fn run(array: &mut Array) {
        while let Some(effect) = array.poll_effect() {
            array.complete(Instant::ZERO, effect.id, Outcome::Done);
        }
    }

    /// Submits a write of the first sector.
    pub(crate) fn submit_write(array: &mut Array) {
        let buffer: Option<BufferId> = array.reserve(Sectors::new(1));
        let operation = Operation::Write { durable: false };
        let request = Request { tag: Tag(1), operation, at: Sector::ZERO, length: Sectors::new(1), buffer };
        array.submit(Instant::ZERO, request);
    }

    /// An array with one record of region 0 in memory.
    pub(crate) fn written() -> Array {
        let mut array = opened();
        submit_write(&mut array);
        run(&mut array);
        assert_eq!(array.poll_completion().map(|completion| completion.result), Some(Ok(())));
        assert_eq!(array.log_status().expect("it logs").buffers, 1);
        array
    }

    #[test]
    fn what_is_in_memory_goes_to_the_log_before_the_array_stops() {
        let mut array = written();
        array.stop(Instant::ZERO);
        run(&mut array);
        assert_eq!((array.mode(), array.rooms.core.durable.is_clean()), (crate::Mode::Stopped, true));
        assert_eq!(array.rooms.core.cx.counters.appends, 1);
    }

    /// Regression test. A region's log is full, and a holder of its parity never releases it: the
    /// region can be neither appended nor reintegrated. The stop used to ask for both without end.
    #[test]
    fn a_stop_ends_where_a_region_can_never_be_appended_and_is_not_called_clean() {
        let mut array = written();
        array.rooms.core.logs.block(Region::new(0));
        array.stop(Instant::ZERO);
        run(&mut array);
        assert_eq!((array.mode(), array.rooms.core.durable.is_clean()), (crate::Mode::Stopped, false));
        assert_eq!(array.rooms.core.cx.roster.state(Slot::new(0)), crate::roster::SlotState::Active);
    }
}
