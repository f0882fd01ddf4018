//! Waits for members that arrive late, as some do at boot.
//!
//! The array's superblocks tell which members it counts on. The command waits for those that are
//! absent, if they can arrive: in a directory that was named, or at a path that does not exist yet.
//! It does not wait for members that the array has excluded.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use parlour_array::{Assembly, Candidate, EntryState, Superblock};

use crate::console::{Console, note};
use crate::members::{Looks, MembersError};

/// The time between two attempts.
const PAUSE: Duration = Duration::from_millis(250);

/// The members at the paths `named`, once all are present or `wait` is over. If reading one timed
/// out, the command does not wait for it again: opening the array shows whether it is needed.
///
/// # Errors
/// A directory cannot be read, or holds no member.
pub(crate) fn await_members(
    named: &[PathBuf],
    wait: Duration,
    looks: &Looks,
    console: Console,
) -> Result<Vec<PathBuf>, MembersError> {
    let begun = Instant::now();
    let mut progress = None;
    loop {
        let members = looks.expand(named)?;
        let absent = absent(looks, &members);
        let left = wait.saturating_sub(begun.elapsed());
        let awaited = !absent.is_empty() && named.iter().any(|path| may_bring_more(looks, path));
        if !awaited || left.is_zero() {
            if let Some(progress) = progress {
                Progress::finish(&progress);
            }
            return Ok(members);
        }
        progress.get_or_insert_with(|| Progress::new(console, &absent, wait)).show(&absent, left);
        sleep(PAUSE.min(left));
    }
}

/// Whether members that are absent now can arrive at this path.
fn may_bring_more(looks: &Looks, path: &Path) -> bool {
    let is_absent = || !matches!(looks.look(path), Ok(_) | Err(MembersError::Silent { .. }));
    path.is_dir() || is_absent()
}

/// Slots whose member the array counts on, but which is not among `members`.
fn absent(looks: &Looks, members: &[PathBuf]) -> Vec<u16> {
    let candidates: Vec<Candidate> = looks.look_at_all(members).into_iter().filter_map(Result::ok).collect();
    // If the members form no array, opening them later reports the reasons.
    let Ok(assembly) = Assembly::new(&candidates) else { return Vec::new() };
    let present: Vec<&Superblock> =
        candidates.iter().filter_map(|candidate| candidate.superblock.as_ref().ok()).collect();
    let places = 0..assembly.slots.len() as u16;
    places
        .filter(|place| {
            let entry = &assembly.superblock.table[usize::from(*place)];
            let counts = matches!(entry.state, EntryState::Active | EntryState::Rebuilding { .. });
            counts && !present.iter().any(|superblock| superblock.member == entry.member)
        })
        .collect()
}

/// The progress that people see: a live line on a terminal, else one message.
struct Progress(Option<ProgressBar>);

impl Progress {
    fn new(console: Console, absent: &[u16], wait: Duration) -> Progress {
        if !console.shows_progress() {
            let seconds = wait.as_secs();
            note(&format_args!("waiting for {}, up to {seconds} s (--wait)", listed(absent)));
            return Progress(None);
        }
        let style = ProgressStyle::with_template("{spinner} {wide_msg}").expect("the template is sound");
        Progress(Some(ProgressBar::new_spinner().with_style(style)))
    }

    fn show(&self, absent: &[u16], left: Duration) {
        if let Some(bar) = &self.0 {
            bar.set_message(format!("waiting for {}: {} s left", listed(absent), left.as_secs()));
            bar.tick();
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// "member 1", or "members 1 and 2".
fn listed(places: &[u16]) -> String {
    let numbers: Vec<String> = places.iter().map(u16::to_string).collect();
    match numbers.as_slice() {
        [only] => format!("member {only}"),
        [rest @ .., last] => format!("members {} and {last}", rest.join(", ")),
        [] => "nobody".into(),
    }
}
