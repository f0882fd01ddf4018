//! The parameters of a seed's array. All are random, and extreme values are more frequent than in
//! practice.

use parlour_array::organization::{Checks, Consistency, NAMED, NamedOrganization};
use parlour_array::{
    Creation, Cylinder, Geometry, LargeWrite, LogCreation, LogFlush, LogPool, StoredGeometry, Tuning,
};
use parlour_units::{Duration, Sectors, Slot};

use crate::promises::Promises;
use crate::random::Random;

/// The parameters of an array, and of its hosts.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) row: NamedOrganization,
    pub(crate) creation: Creation,
    /// The geometry that `creation` gives.
    pub(crate) stored: StoredGeometry,
    pub(crate) tuning: Tuning,
    /// The byte that fills members at first.
    pub(crate) fill: u8,
    pub(crate) load: Load,
}

/// The hosts' load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// The mean time between two requests.
    pub(crate) gap: Duration,
    /// The weights of reads, writes, durable writes, zeroes, trims and flushes.
    pub(crate) mix: [u64; 6],
    /// Most requests go to this many first sectors.
    pub(crate) hot: u64,
    /// Most requests are at most this many blocks long.
    pub(crate) short: u64,
    /// Some requests are this many blocks long.
    pub(crate) long: u64,
}

/// Tells the choice of a consistency for parity in its place from other choices that are drawn
/// apart.
const IN_PLACE: u64 = 0x6a6f_7572_6e61_6c00;
/// So are the lanes.
const LANES: u64 = 0x6c61_6e65_7300;
/// So are vacant slots of journal devices, and the number of devices on which an entry stands.
const VACANT: u64 = 0x7661_6361_6e74_0000;
/// So is the number of check units.
const CHECKS: u64 = 0x6368_6563_6b73_0000;
/// So is the width of declustered stripes.
const WIDTH: u64 = 0x7769_6474_6800_0000;

/// The first organizations of the table, from which one is drawn if none is given. Drawing later
/// ones too would change the runs of existing seeds.
const DRAWN: usize = 8;

impl Options {
    /// Draws an array, with the organization `row` if one is given.
    pub(crate) fn draw(
        random: &mut Random,
        row: Option<NamedOrganization>,
        consistency: Option<Consistency>,
    ) -> Options {
        loop {
            let row = row.unwrap_or_else(|| random.pick(&NAMED[..DRAWN]));
            let mut creation = draw_creation(random, row);
            let mut tuning = draw_tuning(random, creation.block.get(), creation.log.segment);
            let fill = random.pick(&[0, 0, 0x5A]);
            let load = draw_load(random);
            if row.organization.is_logged() {
                let both = [Consistency::Bitmap, Consistency::Journal, Consistency::Journal];
                creation.consistency = consistency.unwrap_or_else(|| random.pick(&both));
            } else if row.organization.takes(Consistency::Journal) {
                let mut apart = Random::new(random.clone().next() ^ IN_PLACE);
                let both = [Consistency::Bitmap, Consistency::Journal];
                creation.consistency = consistency.unwrap_or_else(|| apart.pick(&both));
            }
            draw_apart(random, &mut tuning, &mut creation);
            draw_checks(&mut Random::new(random.clone().next() ^ CHECKS), row, &mut creation);
            draw_width(&mut Random::new(random.clone().next() ^ WIDTH), row, &mut creation);
            // An impossible array is drawn again.
            if let Ok(geometry) = Geometry::create_on(&creation, cylinder(creation.unit)) {
                return Options { row, creation, stored: *geometry.stored(), tuning, fill, load };
            }
        }
    }

    pub(crate) fn geometry(&self) -> Geometry {
        Geometry::from_stored(self.stored)
    }

    /// The number of slots of members and journal devices.
    pub(crate) fn slots(&self) -> u16 {
        self.creation.members + self.stored.journal_slots
    }

    /// The number of these that are not vacant at first.
    pub(crate) fn devices(&self) -> u16 {
        self.creation.members + self.creation.log.journals
    }

