//! Crafted superblocks: the checksum fits, but a field has a value that no array has. Each is
//! refused, with the field's name, before anything is allocated by its value. (A member of 42 MiB
//! with a commit log of 2 TiB, or with four billion regions, made the program ask for that much
//! memory, and abort.)

use parlour_array::layout::RegionShape;
use parlour_array::organization::{Consistency, Organization, Update};
use parlour_array::{
    Creation, Cylinder, Geometry, Identity, LogCreation, NewArray, StoredGeometry, Superblock,
    SuperblockError, create,
};
use parlour_units::Sectors;

const MEMBER: Sectors = Sectors::new(21 * 2_048);

fn creation(name: &str, members: u16, consistency: Consistency) -> Creation {
    Creation {
        organization: Organization::named(name).expect("a known organization").organization,
        checks: 1,
        members,
        groups: 1,
        width: None,
        domains: None,
        spares: 0,
        unit: Sectors::new(128),
        block: Sectors::new(8),
        member_length: MEMBER,
        log: LogCreation::default(),
        consistency,
    }
}

fn superblock(geometry: &Geometry) -> Superblock {
    let members = (0..geometry.members()).map(|member| (Identity([member as u8 + 3; 16]), MEMBER));
    let new = NewArray {
        array: Identity([1; 16]),
        session: Identity([2; 16]),
        members: members.collect(),
        name: "crafted".into(),
        created: 0,
        zeroed: true,
    };
    let images = create(geometry, &new);
    let (_, block) = images[0].last().expect("the first copy is written last");
    Superblock::decode(block).expect("a new superblock is sound")
}

fn logged() -> Superblock {
    let creation = creation("parity-logging", 5, Consistency::Journal);
    superblock(&Geometry::create(&creation).expect("a possible array"))
}

fn of(name: &str) -> Superblock {
    superblock(&Geometry::create(&creation(name, 4, Consistency::Bitmap)).expect("a possible array"))
}

/// The field because of which a changed geometry is refused.
fn refused(good: &Superblock, change: impl Fn(&mut StoredGeometry)) -> &'static str {
    let mut crafted = good.clone();
    change(&mut crafted.geometry);
    match Superblock::decode(&crafted.encode()) {
        Err(SuperblockError::Nonsense(field)) => field,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it is believed: {:?}", crafted.geometry),
    }
}

fn refused_shape(good: &Superblock, change: impl Fn(&mut RegionShape)) -> &'static str {
    refused(good, |geometry| change(geometry.regions.as_mut().expect("it has regions")))
}

#[test]
fn lengths_beyond_the_member_are_refused_by_name() {
    let good = logged();
    let room = "length of the data area, beyond the member";
    assert_eq!(refused(&good, |it| it.layout.length += 1 << 30), room);
    assert_eq!(refused(&good, |it| it.data_start += 1 << 30), room);
    for most in [1 << 52, u64::MAX / 512, u64::MAX] {
        assert_eq!(refused(&good, |it| it.layout.length = most), "length of the data area");
        assert_eq!(refused(&good, |it| it.data_start = most), "start of the data area");
        assert_eq!(refused(&good, |it| it.layout.unit = most / 8 * 8), "stripe unit");
    }
    assert_eq!(refused(&good, |it| it.data_start = 0), "length of the commit log");
    assert_eq!(refused(&of("raid5"), |it| it.data_start = 0), "start of the data area");
    assert_eq!(refused(&good, |it| it.layout.length = 0), "stripe unit");
    assert_eq!(refused(&good, |it| it.layout.unit = 0), "stripe unit");
    for block in [0, 2, u64::MAX] {
        assert_eq!(refused(&good, |it| it.block = block), "block size");
    }
    // A member also must not claim to be shorter than its content.
    let short = Superblock { member_length: Sectors::new(4_096), ..good };
    assert_eq!(Superblock::decode(&short.encode()), Err(SuperblockError::Nonsense(room)));
}

#[test]
fn a_commit_log_longer_than_creation_makes_is_refused() {
    let good = logged();
    let most = u64::from(u32::MAX) / 8 * 8;
    for length in [0, good.geometry.data_start, 1 << 24, most] {
        assert_eq!(refused(&good, |it| it.commit_log = length), "length of the commit log");
    }
    for lanes in [17, 1_000] {
        assert_eq!(refused(&good, |it| it.lanes = lanes), "lanes of the commit log");
    }
    for length in [0, good.geometry.commit_log, most] {
        assert_eq!(refused(&good, |it| it.intent_log = length), "length of the intents' log");
    }
    // A large sparse member would have room for it if its data area started late.
    let mut sparse = good.clone();
    sparse.member_length = Sectors::new(1 << 51);
    sparse.geometry.data_start = 1 << 40;
    sparse.geometry.commit_log = most;
    let error = Superblock::decode(&sparse.encode()).expect_err("16 GiB are read into memory");
    assert_eq!(error, SuperblockError::Nonsense("length of the commit log"));
    assert!(error.to_string().contains("length of the commit log"), "{error}");
    assert_eq!(refused(&of("raid5"), |it| it.commit_log = 8), "length of the commit log");
}

/// Regression test. A long write found no place for its entry, and panicked.
#[test]
fn a_stream_of_records_too_short_for_its_longest_entries_is_refused() {
    let good = logged();
    let (commit_log, intents) = (good.geometry.commit_log, good.geometry.intent_log);
    for records in [8, 64, (commit_log - intents) / 8 / 8 * 8] {
        let short = |it: &mut StoredGeometry| (it.commit_log, it.lanes) = (intents + records, 1);
        assert_eq!(refused(&good, short), "length of the stream of records");
    }
}

