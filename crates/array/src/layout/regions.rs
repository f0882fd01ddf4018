//! Regions: each is a small array with its own parity log (Stodolsky §2.1, figures 8 and 9).
//!
//! In a region, some members hold the log and no data of the region; the others hold its data. The
//! log consists of `sublogs`, and there are as many copies of each as units of a stripe may be lost
//! (Stodolsky §9, figure 29), each on a member of its own. Check units are striped block by block:
//! over the data members alone when there is one sublog (figure 8), over all members when there are
//! more (figure 9), never on a member that holds another unit of the same stripe. (The paper's
//! figures have one check unit in each stripe: the parity.) On each member a region is one piece:
//! first its share of the parity, contiguous, then its share of the data or a sublog. The roles
//! rotate from region to region, so that all members have the same load if the number of regions is
//! a multiple of the number of members.
//!
//! The assignment of stripes to members repeats after a *period* of stripes; tables cover one
//! period.

use parlour_units::{Sectors, Unit};
use serde::{Deserialize, Serialize};

use super::rule::{Facts, Placing, Room, Stripes};

/// Regions, each with parity and a log. (They have a least number of members of their own, which
/// depends on their sublogs.)
pub(super) const REGIONS: Facts = Facts {
    stripes: Stripes::ManyDataUnits,
    room: Room::Logs,
    least_placeable: 1,
    copies_are_far: false,
    placing: Placing::Regions,
};

/// The sizes that define a group's regions; kept in the superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionShape {
    /// Regions in each group.
    pub regions: u32,
    /// Stripes in a region.
    pub stripes: u32,
    /// Sublogs of a region (L).
    pub sublogs: u16,
    /// Segments in a sublog.
    pub sublog_segments: u32,
    /// Sectors of a log segment (K tracks, or a configured size).
    pub segment: u64,
    /// Shares are rounded up to a multiple of this many sectors: a track, or the block size.
    pub grain: u64,
}

/// The wishes from which a [`RegionShape`] is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShapeRequest {
    /// Members in the group (N).
    pub members: u16,
    /// Check units in each stripe.
    pub checks: u16,
    /// Copies of each log.
    pub log_copies: u16,
    /// The stripe unit.
    pub unit: Sectors,
    /// Each member's data area.
    pub length: Sectors,
    /// Sublogs of a region (L).
    pub sublogs: u16,
    /// A log segment (K tracks).
    pub segment: Sectors,
    /// Length of the log over length of the parity (A).
    pub log_ratio: f64,
    /// About how many regions (B).
    pub regions: u32,
    /// Round shares up to this: a track for whole tracks (§2.4), else the block size.
    pub grain: Sectors,
}

/// What protects the data of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Protection {
    /// Check units in each stripe.
    pub(crate) checks: u16,
    /// Copies of its log.
    pub(crate) log_copies: u16,
}

impl Protection {
    /// The number of members that hold a log of so many sublogs.
    fn log_members(self, sublogs: u16) -> u16 {
        sublogs * self.log_copies
    }
}

/// The place of one unit of a stripe in the period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spot {
    /// The role of the member: log members first, then data members.
    role: u16,
    /// The number of units of the same kind (data or check units) that earlier stripes of the
    /// period have there.
    rank: u32,
}

/// The regions of a group.
#[derive(Clone, Debug)]
pub struct Regions {
    shape: RegionShape,
    members: u16,
    protection: Protection,
    unit: Sectors,
    period: u32,
    /// By stripe in the period, then by unit.
    spots: Vec<Spot>,
    /// By role, then rank: the stripe in the period. Data and parity have separate tables.
    data_at: Vec<Vec<u32>>,
    parity_at: Vec<Vec<u32>>,
    /// By role.
    parity_share: Vec<Sectors>,
    data_share: Sectors,
    sublog: Sectors,
    /// By member, then region modulo `members`: the piece's start within a cycle of `members`
    /// regions.
    starts: Vec<Sectors>,
    cycle: Sectors,
}

/// The content of a place of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Unit { row: u64, unit: Unit, offset: Sectors },
    Log { region: u32, sublog: u16, copy: u16, offset: Sectors },
    Unused,
}