    /// The length of what stands in `slot`. A journal device is as short as it can be.
    pub(crate) fn length_of(&self, geometry: &Geometry, slot: Slot) -> Sectors {
        match geometry.is_for_journal(slot) {
            true => geometry.least_length(slot),
            false => self.creation.member_length,
        }
    }

    pub(crate) fn promises(&self) -> Promises {
        Promises::of(self.creation.consistency)
    }

    /// A description in one line, for people.
    pub(crate) fn describe(&self) -> String {
        let Creation {
            members, groups, checks, width, domains, spares, unit, block, member_length, log, ..
        } = &self.creation;
        let mut width = width.map_or_else(String::new, |width| format!(" in stripes of {width} units"));
        if let Some(domains) = domains {
            width += &format!(" over {domains} failure domains");
        }
        if *spares > 0 {
            width += " with a distributed spare";
        }
        format!(
            "{} ({}): {members} members of {}, {groups} groups, {checks} check units{width}, unit {}, block {}, log segment {}, \
             sublogs {}, written back from {}, {} lanes, {} journal devices in {} slots, {} for an entry, scratch {}, log memory {}, cache {}, filled with {:#04x}",
            self.row.name,
            self.creation.consistency.name(),
            member_length.bytes(),
            unit.bytes(),
            block.bytes(),
            log.segment.map_or_else(|| "none".to_owned(), |segment| segment.bytes().to_string()),
            log.sublogs.unwrap_or(0),
            log.writes.map_or_else(|| "nothing".to_owned(), |length| length.bytes().to_string()),
            self.stored.lanes,
            log.journals,
            self.stored.journal_slots,
            self.stored.journal_copies,
            self.tuning.scratch_memory.bytes(),
            self.tuning.log_memory.bytes(),
            self.tuning.preread_cache.bytes(),
            self.fill,
        )
    }
}

/// The cylinders of members, for layouts that need them.
pub(crate) fn cylinder(unit: Sectors) -> Cylinder {
    Cylinder { track: unit.get() * 3, tracks: 4 }
}

fn draw_creation(random: &mut Random, row: NamedOrganization) -> Creation {
    let members = random.pick(&[2, 3, 3, 3, 4, 4, 5, 6]);
    let block = random.pick(&[1, 1, 1, 8]);
    let unit = match block {
        1 => random.pick(&[3, 7, 8, 16, 16, 32, 64]),
        _ => random.pick(&[8, 16, 40, 64]),
    };
    let segment = random.pick(&[8, 16, 16, 32, 64]) * block;
    Creation {
        organization: row.organization,
        checks: row.checks.of(members),
        members,
        groups: if members == 6 { random.pick(&[1, 2]) } else { 1 },
        width: None,
        domains: None,
        spares: 0,
        unit: Sectors::new(unit),
        block: Sectors::new(block),
        member_length: Sectors::new(2_048 * random.pick(&[3, 3, 3, 3, 3, 3, 3, 4, 4, 6])),
        log: LogCreation {
            segment: Some(Sectors::new(segment)),
            sublogs: random.pick(&[None, Some(1), Some(1), Some(2)]),
            ratio: random.pick(&[None, Some(0.25), Some(1.0)]),
            regions: Some(u32::from(members) * random.pick(&[1, 2, 4])),
            track: None,
            writes: None,
            lanes: None,
            journals: 0,
            journal_slots: None,
            journal_copies: None,
        },
        consistency: Consistency::Bitmap,
    }
}

