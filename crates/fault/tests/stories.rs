//! Seeds that once found a bug in crash-safe logging, each with a description. Earlier finds are
//! written as tests in the array's crate.

use parlour_array::organization::{Consistency, Organization};
use parlour_fault::{Limits, run};

/// A seed that broke a promise, and how.
const STORIES: [(u64, &str); 29] = [
    (111041, "a journal device dies that alone has an entry which a cut of power left, and is kept"),
    (
        31021815,
        "a repair's write rots, its member is failed for it, and the write that waited is called lost",
    ),
    (144, "a log is read from the newcomer that took its member's place during recovery"),
    (180, "a full pool asks for what is being loaded, again and again"),
    (299, "all regions stop logging because one log was given up, and are unsynced in the next crash"),
    (325, "the same, and the array was shut down cleanly"),
    (467, "the same, and a member was excluded"),
    (397, "a log is given up while a comparison reads into its buffers"),
    (1076, "the same, while intents are looked at"),
    (1287, "the same, while headers are read"),
    (839, "the table says that a log does not count before the map says that its region is to be resynced"),
    (942, "a write without room is redone after its region was resynced"),
    (1029, "a region is closed, and records from before count after the next crash"),
    (1120, "parity is computed anew while the given up log still counts"),
    (1433, "what was committed before a resync is folded in after it"),
    (1191, "a write is cut off in a stripe that the resync under way has passed"),
    (2640, "the position of a log that was given up is written again before that is durable"),
    (2709, "parity is wanted during its reintegration, and nobody looks again"),
    (3372, "a member fails by its errors while a reintegration reads it, and its region's log is given up"),
    (3897, "a member that was away for a vain opening is called stale by the tester"),
    (4205, "a member under rebuild cannot read its parity, and the region's log is given up"),
    (6352, "a member is excluded for errors though it alone holds what unsynced parity does not"),
    (7673, "the table says that a record is in durable parity whose data never landed"),
    (10247, "an entry waits for a map that is written already"),
    (30001932, "a newcomer cannot read what it is yet to get, and the half-done reintegration is given up"),
    (40008679, "the tester takes a region for synced before that is durable"),
    (50000889, "records are called applied while a member that hangs is not durably excluded, and returns"),
    (140013062, "a log is lost while its headers are read, and its region counts as synced until they are"),
    (50012372, "a write finds no room, is read as it was before, and is redone after a cut of power"),
];

/// The same for seeds that draw everything, perhaps another organization.
const DRAWN: [(u64, &str); 29] = [
    (
        10089396,
        "a segment that a member wrote in a wrong place lies over another one of its log, and is newer",
    ),
    (1063, "a write waits for its repair behind one that waits until the region is closed"),
    (5902, "of two copies not yet in sync the one that was read is excluded for errors"),
    (103371, "the tester takes what was read of one copy for durable on all after a flush"),
    (5923, "the same"),
    (404808, "the same, and an administrator replaces the copy that was read"),
    (410180, "the same, after a write that found no room"),
    (421191, "the same, and power is cut twice"),
    (9086, "a copy is read while it is not recorded that the first was excluded"),
    (1017072, "a record is written to a member that was failed meanwhile, and counts as durable"),
    (
        1047682,
        "a block of parity cannot be read, its region's log is given up for it, and another member dies",
    ),
    (100006093, "a copy is read while it still follows one that was replaced"),
    (100018916, "the same, of three copies"),
    (
        100016456,
        "a commit log cannot be read when the array is opened, and its entries are numbered from the start again",
    ),
    (4215490, "the copy that was read has no superblock any more after the next cut of power"),
    (160000640, "the map is on one member only since the other was replaced, and cannot be read there"),
    (2083460, "parity on the list cannot be mended, and its region's log is given up for it"),
    (
        2138264,
        "the tester takes copies for settled that power takes back, and the first is lost before they follow again",
    ),
    (
        15855,
        "a flush fails while another of the same member succeeds, and a host is told that all is flushed",
    ),
    (
        4033476,
        "the tester takes writes for kept when a process is killed that could not record a failed flush",
    ),
    (4041906, "the same, and the member that could not flush had to be kept"),
    (120004748, "a scrub passes over the rest of a stripe in which something is lost"),
    (4763777, "a scrub asks again and again for a repair for which there is no room"),
    (
        4792835,
        "the tester takes what was read of one copy for settled when the array is stopped and power is cut",
    ),
    (
        4796529,
        "a superblock is written to a member that was failed meanwhile, and is a member again under another name",
    ),
    (
        4815016,
        "a block of parity and a segment of its log cannot be read, and the parity is given up though all data is there",
    ),
    (
        4821915,
        "a repair ends as lost with the copy that was failed for what it could not read, and two more could",
    ),
    (
        5927154,
        "a resync passes over a stripe of one copy while a rebuild writes what it read of a copy lost since",
    ),
    (600225, "a read for which the system lacks memory is answered as data that is lost"),
];