impl Regions {
    /// Regions of this shape on so many members.
    pub(crate) fn new(shape: RegionShape, members: u16, protection: Protection, unit: Sectors) -> Regions {
        let pattern = Pattern::new(members, shape.sublogs, protection);
        let grain = Sectors::new(shape.grain);
        let share = |per_period: &[Vec<u32>], role: usize| {
            let ranks = &per_period[role];
            let whole = u64::from(shape.stripes / pattern.period) * ranks.len() as u64;
            let rest = ranks.iter().filter(|stripe| **stripe < shape.stripes % pattern.period).count() as u64;
            (unit * (whole + rest)).round_up(grain)
        };
        let logs = usize::from(protection.log_members(shape.sublogs));
        let roles = usize::from(members);
        let widest = |from: usize, to: usize, of: &[Vec<u32>]| {
            (from..to).map(|role| share(of, role)).max().unwrap_or(Sectors::ZERO)
        };
        let log_parity = widest(0, logs, &pattern.parity_at);
        let data_parity = widest(logs, roles, &pattern.parity_at);
        let mut parity_share = vec![log_parity; logs];
        parity_share.resize(roles, data_parity);
        let data_share = widest(logs, roles, &pattern.data_at);
        let sublog = Sectors::new(shape.segment) * u64::from(shape.sublog_segments);
        let mut regions = Regions {
            shape,
            members,
            protection,
            unit,
            period: pattern.period,
            spots: pattern.spots,
            data_at: pattern.data_at,
            parity_at: pattern.parity_at,
            parity_share,
            data_share,
            sublog,
            starts: Vec::new(),
            cycle: Sectors::ZERO,
        };
        regions.fill_starts();
        regions
    }

    /// Adds up the pieces of a cycle of `members` regions, in which each member has each role once.
    fn fill_starts(&mut self) {
        for member in 0..self.members {
            let mut at = Sectors::ZERO;
            for region in 0..u32::from(self.members) {
                self.starts.push(at);
                at += self.piece(self.role(region, member));
            }
            self.cycle = at;
        }
    }

    /// The sizes.
    pub fn shape(&self) -> &RegionShape {
        &self.shape
    }

    /// The number of data units in a stripe: N − L − 1 with one check unit.
    pub fn data_units(&self) -> u16 {
        self.members - self.log_members() - self.protection.checks
    }

    /// The number of copies of each region's log.
    pub fn log_copies(&self) -> u16 {
        self.protection.log_copies
    }

    /// The number of members that hold a region's log.
    fn log_members(&self) -> u16 {
        self.protection.log_members(self.shape.sublogs)
    }

    /// The number of stripes after which units are placed on members with the same roles again.
    pub(super) fn period(&self) -> u64 {
        self.period.into()
    }

    /// The units of a stripe.
    fn width(&self) -> usize {
        usize::from(self.data_units() + self.protection.checks)
    }

    /// The number of log segments in a region.
    pub fn segments(&self) -> u32 {
        u32::from(self.shape.sublogs) * self.shape.sublog_segments
    }

    fn piece(&self, role: u16) -> Sectors {
        let rest = if role < self.log_members() { self.sublog } else { self.data_share };
        self.parity_share[usize::from(role)] + rest
    }

    /// The greatest length that the pieces of any member take together.
    pub fn member_length(&self) -> Sectors {
        (0..self.members).map(|member| self.piece_start(self.shape.regions, member)).max().expect("members")
    }

    /// The member with role 0 in `region`. With one sublog it rotates left (figure 8), otherwise
    /// the sublogs of region after region are distributed over the members (figure 9).
    fn first_log_member(&self, region: u32) -> u16 {
        let n = u32::from(self.members);
        let member = match self.shape.sublogs {
            1 => n - 1 - region % n,
            _ => {
                let logs = u32::from(self.log_members());
                // If L and N have a common factor, the walk would only visit every few members.
                // Therefore it moves one further after each round.
                let factor = greatest_common_divisor(n, logs);
                let rounds = region / (n / factor) % factor;
                ((u64::from(region) * u64::from(logs) + u64::from(rounds)) % u64::from(n)) as u32
            }
        };
        member as u16
    }

    /// Whether `member` is a data member of `region`.
    pub(super) fn has_data(&self, region: u32, member: u16) -> bool {
        self.role(region, member) >= self.log_members()
    }

    fn role(&self, region: u32, member: u16) -> u16 {
        (member + self.members - self.first_log_member(region)) % self.members
    }

    fn member(&self, region: u32, role: u16) -> u16 {
        (self.first_log_member(region) + role) % self.members
    }

    fn piece_start(&self, region: u32, member: u16) -> Sectors {
        let n = u32::from(self.members);
        let start = self.starts[usize::from(member) * usize::from(self.members) + (region % n) as usize];
        self.cycle * u64::from(region / n) + start
    }

