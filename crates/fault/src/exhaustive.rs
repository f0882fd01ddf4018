//! The exhaustive check: a small script on a tiny array, cut off at every moment.
//!
//! The script is played once. At each moment, before and after every event, power is cut. Each
//! choice of the writes that were not durable is then found on the members, and no member or any
//! set of members that the array survives is lost. (Where nothing in the caches is lost, the
//! process is also killed, which loses less.) Each such *case* is opened again and recovers. All
//! its data is read, full redundancy is restored, and the oracle that checks seeds checks it too.
//! In addition, each member dies or is replaced after each step of the script. If a scenario says
//! so, all of this is repeated in the recovery from each cut; a member that was lost at the first
//! cut may be present again after the second.
//!
//! Equal cases, with the same bytes on the remaining members and the same promises, are tried once.
//! Not tried are: some subsets of writes where a cut leaves many, which are counted
//! ([`Tally::untried`], `exhaustive/kept.rs`); cuts in the recovery from torn writes; and orders of
//! completions other than the one that the seed draws.

mod case;
mod kept;
mod scenarios;

use std::collections::BTreeSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use parlour_codec::sector::SectorKey;

use case::{Case, Cut, Interrupted, Interruption};
pub use case::{NoTrial, Trial};
use kept::{Choices, Effort, Kept};
pub use scenarios::{SCENARIOS, Scenario, Subject};

use crate::limits::Limits;
use crate::run::{Moment, Run, Seen, Wreck};
use crate::script::{Event, Script};
use crate::trace::Trace;
use crate::violation::Violation;

/// Up to this many writes, every subset is tried: after the first cut and after the second.
const SUBSETS_OF: [usize; 2] = [7, 2];
/// The most failures that are reported.
const TOLD: usize = 5;

/// The counts of what was tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Moments in scripts.
    pub cuts: u64,
    /// Moments in recoveries.
    pub second_cuts: u64,
    /// Choices of the writes that were found after a cut.
    pub choices: u64,
    /// Subsets of whole writes that were not tried.
    pub untried: u64,
    /// Choices, each with no member or any set of members lost.
    pub losses: u64,
    /// Those that were tried. The others were equal to an earlier one.
    pub cases: u64,
    /// Members that died or were replaced at a step.
    pub interruptions: u64,
    /// Regions that were reintegrated in scripts that no cut interrupted.
    pub reintegrations: u64,
    /// Regions that were redone from their durable records in recoveries.
    pub redone: u64,
    /// Cases and interruptions that broke a promise.
    pub broken: u64,
}

impl Tally {
    /// Adds another tally's counts.
    pub fn add(&mut self, other: &Tally) {
        self.cuts += other.cuts;
        self.second_cuts += other.second_cuts;
        self.choices += other.choices;
        self.untried = self.untried.saturating_add(other.untried);
        self.losses += other.losses;
        self.cases += other.cases;
        self.interruptions += other.interruptions;
        self.reintegrations += other.reintegrations;
        self.redone += other.redone;
        self.broken += other.broken;
    }
}

/// A case that broke a promise.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The case.
    pub trial: Trial,
    /// The broken promise.
    pub violation: Violation,
    /// The trace, one line per event.
    pub trace: Vec<String>,
}

/// The counts, and the first cases that broke a promise.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The counts.
    pub tally: Tally,
    /// The first failures.
    pub failures: Vec<Failure>,
}

/// Tries every case of `scenario` on `subject`. `seed` determines how long each access takes.
pub fn exhaust(scenario: &'static Scenario, subject: &Subject, seed: u64) -> Outcome {
    let mut check = Check::new(scenario, subject, seed);
    check.all();
    check.outcome
}

impl Trial {
    /// Tries this case alone. Returns its failure, if it fails.
    ///
    /// # Errors
    /// If the case does not exist: its cuts are not among those that the scenario has now.
    pub fn try_alone(&self) -> Result<Option<Failure>, NoTrial> {
        Check::new(self.scenario, &self.subject, self.seed).tell(&self.case)
    }
}

/// The start of a run.
enum Start<'a> {
    Script,
    After(&'a Moment, &'a Cut),
}

struct Check {
    scenario: &'static Scenario,
    subject: Subject,
    script: Script,
    /// The events after a recovery.
    afterwards: Vec<Event>,
    limits: Limits,
    key: SectorKey,
    /// Digests of the cases that were tried.
    tried: BTreeSet<u64>,
    outcome: Outcome,
}

impl Check {
    fn new(scenario: &'static Scenario, subject: &Subject, seed: u64) -> Check {
        Check {
            scenario,
            subject: *subject,
            script: scenario.script(subject, seed),
            afterwards: scenario.afterwards(),
            limits: Limits { consistency: Some(subject.consistency), ..Limits::default() },
            key: SectorKey::new([0; 16]),
            tried: BTreeSet::new(),
            outcome: Outcome::default(),
        }
    }

