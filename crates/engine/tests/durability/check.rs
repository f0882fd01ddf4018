//! Checks the state after a power cut: opens the array, lets it recover, and verifies its content.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parlour_array::{AssemblyError, EntryState, Geometry, SUPERBLOCK_BYTES, Superblock};
use parlour_codec::xor::is_zero;
use parlour_engine::control::Request as Command;
use parlour_engine::{Choice, OpenError};
use parlour_units::Sectors;
use serde_json::Value as Json;

use crate::common::rig::Served;
use crate::common::{Numbers, on_disk, on_memory};
use crate::content::{LOST, SECTOR, Value};
use crate::journal::{Journal, Slow};
use crate::oracle::Expected;
use crate::session::{Focus, Kept, Session};
use crate::story::{Client, Setup, UNIT, journal_of, scrub, serve};

/// The first value of a second session's writes; the first session does not use these values.
const SECOND: Value = 1 << 20;

/// A member's file: its name and its content.
type Image = (PathBuf, Vec<u8>);

/// A power cut.
#[derive(Debug)]
pub(crate) struct Cut {
    /// The members' content after the cut.
    images: Vec<Image>,
    /// A member that is lost together with the power.
    gone: Option<Image>,
    expected: Expected,
    /// The expected content if the array has to be forced open.
    forced: Option<Expected>,
    /// Whether all members are present.
    whole: bool,
    /// Whether a member returns that was lost before.
    returns: bool,
    /// A description for messages.
    pub(crate) about: String,
}

/// The result of a cut.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The array opened, and its content is right.
    Right,
    /// The array refused to open, as expected: it would have to trust parity that may be stale.
    Refused,
    /// The array was opened, and power was cut again later. The member that was lost before may
    /// return.
    Again { session: Box<Session>, before: Expected, gone: Option<Image> },
}

impl Cut {
    /// Cuts power at a random time in `session`, which began with `before`. `returning` is a member
    /// that was lost before and is present again.
    pub(crate) fn draw(
        setup: Setup,
        session: &Session,
        before: &Expected,
        focus: Focus,
        returning: Option<Image>,
        numbers: &mut Numbers,
    ) -> Cut {
        let cut = session.draw_cut(focus, numbers);
        let kept = Kept::draw(numbers, session.files.len());
        let present: Vec<usize> = session.present(cut).collect();
        let image = |file: &usize| (session.name(*file), session.image(*file, cut, kept[*file], numbers));
        let mut images: Vec<Image> = present.iter().map(image).collect();
        let (mut whole, mut dispensable) = session.dispensable(cut);
        if whole && !is_recorded_whole(&images) {
            (whole, dispensable) = (false, &[]);
        }
        let mut gone = None;
        if numbers.below(2) == 0 && !dispensable.is_empty() {
            gone = Some(dispensable[numbers.below(dispensable.len() as u64) as usize]);
            whole = false;
        }
        let reads_last = setup.is_logged() || gone.is_none() && returning.is_none();
        let expected = before.after(setup, session, cut, reads_last);
        let excluded = session.excluded(cut);
        let forced = excluded.map(|since| before.after_force(setup, session, cut, since));
        let back = if returning.is_some() { ", with a member that was lost" } else { "" };
        let about = format!("cut at {cut} of {}, left {kept:?}, without {gone:?}{back}", session.length());
        let slot = present.iter().position(|file| Some(*file) == gone);
        let gone = slot.map(|slot| images.remove(slot));
        let returns = returning.is_some();
        images.extend(returning);
        Cut { images, gone, expected, forced, whole, returns, about }
    }