    pub(super) fn locate(&self, row: u64, unit: Unit) -> (u16, Sectors) {
        let stripes = u64::from(self.shape.stripes);
        let (region, stripe) = ((row / stripes) as u32, (row % stripes) as u32);
        let spot = self.spots[(stripe % self.period) as usize * self.width() + unit.as_usize()];
        let role = usize::from(spot.role);
        let is_parity = unit.get() >= self.data_units();
        let (per_period, before) = match is_parity {
            true => (self.parity_at[role].len(), Sectors::ZERO),
            false => (self.data_at[role].len(), self.parity_share[role]),
        };
        let rank = u64::from(stripe / self.period) * per_period as u64 + u64::from(spot.rank);
        let member = self.member(region, spot.role);
        (member, self.piece_start(region, member) + before + self.unit * rank)
    }

    /// The member that holds a copy of `sublog` of `region`.
    pub(super) fn sublog_member(&self, region: u32, sublog: u16, copy: u16) -> u16 {
        self.member(region, copy * self.shape.sublogs + sublog)
    }

    /// The member that holds a copy of `sublog` of `region`, and where it starts there.
    pub(super) fn sublog(&self, region: u32, sublog: u16, copy: u16) -> (u16, Sectors) {
        let member = self.sublog_member(region, sublog, copy);
        (member, self.piece_start(region, member) + self.parity_share[usize::from(sublog)])
    }

    pub(super) fn occupant(&self, member: u16, at: Sectors) -> Found {
        let Some((region, within)) = self.piece_at(member, at) else { return Found::Unused };
        let role = self.role(region, member);
        let parity = self.parity_share[usize::from(role)];
        if within >= parity && role < self.log_members() {
            let (copy, sublog) = (role / self.shape.sublogs, role % self.shape.sublogs);
            return Found::Log { region, sublog, copy, offset: within - parity };
        }
        let (at_rank, within) = match within < parity {
            true => (&self.parity_at[usize::from(role)], within),
            false => (&self.data_at[usize::from(role)], within - parity),
        };
        let is_parity = std::ptr::eq(at_rank, &self.parity_at[usize::from(role)]);
        self.unit_at(region, role, at_rank, is_parity, within)
    }

    fn unit_at(&self, region: u32, role: u16, at_rank: &[u32], is_parity: bool, within: Sectors) -> Found {
        let rank = within / self.unit;
        let per_period = at_rank.len() as u64;
        let Some(whole) = rank.checked_div(per_period) else { return Found::Unused };
        let stripe = whole * u64::from(self.period) + u64::from(at_rank[(rank % per_period) as usize]);
        if stripe >= u64::from(self.shape.stripes) {
            return Found::Unused;
        }
        let unit = self.unit_with(stripe, role, is_parity);
        let row = u64::from(region) * u64::from(self.shape.stripes) + stripe;
        Found::Unit { row, unit, offset: within % self.unit }
    }

    /// The data unit or check unit of a stripe that the member with this role holds.
    fn unit_with(&self, stripe: u64, role: u16, is_parity: bool) -> Unit {
        let first = (stripe % u64::from(self.period)) as usize * self.width();
        let data = usize::from(self.data_units());
        let units = if is_parity { data..self.width() } else { 0..data };
        let index = units.clone().find(|index| self.spots[first + index].role == role);
        Unit::new(index.expect("the inverse table names a unit of this stripe") as u16)
    }

    /// The region whose piece covers `at` on `member`, and the distance from the start of the
    /// piece.
    fn piece_at(&self, member: u16, at: Sectors) -> Option<(u32, Sectors)> {
        let n = usize::from(self.members);
        let starts = &self.starts[usize::from(member) * n..(usize::from(member) + 1) * n];
        let (cycle, within) = (at / self.cycle, at % self.cycle);
        let index = starts.partition_point(|start| *start <= within) - 1;
        let region = u32::try_from(cycle).ok()?.checked_mul(u32::from(self.members))? + index as u32;
        (region < self.shape.regions).then(|| (region, within - starts[index]))
    }
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// The roles that the stripes of one period use.
struct Pattern {
    period: u32,
    spots: Vec<Spot>,
    data_at: Vec<Vec<u32>>,
    parity_at: Vec<Vec<u32>>,
}

impl Pattern {
    /// In each stripe as many data members are left out as there are check units, in turn from the
    /// last. With one sublog the check units go there. With several sublogs, of every N turns as
    /// many as there are data members place a check unit on its member left out, and the other
    /// turns place it on the log members. Each check unit is a turn ahead of the one before, so
    /// that no two are on one member. This gives each member the same share.
    fn new(members: u16, sublogs: u16, protection: Protection) -> Pattern {
        let (logs, checks) = (protection.log_members(sublogs), protection.checks);
        let data_members = members - logs;
        let turns = if sublogs == 1 { 1 } else { members };
        let period = u32::from(data_members) * u32::from(turns);
        let roles = usize::from(members);
        let mut pattern = Pattern {
            period,
            spots: Vec::new(),
            data_at: vec![Vec::new(); roles],
            parity_at: vec![Vec::new(); roles],
        };
        for stripe in 0..period {
            let left_out = data_members - 1 - (stripe % u32::from(data_members)) as u16;
            let data_member = |step: u16| logs + (left_out + step) % data_members;
            for step in checks..data_members {
                pattern.put(stripe, data_member(step), false);
            }
            for check in 0..checks {
                let turn = (stripe / u32::from(data_members)) as u16;
                let turn = if sublogs == 1 { 0 } else { (turn + check) % members };
                let role = match turn < data_members {
                    true => data_member(check),
                    false => turn - data_members,
                };
                pattern.put(stripe, role, true);
            }
        }
        pattern
    }