/// The same for parity logging, with either consistency.
const LOGGING: [(u64, &str); 18] = [
    (101559, "a crash cuts a segment off, and the next session but one reads it instead of its newer copy"),
    (60031161, "a segment is there though its write failed, and a table says that it counted all up to then"),
    (
        21034721,
        "an array runs out of space, and a write waits for space in a commit log that nobody gives back",
    ),
    (21037351, "a scrub reads what a committed write without room has left half done"),
    (11019619, "a reintegration finds no memory, and a member fails while the refusal is on its way"),
    (12001851, "the data of a committed write finds no memory, and another member fails meanwhile"),
    (21001319, "the same, and the tester takes the stop of an array without space for a clean one"),
    (12037504, "the tester takes a scrub's repair for durable"),
    (
        11005362,
        "the first entry of a session is cut off, and tears one that the last before a clean stop counts on",
    ),
    (
        11008608,
        "a stop waits for a reintegration, and that for the recovery of a region that nobody asks for",
    ),
    (11009903, "the same, and another member is rebuilt"),
    (
        11016816,
        "a member is replaced while it finds no memory for an access, and a stripe is left out of sync",
    ),
    (5083099, "a region is resynced after a stop, and what its log held then is folded in after the next"),
    (
        5182562,
        "a rebuild ends with a checkpoint while it is not durable that a lost log's region is to be resynced",
    ),
    (
        5406283,
        "half-reintegrated parity cannot be read once after a crash, and what it holds already is folded in again",
    ),
    (
        5490267,
        "the log's member is replaced while a reintegration hangs on it, and its region is not to be resynced",
    ),
    (5663619, "the same, where records are not durable before their data"),
    (
        6182352,
        "a commit log cannot be read once, and a host reads before it is durable that what it holds does not count",
    ),
];

/// The same for arrays with more faults than they survive.
const BEYOND: [(u64, &str); 10] = [
    (23, "a degraded write finds no room for its parity, and what is missing is computed from that"),
    (295, "an array that may not be written reads copies that differ from another than before"),
    (332, "a repair finds no room, and what it was to be repaired from is called lost"),
    (1130, "a member that was kept could not flush, and the array is called shut down cleanly"),
    (1230, "a durable write fails because a member of another group cannot flush"),
    (2163, "copies that differ, of an array that may not be written"),
    (4276, "the same member, and its regions are called clean"),
    (552, "a durable write fails while superblocks are told that the array was shut down cleanly"),
    (740, "two that wait for a flush of a member which cannot flush make each other ask again"),
    (8929, "a write that holds the parity looks at the log's state again and again"),
];
/// The same for parity logging with more faults than it survives.
const BEYOND_LOGGING: [(u64, &str); 7] = [
    (
        1703,
        "a block goes on the list and comes off it while the list is written, and the table waits for that",
    ),
    (1868, "a rebuild finds no room, and the region's log is dropped though data is missing"),
    (2320, "a read of an array that may not be written is answered unread, as its member was failed for it"),
    (2948, "a write finds no room, and the region's log is dropped though data is missing"),
    (5763, "the same"),
    (5888, "the same"),
    (9502, "the same, while it is reintegrated"),
];

/// The same on arrays with parity in its place, many of them with a journal.
const IN_PLACE: [(u64, &str); 4] = [
    (3418, "a member is replaced while the array is opened, and the old one returns as if it lacked nothing"),
    (3684, "the record of a unit from before its member was replaced is redone on the new one"),
    (7060, "the same"),
    (29578, "a member has no space for a write, and what it is told to have failed comes back after a crash"),
];

#[test]
fn stories_of_crash_safe_logging_end_well() {
    let row = *Organization::named("parity-logging").expect("a name of the table");
    let limits =
        Limits { organization: Some(row), consistency: Some(Consistency::Journal), ..Limits::default() };
    for (seed, story) in STORIES {
        assert_eq!(run(seed, &limits).violation, None, "seed {seed}: {story}");
    }
}

#[test]
fn stories_of_parity_logging_end_well() {
    let row = *Organization::named("parity-logging").expect("a name of the table");
    let limits = Limits { organization: Some(row), ..Limits::default() };
    for (seed, story) in LOGGING {
        assert_eq!(run(seed, &limits).violation, None, "seed {seed}: {story}");
    }
}

#[test]
fn stories_of_other_organizations_end_well() {
    for (seed, story) in DRAWN {
        let report = run(seed, &Limits::default());
        assert_eq!(report.violation, None, "seed {seed}: {story}");
        let row = Organization::named(report.organization).expect("a name of the table");
        if report.consistency == Consistency::Journal.name() && !row.organization.is_logged() {
            // The story is one of an array without a journal.
            let limits = Limits { consistency: Some(Consistency::Bitmap), ..Limits::default() };
            assert_eq!(run(seed, &limits).violation, None, "seed {seed}: {story}");
        }
    }
}

#[test]
fn stories_of_parity_in_its_place_end_well() {
    let row = *Organization::named("raid5").expect("a name of the table");
    let limits = Limits { organization: Some(row), ..Limits::default() };
    for (seed, story) in IN_PLACE {
        assert_eq!(run(seed, &limits).violation, None, "seed {seed}: {story}");
    }
}

#[test]
fn stories_of_more_than_is_survived_end_well() {
    let row = *Organization::named("parity-logging").expect("a name of the table");
    let limits = Limits { beyond: true, ..Limits::default() };
    for (seed, story) in BEYOND {
        assert_eq!(run(seed, &limits).violation, None, "seed {seed}: {story}");
    }
    let limits = Limits { organization: Some(row), ..limits };
    for (seed, story) in BEYOND_LOGGING {
        assert_eq!(run(seed, &limits).violation, None, "seed {seed}: {story}");
    }
}

#[test]
fn a_stripe_that_the_resync_has_passed_is_read_through_its_parity() {
    let row = *Organization::named("parity-logging").expect("a name of the table");
    let limits =
        Limits { organization: Some(row), consistency: Some(Consistency::Bitmap), ..Limits::default() };
    assert_eq!(run(290, &limits).violation, None);
}