    fn all(&mut self) {
        let (seen, violation) = self.play(&Start::Script, true, None, Trace::default());
        self.outcome.tally.cuts = seen.moments.len() as u64;
        self.outcome.tally.reintegrations = seen.reintegrations;
        self.judge(&[], None, violation);
        self.interrupt(&Start::Script, &[], seen.steps);
        for (index, moment) in seen.moments.iter().enumerate() {
            self.cut(&[], index, moment);
        }
    }

    /// Tries everything that a cut at `moment` may leave.
    fn cut(&mut self, before: &[Cut], index: usize, moment: &Moment) {
        let first = before.is_empty();
        let effort = Effort { subsets_of: SUBSETS_OF[before.len()], torn: self.scenario.torn && first };
        let choices = Choices::among(&lengths(moment), effort);
        let tally = &mut self.outcome.tally;
        tally.choices += choices.kept.len() as u64;
        tally.untried = tally.untried.saturating_add(choices.untried);
        for kept in choices.kept {
            let mut loose = moment.loose().iter().enumerate();
            let killed = first && loose.all(|(index, loose)| !loose.cached || kept.is_whole(index));
            let digests = moment.digests(|index, sector| kept.finds(index, sector), &self.key);
            for power in [true, false].into_iter().filter(|power| *power || killed) {
                self.lose(before, (index, moment), power, (&kept, &digests));
            }
        }
    }

    /// Tries one choice with no member lost, and with each set of members that may be lost.
    /// `digests` are those of the disks after this choice.
    fn lose(
        &mut self,
        before: &[Cut],
        (index, moment): (usize, &Moment),
        power: bool,
        (kept, digests): (&Kept, &[u64]),
    ) {
        let lost = moment.expendable(power).iter().map(|lost| (lost.clone(), None));
        // If an array opens unclean and degraded, a member that was lost at the cut before may be
        // present again.
        let opens = self.script.options().promises().opens_unclean_and_degraded;
        let gone = before.last().filter(|_| opens).map(|cut| cut.lost.clone()).unwrap_or_default();
        let back = gone.into_iter().map(|back| (Vec::new(), Some(back)));
        let fates: Vec<_> = [(Vec::new(), None)].into_iter().chain(lost).chain(back).collect();
        for (lost, back) in fates {
            let mut hash = DefaultHasher::new();
            // The number of cuts is part of the digest: the recovery from a second cut is not cut
            // again, so an equal state after a first cut must still be tried.
            (moment.digest_of_promises(power, !lost.is_empty()), moment.sessions(), before.len())
                .hash(&mut hash);
            for (index, disk) in moment.disks().iter().enumerate() {
                let dead = (disk.is_dead() && back != Some(index)) || lost.contains(&index);
                (dead, disk.is_stale(), if dead { 0 } else { digests[index] }).hash(&mut hash);
            }
            self.outcome.tally.losses += 1;
            if self.tried.insert(hash.finish()) {
                self.outcome.tally.cases += 1;
                let cut = Cut { moment: index, power, kept: kept.clone(), lost, back };
                self.recover(before, cut, moment);
            }
        }
    }

    /// Tries one case. If it is a first cut and the scenario says so, also cuts its recovery at
    /// every moment.
    fn recover(&mut self, before: &[Cut], cut: Cut, moment: &Moment) {
        let again = self.scenario.again.is_some() && before.is_empty() && cut.power && !cut.kept.is_torn();
        let cuts = [before, &[cut]].concat();
        let start = Start::After(moment, &cuts[before.len()]);
        let (seen, violation) = self.play(&start, again, None, Trace::default());
        self.outcome.tally.redone += seen.redone;
        self.judge(&cuts, None, violation);
        if again {
            self.interrupt(&start, &cuts, seen.recovery.unwrap_or(seen.steps));
            self.outcome.tally.second_cuts += seen.moments.len() as u64;
            for (index, moment) in seen.moments.iter().enumerate() {
                self.cut(&cuts, index, moment);
            }
        }
    }

    /// Makes each member die, or replaces it, after each of the `steps` steps.
    fn interrupt(&mut self, start: &Start<'_>, cuts: &[Cut], steps: u64) {
        if cuts.iter().any(|cut| !cut.lost.is_empty()) {
            return;
        }
        for steps in 1..=steps {
            for slot in 0..self.subject.members {
                for how in Interruption::ALL {
                    let interrupted = Some(Interrupted { how, slot, steps });
                    let (seen, violation) = self.play(start, false, interrupted, Trace::default());
                    // An interruption that the array does not promise to survive is not tried.
                    if seen.interrupted {
                        self.outcome.tally.interruptions += 1;
                        self.judge(cuts, interrupted, violation);
                    }
                }
            }
        }
    }