fn draw_tuning(random: &mut Random, block: u64, segment: Option<Sectors>) -> Tuning {
    let segment = segment.map_or(32, Sectors::get);
    let sectors = |random: &mut Random, of: &[u64]| Sectors::new(random.pick(of));
    let base = Tuning::default();
    Tuning {
        host_memory: sectors(random, &[64, 512, 1 << 17]),
        scratch_memory: sectors(random, &[8, 64, 1 << 17, 1 << 17]),
        slice: sectors(random, &[block * 3, 16, 64, 512]),
        longest_access: sectors(random, &[32, 2_048]),
        log_memory: sectors(random, &[segment * 2, segment * 3, 1 << 17, 1 << 17]),
        log_pool: random.pick(&[LogPool::Global, LogPool::Global, LogPool::Static]),
        log_flush: random.pick(&[None, None, Some(LogFlush::WhenFull), Some(LogFlush::Watermark(3))]),
        large_write: random.pick(&[None, Some(LargeWrite::Overwrite), Some(LargeWrite::Cancel)]),
        reintegration_buffers: random.pick(&[1, 2]),
        reintegration_memory: sectors(random, &[40, 96, 1 << 17]),
        reintegration_gap: sectors(random, &[0, 32]),
        live_records: random.pick(&[20, 200, 4 << 20]),
        preread_cache: sectors(random, &[0, 40, 600]),
        error_threshold: random.pick(&[2, 16, 1_000]),
        clean_after: random.pick(&[1, 20, 5_000].map(Duration::from_millis)),
        maintenance_depth: random.pick(&[1, 4, 16]),
        maintenance_depth_busy: random.pick(&[1, 4]),
        checkpoint: sectors(random, &[64, 300, 1 << 19]),
        ..base
    }
}

/// Draws parameters that were added later from a separate generator, so that the runs of existing
/// seeds do not change.
fn draw_apart(random: &Random, tuning: &mut Tuning, creation: &mut Creation) {
    let mut apart = Random::new(random.clone().next());
    let often = [2, 50, 1_000].map(|milliseconds| Some(Duration::from_millis(milliseconds)));
    tuning.fence = apart.pick(&[None, None, None, often[0], often[1], often[2]]);
    tuning.session_records = apart.pick(&[1 << 38, 1 << 38, 8, 100]);
    if apart.chance(MANY_REGIONS) {
        let block = creation.block.get();
        creation.member_length = Sectors::new(2_048 * apart.pick(&[24, 48]));
        creation.unit = Sectors::new(8);
        creation.log = LogCreation {
            segment: Some(Sectors::new(8 * block)),
            sublogs: Some(1),
            ratio: None,
            regions: Some(u32::from(creation.members) * apart.pick(&[100, 400])),
            track: None,
            writes: None,
            lanes: None,
            journals: 0,
            journal_slots: None,
            journal_copies: None,
        };
    }
    tuning.segment_gap = apart.pick(&[1, 8, 1 << 20].map(Sectors::new));
    if creation.consistency.is_journal() {
        let lengths = [None, None, Some(512), Some(1_024)];
        creation.log.writes = apart.pick(&lengths).map(Sectors::new);
        let mut of_lanes = Random::new(apart.clone().next() ^ LANES);
        creation.log.lanes = of_lanes.pick(&[None, None, Some(1), Some(2), Some(3), Some(4)]);
        let devices = [0, 0, 0, 0, 0, 0, 2, 3];
        creation.log.journals = apart.pick(&devices);
        draw_journal_slots(&mut Random::new(apart.clone().next() ^ VACANT), &mut creation.log);
        tuning.destage_depth = apart.pick(&[16, 16, 4, 1]);
    }
}

/// Where a stripe may have several check units, some arrays have one or two more than usual, each
/// with a member more in each group, and one more for a further copy of a log. Where their number
/// follows from that of the members, there are at least as many members as it takes.
fn draw_checks(random: &mut Random, row: NamedOrganization, creation: &mut Creation) {
    let organization = creation.organization;
    if row.checks == Checks::Grid {
        let members = row.least_members() + random.pick(&[0, 0, 1, 1, 2, 5]);
        (creation.members, creation.checks) = (members * creation.groups, row.checks.of(members));
        return;
    }
    let has_choice = organization.checks().contains(&(creation.checks + 1));
    if organization.keeps_parity() && has_choice {
        let logged = organization.is_logged();
        creation.checks += if logged { random.pick(&[0, 0, 0, 0, 1, 2]) } else { random.pick(&[0, 0, 1, 2]) };
        let members = if logged { 2 } else { 1 };
        creation.members += (creation.checks - 1) * creation.groups * members;
    }
}