#[test]
fn regions_and_what_is_in_them_are_bounded_by_the_member_and_by_each_other() {
    let good = logged();
    for most in [1 << 21, 1 << 31, u32::MAX] {
        assert_eq!(refused_shape(&good, |it| it.regions = most), "regions");
        assert_eq!(refused_shape(&good, |it| it.stripes = most), "stripes of a region");
        assert_eq!(refused_shape(&good, |it| it.sublog_segments = most), "segments of a sublog");
    }
    assert_eq!(refused_shape(&good, |it| it.regions = 0), "regions");
    assert_eq!(refused_shape(&good, |it| it.stripes = 0), "stripes of a region");
    assert_eq!(refused_shape(&good, |it| it.sublog_segments = 0), "segments of a sublog");
    for sublogs in [0, 4, u16::MAX] {
        assert_eq!(refused_shape(&good, |it| it.sublogs = sublogs), "sublogs");
    }
    for segment in [0, 8, 65, 1 << 20, u64::MAX] {
        assert_eq!(refused_shape(&good, |it| it.segment = segment), "log segment");
    }
    for grain in [0, 1 << 30, u64::MAX] {
        assert_eq!(refused_shape(&good, |it| it.grain = grain), "rounding of shares");
    }
    // A million regions of one stripe each, on a member that is long enough: the bitmaps do not fit
    // before the data area.
    let crowded = |it: &mut StoredGeometry| {
        let shape = it.regions.as_mut().expect("it has regions");
        (shape.regions, shape.stripes, shape.sublog_segments) = (1 << 20, 1, 1);
        it.layout.length = 1 << 40;
    };
    assert_eq!(
        refused(&Superblock { member_length: Sectors::new(1 << 41), ..good }, crowded),
        "start of the data area"
    );
}

#[test]
fn members_groups_and_copies_that_cannot_be_are_refused_by_name() {
    let good = of("raid10");
    for members in [0, 65, u16::MAX] {
        assert_eq!(refused(&good, |it| it.layout.group_members = members), "members of a group");
    }
    for groups in [0, 2] {
        assert_eq!(refused(&good, |it| it.layout.groups = groups), "groups");
    }
    assert_eq!(refused(&of("raid5"), |it| it.layout.groups = u16::MAX), "members of a group");
    for checks in [0, 2, u16::MAX - 1] {
        assert_eq!(refused(&good, |it| it.checks = checks), "check units");
    }
}

#[test]
fn a_width_that_no_stripe_has_is_refused() {
    let mut wishes = creation("raid6", 9, Consistency::Bitmap);
    wishes.checks = 2;
    wishes.organization.layout = wishes.organization.layout.declustered().expect("its parity moves");
    wishes.width = Some(5);
    let good = superblock(&Geometry::create(&wishes).expect("a possible array"));
    assert_eq!(Superblock::decode(&good.encode()), Ok(good.clone()));
    for width in [None, Some(0), Some(2), Some(3), Some(9), Some(10), Some(u16::MAX)] {
        assert_eq!(refused(&good, |it| it.layout.width = width), "width of a stripe");
    }
    wishes.domains = Some(3);
    let in_domains = superblock(&Geometry::create(&wishes).expect("a possible array"));
    assert_eq!(Superblock::decode(&in_domains.encode()), Ok(in_domains));
    for domains in [1, 2, 4, 10, u16::MAX] {
        assert_eq!(refused(&good, |it| it.layout.domains = Some(domains)), "failure domains");
    }
    let four = |it: &mut StoredGeometry| it.layout.length = it.layout.unit * 4;
    assert_eq!(refused(&good, four), "length of the data area");
    // A layout without a width does not read one.
    let rotated = Superblock::decode(&of("raid6").encode()).expect("a sound superblock");
    assert_eq!(rotated.geometry.layout.width, None);
}

/// With several check units a log has as many copies, each on a member of its own.
#[test]
fn logged_parity_without_room_for_the_copies_of_its_logs_is_refused() {
    let mut wishes = creation("parity-logging", 4, Consistency::Bitmap);
    (wishes.organization.update, wishes.checks) = (Update::InPlace, 2);
    let good = superblock(&Geometry::create(&wishes).expect("a possible array"));
    assert_eq!(refused(&good, |it| it.organization.update = Update::Logged), "sublogs");
}

#[test]
fn cylinders_that_units_do_not_fit_into_are_refused() {
    let floating = creation("floating", 4, Consistency::Bitmap);
    let on = Cylinder { track: 512, tracks: 4 };
    let good = superblock(&Geometry::create_on(&floating, on).expect("a possible array"));
    for (track, tracks) in [(0, 4), (513, 4), (512, 0), (512, 1), (512, u16::MAX), (u64::MAX, 4)] {
        let cylinder = Some(Cylinder { track, tracks });
        assert_eq!(refused(&good, |it| it.cylinder = cylinder), "cylinder");
    }
}

/// The checksums of such a unit would not fit into the 32 bits in an entry.
#[test]
fn a_unit_that_no_commit_log_holds_is_refused_at_creation() {
    let huge = Creation {
        unit: Sectors::new(1 << 24),
        member_length: Sectors::new(1 << 36),
        ..creation("parity-logging", 5, Consistency::Journal)
    };
    let error = Geometry::create(&huge).expect_err("too large");
    assert!(error.to_string().contains("smaller unit"), "{error}");
    let beyond = Creation { unit: Sectors::new(u64::MAX / 4_096 * 8), ..huge };
    assert!(Geometry::create(&beyond).is_err());
}