    /// Opens the array and checks its content. If `again` names a backend, the array is served with
    /// that backend instead, and a journal of the new session is returned.
    ///
    /// # Errors
    /// The content is wrong.
    pub(crate) fn check(
        self,
        setup: Setup,
        again: Option<Choice>,
        numbers: &mut Numbers,
    ) -> Result<Outcome, String> {
        let directory = on_memory().unwrap_or_else(on_disk);
        let about = self.about.clone();
        let checked = catch_unwind(AssertUnwindSafe(|| self.look(setup, directory.path(), again, numbers)));
        let result = checked.unwrap_or_else(|panic| {
            let told = panic.downcast_ref::<String>().cloned();
            Err(told.unwrap_or_else(|| "something panicked".to_owned()))
        });
        result.map_err(|wrong| format!("{about}: {wrong}"))
    }

    fn look(
        self,
        setup: Setup,
        directory: &Path,
        again: Option<Choice>,
        numbers: &mut Numbers,
    ) -> Result<Outcome, String> {
        let Cut { images, gone, mut expected, forced, whole, returns, .. } = self;
        let members: Vec<PathBuf> = images.iter().map(|(name, _)| directory.join(name)).collect();
        members.iter().zip(&images).for_each(|(path, (_, image))| put(path, image));
        let (io, again) = (again.unwrap_or_default(), again.is_some());
        let told = |error: OpenError| format!("it does not open: {error}");
        let open = match (setup.open(&members, io, false), forced) {
            (Ok(open), _) => open,
            (Err(error), forced) if trusts_parity(&error) && !whole && !setup.is_logged() => {
                let Some(forced) = forced.filter(|_| !again) else { return Ok(Outcome::Refused) };
                expected = forced;
                setup.open(&members, io, true).map_err(told)?
            }
            // Only the returning member recorded the end of an opening, and has diverged from the
            // others: a person has to choose.
            (Err(OpenError::Assembly { source: AssemblyError::Diverged(..), .. }), _) if returns => {
                return Ok(Outcome::Refused);
            }
            (Err(error), _) => return Err(told(error)),
        };
        let journal = journal_of(&open, io, Slow::Some);
        for (path, (_, image)) in members.iter().zip(images) {
            journal.add_file(path, image);
        }
        if whole {
            journal.whole(&(0..members.len()).collect::<Vec<_>>());
        } else {
            journal.degraded(&[]);
        }
        let served = if again { serve(open, &journal) } else { crate::common::rig::serve_open(open, None) };
        let looked = catch_unwind(AssertUnwindSafe(|| match again {
            true => go_on(&served, &journal, expected.clone(), numbers),
            false => look_at(&served, setup, directory, expected.clone(), whole, numbers),
        }));
        served.abandon();
        match looked {
            Ok(Ok(())) if again => {
                let session = Box::new(Session::of(&journal));
                Ok(Outcome::Again { session, before: expected, gone })
            }
            Ok(result) => result.map(|()| Outcome::Right),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Whether the array refuses to open because it would have to trust parity that may be stale.
fn trusts_parity(error: &OpenError) -> bool {
    use AssemblyError::{UncleanAndDegraded, UnsyncedAndDegraded};
    let OpenError::Assembly { source, .. } = error else { return false };
    matches!(source, UncleanAndDegraded { .. } | UnsyncedAndDegraded { .. })
}

/// Whether all members are active according to their superblocks. A change of the table that was
/// not recorded before the cut has not happened.
fn is_recorded_whole(images: &[Image]) -> bool {
    let superblock = |(_, image): &Image| {
        let copies = Geometry::superblocks_at(Sectors::new((image.len() / SECTOR) as u64));
        let [first, second] = copies.map(|at| &image[at.bytes() as usize..][..SUPERBLOCK_BYTES]);
        Superblock::decode_copies(first, second).ok()
    };
    let newest = images.iter().filter_map(superblock).max_by_key(|one| (one.session_number, one.sequence));
    newest.is_some_and(|newest| newest.table.iter().all(|entry| entry.state == EntryState::Active))
}

/// Writes a file, with holes for zeroes.
fn put(path: &Path, image: &[u8]) {
    use std::os::unix::fs::FileExt;
    const CHUNK: usize = 1 << 14;
    let file = std::fs::File::create_new(path).expect("a new file");
    file.set_len(image.len() as u64).expect("it has a length");
    for (number, chunk) in image.chunks(CHUNK).enumerate().filter(|(_, chunk)| !is_zero(chunk)) {
        file.write_all_at(chunk, (number * CHUNK) as u64).expect("it can be written");
    }
}

/// Reads everything twice, checks the redundancy, and replaces a missing member.
fn look_at(
    served: &Served,
    setup: Setup,
    directory: &Path,
    mut expected: Expected,
    whole: bool,
    numbers: &mut Numbers,
) -> Result<(), String> {
    let journal = Arc::new(Journal::new(Choice::Auto, Slow::Some, 0));
    let mut client = Client::new(served, &journal, SECOND);
    let found = client.read_all();
    expected.see(0, &found)?;
    if whole && found.contains(&LOST) || loses_two_units(setup, &found) {
        return Err("more is lost than one member held".to_owned());
    }
    let missing = |status: &Json| {
        let members = status["members"].as_array().expect("members are listed");
        members.iter().position(|member| member["state"] == "failed")
    };
    let gone = missing(&served.status());
    if let (Some(slot), 0) = (gone, numbers.below(3)) {
        let path = directory.join("fresh");
        let length = setup.length << 20;
        std::fs::File::create_new(&path).and_then(|file| file.set_len(length)).expect("a new file");
        let replace = Command::Replace { member: slot as u16, path, force: false };
        served.command(&replace).map_err(|error| format!("it is not replaced: {error}"))?;
    } else if let Some(slot) = gone {
        if whole {
            return Err(format!("member {slot} is left out"));
        }
        return expected.see(0, &client.read_all());
    }
    until_whole(served)?;
    let report = scrub(served);
    let mut faults = vec!["mismatches", "skipped"];
    if !found.contains(&LOST) {
        faults.push("unreadable");
    }
    if report["complete"] != true || faults.iter().any(|fault| report[fault] != 0) {
        return Err(format!("redundancy does not fit: {report}"));
    }
    expected.see(0, &client.read_all())
}

/// Whether two units of a stripe are lost at the same distance from their start.
fn loses_two_units(setup: Setup, found: &[Value]) -> bool {
    found.chunks(setup.stripe()).any(|stripe| {
        let lost = |column: usize| stripe.iter().skip(column).step_by(UNIT).filter(|value| **value == LOST);
        (0..UNIT).any(|column| lost(column).count() > 1)
    })
}

/// Waits until the redundancy is complete.
fn until_whole(served: &Served) -> Result<(), String> {
    let rebuilt = |status: &Json| {
        let members = status["members"].as_array().expect("members are listed");
        members.iter().all(|member| member["state"] == "active") && status["rebuild"].is_null()
    };
    // A resync may wait for the rebuild.
    let stopped = |status: &Json| {
        status["rebuild"]["stopped"] == true || rebuilt(status) && status["resync"]["stopped"] == true
    };
    let whole = |status: &Json| rebuilt(status) && status["resync"].is_null();
    let status = served.until("redundancy", |status| stopped(status) || whole(status));
    if whole(&status) { Ok(()) } else { Err(format!("it does not become whole: {status:#}")) }
}

/// Hosts read and write while the array recovers; power is cut at some time.
fn go_on(
    served: &Served,
    journal: &Arc<Journal>,
    mut expected: Expected,
    numbers: &mut Numbers,
) -> Result<(), String> {
    let mut client = Client::new(served, journal, SECOND);
    if numbers.below(2) == 0 {
        // At once, while the array is still being opened.
        client.write(numbers, 20, 2, 10);
        client.drain();
        client.read_all();
    } else {
        expected.see(0, &client.read_all())?;
        client.write(numbers, 20, 6, 10);
    }
    client.drain();
    Ok(())
}
