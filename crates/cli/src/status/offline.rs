//! The state of an array that is not served, from its members' superblocks.

use std::path::PathBuf;

use parlour_array::organization::Consistency;
use parlour_array::{Assembly, AssemblyError, Candidate, EntryState, Verdict as Standing};
use parlour_units::{Bytes, Slot};
use serde::Serialize;

use crate::console::Columns;
use crate::members::{Looks, MembersError};
use crate::settings::describe;
use crate::wording::devices;

use super::verdict::{Finding, Health, Verdict};

/// Why the state is unknown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OfflineError {
    #[error(transparent)]
    Members(#[from] MembersError),
    #[error(transparent)]
    Assembly(#[from] AssemblyError),
}

/// The state according to the members.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Offline {
    served: bool,
    name: String,
    identity: String,
    /// "stopped", or "unclean" if the array was not shut down cleanly.
    mode: &'static str,
    organization: &'static str,
    consistency: Consistency,
    verdict: Option<Verdict>,
    #[serde(skip)]
    about: String,
    #[serde(skip)]
    survives: bool,
    /// Whether the array has parity, from which a member's data may have to be computed.
    #[serde(skip)]
    keeps_parity: bool,
    capacity: Bytes,
    block: Bytes,
    stripe_unit: Bytes,
    fault_tolerance: u16,
    #[serde(skip)]
    journal_copies: u16,
    members: Vec<OfflineMember>,
    journals: Vec<OfflineMember>,
    /// Files that are not usable members of this array.
    others: Vec<OfflineMember>,
}

/// A slot, or a file without a slot.
#[derive(Clone, Debug, Serialize)]
struct OfflineMember {
    slot: Option<u16>,
    state: String,
    path: Option<String>,
}

impl Offline {
    /// Examines the members at `paths`, which may be one directory.
    ///
    /// # Errors
    /// They are not members, or form no array.
    pub(crate) fn look(paths: &[PathBuf]) -> Result<Offline, OfflineError> {
        let looks = Looks::default();
        let candidates: Vec<Candidate> =
            looks.look_at_all(&looks.expand(paths)?).into_iter().collect::<Result<_, _>>()?;
        let assembly = Assembly::new(&candidates)?;
        let geometry = &assembly.geometry;
        let mut members = places(&assembly, &candidates);
        let mut journals = members.split_off(geometry.members().into());
        journals.retain(|journal| !journal.slot.is_some_and(|slot| assembly.is_vacant(Slot::new(slot))));
        let mut offline = Offline {
            verdict: None,
            survives: assembly.survives(),
            keeps_parity: geometry.keeps_parity(),
            served: false,
            name: assembly.superblock.name.clone(),
            identity: assembly.superblock.array.to_string(),
            mode: if assembly.superblock.clean { "stopped" } else { "unclean" },
            organization: geometry.stored().organization_name(),
            consistency: geometry.consistency(),
            about: describe(geometry.stored()),
            capacity: geometry.capacity().bytes(),
            block: geometry.block().bytes(),
            stripe_unit: geometry.layout().unit_length().bytes(),
            fault_tolerance: geometry.fault_tolerance(),
            journal_copies: geometry.journal_copies(),
            members,
            journals,
            others: others(&assembly, &candidates),
        };
        offline.verdict = Some(judge(&offline));
        Ok(offline)
    }