    fn put(&mut self, stripe: u32, role: u16, is_parity: bool) {
        let ranks = if is_parity { &mut self.parity_at } else { &mut self.data_at };
        let ranks = &mut ranks[usize::from(role)];
        self.spots.push(Spot { role, rank: ranks.len() as u32 });
        ranks.push(stripe);
    }
}

impl RegionShape {
    /// Chooses the number of regions within ±10% of the wish and the largest region that fits, to
    /// waste the least (§2.4). Prefers multiples of the number of members, which balance the load
    /// of the members. `None` if not even one region of one stripe fits.
    pub fn choose(request: &ShapeRequest) -> Option<RegionShape> {
        let n = u32::from(request.members);
        let wish = request.regions.max(1);
        let around = wish - wish / 10..=wish + wish / 10;
        let multiples = |range: &std::ops::RangeInclusive<u32>| -> Vec<u32> {
            range.clone().filter(|regions| regions.is_multiple_of(n)).collect()
        };
        let mut candidates = multiples(&around);
        if candidates.is_empty() {
            candidates = vec![wish.next_multiple_of(n)];
        }
        let step = candidates.len().div_ceil(64);
        let best = |regions: Vec<u32>| {
            regions.into_iter().step_by(step).filter_map(|regions| request.largest(regions)).min_by(|a, b| {
                a.0.total_cmp(&b.0).then(a.1.regions.abs_diff(wish).cmp(&b.1.regions.abs_diff(wish)))
            })
        };
        // A small array has no room for the wish: it is halved until something fits.
        let mut fewer = wish;
        let mut found = best(candidates);
        while found.is_none() && fewer > 1 {
            fewer /= 2;
            found = best(vec![fewer.next_multiple_of(n), fewer]);
        }
        found.map(|(_, shape)| shape)
    }
}

impl ShapeRequest {
    fn protection(&self) -> Protection {
        Protection { checks: self.checks, log_copies: self.log_copies }
    }

    fn shape(&self, regions: u32, stripes: u32) -> RegionShape {
        let parity = (self.unit * u64::from(stripes)).get() as f64;
        let segments = parity * self.log_ratio / self.segment.get() as f64 / f64::from(self.sublogs);
        RegionShape {
            regions,
            stripes,
            sublogs: self.sublogs,
            sublog_segments: (segments.round() as u32).max(1),
            segment: self.segment.get(),
            grain: self.grain.get(),
        }
    }

    /// The largest `regions` regions that fit, and the part of the group's space that they waste.
    fn largest(&self, regions: u32) -> Option<(f64, RegionShape)> {
        let fits = |stripes: u32| {
            let shape = self.shape(regions, stripes);
            Regions::new(shape, self.members, self.protection(), self.unit).member_length() <= self.length
        };
        if !fits(1) {
            return None;
        }
        let (mut low, mut high) = (1u32, 2u32);
        while high < u32::MAX / 2 && fits(high) {
            (low, high) = (high, high * 2);
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if fits(middle) { low = middle } else { high = middle }
        }
        let shape = self.shape(regions, low);
        let used = self.used(&shape);
        let space = self.length.get() as f64 * f64::from(self.members);
        Some((1.0 - used / space, shape))
    }

    /// Sectors of data, parity and log in all regions.
    fn used(&self, shape: &RegionShape) -> f64 {
        let logs = self.protection().log_members(self.sublogs);
        let units = f64::from(self.members - logs) * f64::from(shape.stripes);
        let region = units * self.unit.get() as f64
            + f64::from(logs) * f64::from(shape.sublog_segments) * self.segment.get() as f64;
        region * f64::from(shape.regions)
    }
}