/// Some arrays whose parity may be declustered have narrower stripes, and up to four members more.
fn draw_width(random: &mut Random, row: NamedOrganization, creation: &mut Creation) {
    let Some(declustered) = creation.organization.layout.declustered() else { return };
    if !random.chance(DECLUSTERED) {
        return;
    }
    creation.members += creation.groups * random.pick(&[0, 1, 2, 4]);
    let members = creation.members / creation.groups;
    let in_grid = row.checks == Checks::Grid;
    let least = if in_grid { row.least_members() } else { creation.checks + 2 };
    let most = members.saturating_sub(1);
    if least <= most {
        creation.organization.layout = declustered;
        let width = random.pick(&[least, most, (least + most) / 2]);
        creation.width = Some(width);
        creation.checks = if in_grid { row.checks.of(width) } else { creation.checks };
        draw_domains(random, creation);
        draw_spares(random, creation);
    }
}

/// Half of those that have room for it have a distributed spare.
fn draw_spares(random: &mut Random, creation: &mut Creation) {
    let members = creation.members / creation.groups;
    let most = creation.tolerance();
    let room = creation.domains.map_or(members, |domains| domains * most.min(members / domains));
    let fits = creation.width.is_some_and(|width| width < room);
    if random.chance(2) && fits {
        creation.spares = 1;
    }
}

/// Some of the narrower stripes are spread over failure domains of several members.
fn draw_domains(random: &mut Random, creation: &mut Creation) {
    let (members, most) = (creation.members / creation.groups, creation.tolerance());
    let room = |domains: u16| domains * most.min(members / domains);
    let possible = (most + 1..members).filter(|domains| {
        members.is_multiple_of(*domains) && creation.width.is_some_and(|width| width <= room(*domains))
    });
    let possible: Vec<u16> = possible.collect();
    if !possible.is_empty() && random.chance(2) {
        creation.domains = Some(random.pick(&possible));
    }
}

/// One array in this many is declustered, if it may be.
const DECLUSTERED: u64 = 3;

/// Slots in which journal devices may be put later. With write-through, one device may be all on
/// which an entry stands: as many as may be lost.
fn draw_journal_slots(random: &mut Random, log: &mut LogCreation) {
    if log.journals == 0 && random.chance(8) || log.journals > 0 && random.chance(2) {
        log.journal_slots = Some(log.journals + random.pick(&[1, 2]));
    }
    if log.writes.is_none() && random.chance(4) {
        log.journal_copies = Some(1);
        log.journals = log.journals.min(random.pick(&[1, 3]));
    }
}

/// One array in this many is larger. If it has logs, it has hundreds or thousands of regions, each
/// of which is written only a little.
const MANY_REGIONS: u64 = 256;

fn draw_load(random: &mut Random) -> Load {
    Load {
        gap: Duration::from_micros(random.pick(&[20, 100, 400, 2_000])),
        mix: [
            random.pick(&[1, 3, 6]),
            random.pick(&[4, 8, 12]),
            random.pick(&[0, 1, 4]),
            random.pick(&[0, 1]),
            random.pick(&[0, 0, 1]),
            random.pick(&[0, 1, 3]),
        ],
        hot: random.pick(&[16, 64, 600]),
        short: random.pick(&[1, 4, 16]),
        long: random.pick(&[64, 200, 500]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn some_arrays_have_hundreds_of_regions_and_some_thousands() {
        let logged = NAMED.iter().find(|row| row.organization.is_logged());
        let row = *logged.expect("some organization logs parity");
        let regions = |seed| {
            let options = Options::draw(&mut Random::new(seed), Some(row), None);
            options.geometry().layout().region_count()
        };
        let many: Vec<u32> = (0..4_000).map(regions).filter(|count| *count >= 200).collect();
        let thousands = many.iter().filter(|count| **count >= 1_000).count();
        assert!(many.len() > 5 && thousands > 1, "{many:?}");
    }
}