    pub(crate) fn verdict(&self) -> &Verdict {
        self.verdict.as_ref().expect("it is given at the end of the look")
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn is_clean(&self) -> bool {
        self.mode == "stopped"
    }

    fn is_journaled(&self) -> bool {
        self.consistency.is_journal()
    }

    /// Whether the present members have all data.
    fn survives(&self) -> bool {
        self.survives
    }

    /// The members that are missing, failed or not rebuilt, in words.
    fn absent(&self) -> Vec<String> {
        let absent = |(_, member): &(&str, &OfflineMember)| member.state != "active";
        let told = |(what, member): (&str, &OfflineMember)| {
            let slot = member.slot.unwrap_or_default();
            match member.state.as_str() {
                "rebuilding" => format!("{what} {slot} is not yet rebuilt"),
                "failed" => format!("{what} {slot} has failed"),
                _ => format!("{what} {slot} is missing"),
            }
        };
        let members = self.members.iter().map(|member| ("member", member));
        let journals = self.journals.iter().map(|journal| ("journal device", journal));
        members.chain(journals).filter(absent).map(told).collect()
    }

    pub(crate) fn text(&self) -> String {
        let state = match (self.mode, self.consistency) {
            ("stopped", _) => "not served; it was shut down cleanly",
            (_, Consistency::Bitmap) => {
                "not served; it was not shut down cleanly, and is resynced when it is served"
            }
            (_, Consistency::Journal) => {
                "not served; it was not shut down cleanly, and is recovered from its logs when it is served"
            }
        };
        let layout = format!(
            "{}, {}, {} for data, stripe unit {}, block {}",
            self.about,
            devices(self.members.len(), self.journals.len()),
            self.capacity,
            self.stripe_unit,
            self.block
        );
        let mut columns = Columns::new(["Member", "State", "Path"]).right([0]);
        let journal = |journal: &OfflineMember| OfflineMember {
            state: format!("journal, {}", journal.state),
            ..journal.clone()
        };
        let journals: Vec<OfflineMember> = self.journals.iter().map(journal).collect();
        for member in self.members.iter().chain(&journals).chain(&self.others) {
            let slot = member.slot.map_or("-".to_owned(), |slot| slot.to_string());
            let path = member.path.clone().unwrap_or_else(|| "-".to_owned());
            columns.row([slot, member.state.clone(), path]);
        }
        format!(
            "{}\n\n    array: {}\n       id: {}\n    state: {state}\n   layout: {layout}\n\n{}",
            self.verdict().sentence,
            self.name,
            self.identity,
            columns.text()
        )
    }
}

fn places(assembly: &Assembly, candidates: &[Candidate]) -> Vec<OfflineMember> {
    let member = |(slot, index): (usize, &Option<usize>)| {
        let state = match (assembly.superblock.table[slot].state, index) {
            (EntryState::Rebuilding { .. }, Some(_)) => "rebuilding",
            (EntryState::Failed { .. } | EntryState::MayReturn { .. }, _) => "failed",
            (_, Some(_)) => "active",
            (_, None) => "missing",
        };
        OfflineMember {
            slot: Some(slot as u16),
            state: state.to_owned(),
            path: index.map(|index| candidates[index].name.clone()),
        }
    };
    assembly.slots.iter().enumerate().map(member).collect()
}

fn others(assembly: &Assembly, candidates: &[Candidate]) -> Vec<OfflineMember> {
    let other = |(verdict, candidate): (&Standing, &Candidate)| {
        let (slot, state) = match verdict {
            Standing::Member(_) => return None,
            Standing::Spare => (None, "spare".to_owned()),
            Standing::Stale(slot) | Standing::Older(slot) => (Some(*slot), "stale".to_owned()),
            Standing::Foreign => (None, "of another array".to_owned()),
            Standing::Unknown => (None, "not known to the array".to_owned()),
            Standing::Truncated(slot) => (Some(*slot), "truncated".to_owned()),
            Standing::Damaged(error) => (None, error.to_string()),
        };
        Some(OfflineMember { slot, state, path: Some(candidate.name.clone()) })
    };
    assembly.verdicts.iter().zip(candidates).filter_map(other).collect()
}

/// The verdict on an array that is not served.
fn judge(offline: &Offline) -> Verdict {
    let findings = [idle_absent(offline), idle_unclean(offline), idle_journals(offline)];
    let active = devices(offline.members.len(), offline.journals.len());
    let well = format!("not served; it was shut down cleanly, and all its {active} are there");
    Verdict::from_findings(findings.into_iter().flatten().collect(), &well)
}

fn idle_absent(offline: &Offline) -> Option<Finding> {
    let absent = offline.absent();
    if absent.is_empty() {
        return None;
    }
    let told = format!("not served; {}", absent.join(", and "));
    Some(match offline.survives() {
        true => Finding {
            health: Health::Degraded,
            reason: format!("{told}; no data is lost, and the others can be served"),
            remedy: Some("name the missing member too, or replace it once the array is served".to_owned()),
        },
        false => Finding {
            health: Health::AtRisk,
            reason: format!("{told}, which is more than the array survives: it cannot be served"),
            remedy: Some("name the missing members too, or bring them back; or read what is left ('parlour serve --read-only --force')".to_owned()),
        },
    })
}

/// After a crash the journal devices are needed: what was acknowledged may stand there alone.
fn idle_journals(offline: &Offline) -> Option<Finding> {
    let missing = offline.journals.iter().filter(|journal| journal.state == "missing").count();
    let needed = !offline.is_clean() && missing >= usize::from(offline.journal_copies);
    needed.then(|| Finding {
        health: Health::AtRisk,
        reason: "the journal devices that are missing may hold what was written last".to_owned(),
        remedy: Some("name them too, or bring them back, before it is served".to_owned()),
    })
}

fn idle_unclean(offline: &Offline) -> Option<Finding> {
    if offline.is_clean() {
        return None;
    }
    let whole = offline.absent().is_empty();
    let told = "not served, and it was not shut down cleanly";
    let (health, reason) = match (offline.is_journaled(), whole || !offline.keeps_parity) {
        (true, _) => (Health::Degraded, format!("{told}: it is recovered from its logs when it is served")),
        (false, true) => {
            (Health::Degraded, format!("{told}: what was being written is resynced when it is served"))
        }
        (false, false) => (
            Health::AtRisk,
            format!("{told}: what was being written may read wrong where it lay on a missing member"),
        ),
    };
    Some(Finding { health, reason, remedy: Some("serve it".to_owned()) })
}