    /// Plays the script, or the recovery from a cut; then restores full redundancy, and does all
    /// checks.
    fn play(
        &self,
        start: &Start<'_>,
        keeps: bool,
        interrupted: Option<Interrupted>,
        trace: Trace,
    ) -> (Seen, Option<Violation>) {
        let mut seen = Seen::default();
        let result = Violation::catch(|| {
            let mut run = match start {
                Start::Script => Run::new(&self.script, &self.limits, trace)?,
                Start::After(moment, cut) => {
                    let run = Run::after(&self.script, &self.limits, wreck(moment, cut), trace)?;
                    stays_whole(&run, moment, cut)?;
                    run
                }
            };
            run.expect_watch(keeps, interrupted.map(|one| (one.steps, one.how.what(one.slot))));
            let result = match start {
                Start::Script => run.play_events(self.script.events()),
                Start::After(..) => run.recover(&self.afterwards),
            };
            seen = run.seen();
            result?;
            if matches!(start, Start::After(_, cut) if cut.lost.is_empty()) && self.scenario.block > 1 {
                run.rig().blocks_are_whole()?;
            }
            run.make_whole()?;
            run.verify()
        });
        (seen, result.err())
    }

    fn judge(&mut self, cuts: &[Cut], interrupted: Option<Interrupted>, violation: Option<Violation>) {
        let Some(violation) = violation else { return };
        self.outcome.tally.broken += 1;
        if self.outcome.failures.len() < TOLD {
            let case = Case { cuts: cuts.to_vec(), interrupted };
            let told = self.tell(&case).ok().flatten();
            let failure = told.unwrap_or_else(|| self.failure(&case, violation, Vec::new()));
            self.outcome.failures.push(failure);
        }
    }

    fn failure(&self, case: &Case, violation: Violation, trace: Vec<String>) -> Failure {
        let (scenario, subject, seed) = (self.scenario, self.subject, self.script.seed());
        Failure { trial: Trial { scenario, subject, seed, case: case.clone() }, violation, trace }
    }

    /// Tries one case alone, and returns its trace. `None` if it breaks no promise.
    fn tell(&self, case: &Case) -> Result<Option<Failure>, NoTrial> {
        let mut told = Vec::new();
        let of = |number: usize| if number == case.cuts.len() { case.interrupted } else { None };
        let trace = Trace::listening();
        let (mut seen, mut violation) = self.play(&Start::Script, true, of(0), trace.clone());
        let mut lines = trace.lines();
        for (number, cut) in case.cuts.iter().enumerate() {
            let moment = seen.moments.get(cut.moment).filter(|moment| cut.kept.fits(&lengths(moment)));
            let moment = moment.ok_or_else(|| NoTrial::of(cut))?;
            lines.truncate(moment.lines());
            told.append(&mut lines);
            told.push(cut.to_string());
            told.extend(tell_loose(moment, cut));
            let trace = Trace::listening();
            let start = Start::After(moment, cut);
            let (next, how) = self.play(&start, true, of(number + 1), trace.clone());
            lines = trace.lines();
            (seen, violation) = (next, how);
        }
        told.append(&mut lines);
        Ok(violation.map(|violation| self.failure(case, violation, told)))
    }
}

fn lengths(moment: &Moment) -> Vec<usize> {
    moment.loose().iter().map(|loose| loose.content.len()).collect()
}

/// What a cut leaves of a moment.
fn wreck(moment: &Moment, cut: &Cut) -> Wreck {
    let mut disks = moment.found(|index, sector| cut.kept.finds(index, sector));
    cut.lost.iter().for_each(|lost| disks[*lost].die());
    if let Some(back) = cut.back {
        disks[back].revive();
    }
    let oracle = moment.promised(cut.power, !cut.lost.is_empty());
    let cut_off = moment.cut_off().clone();
    Wreck { disks, oracle, cut_off, sessions: moment.sessions(), now: moment.now() }
}

/// With the journal, checks that a crash alone leaves all check units fitting.
fn stays_whole(run: &Run<'_>, moment: &Moment, cut: &Cut) -> Result<(), Violation> {
    let rig = run.rig();
    let promised = rig.promises.opens_unclean_and_degraded && moment.is_whole() && cut.lost.is_empty();
    if promised && rig.is_unsynced() {
        return Err(Violation::NotWhole("nobody was missing, and parity is computed anew".into()));
    }
    Ok(())
}

fn tell_loose(moment: &Moment, cut: &Cut) -> Vec<String> {
    let tell = |(index, loose): (usize, &crate::world::Loose)| {
        let first = loose.content.first().map_or(0, |(sector, _)| *sector);
        let found = (0..loose.content.len()).map(|sector| cut.kept.finds(index, sector));
        let found: String = found.map(|found| if found { '1' } else { '0' }).collect();
        let how = if loose.cached { "cached" } else { "under way" };
        format!("  disk {}, write at {first}, {how}: found {found}", loose.disk)
    };
    moment.loose().iter().enumerate().map(tell).collect()
}

/// The case's name and the promise that it broke.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  {}", self.trial, self.violation)
    }
}
