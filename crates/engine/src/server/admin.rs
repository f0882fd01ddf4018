//! Carries out administrators' commands while the array is served.

use std::io;
use std::path::{Path, PathBuf};

use parlour_array::{AdminError, MemberInfo};
use parlour_units::{Sector, Sectors, Slot, Stripe};
use serde_json::{Value, json};

use super::ready::Ready;
use super::waiting::{Waiting, Wanted};
use super::{Server, Stage};
use crate::control::{ClientId, Request};
use crate::frontend::Frontend;
use crate::joining::{Application, History, JoiningError, JoiningMember};

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error(transparent)]
    Array(#[from] AdminError),
    #[error(transparent)]
    JoiningMember(#[from] JoiningError),
    #[error("cannot look at the new member: {0}; try again")]
    System(#[from] io::Error),
    #[error("the server is stopping")]
    Stopping,
}

/// The stripes that are looked at for lost data before anything else is served: some milliseconds.
const STRIPES_AT_A_TIME: u64 = 8_192;

impl<F: Frontend> Server<F> {
    /// Takes commands from clients, and answers those that are done.
    pub(super) fn serve_control(&mut self, ready: &Ready) -> io::Result<()> {
        if ready.reception {
            while let Some((waiting, result)) = self.reception.poll() {
                match waiting {
                    Waiting::Client { client, wanted, force } => {
                        let taken =
                            |one| self.slot_for(wanted).and_then(|slot| self.take_in(one, slot, force));
                        let answer = result.map_err(Refusal::from).and_then(taken);
                        self.answer(client, answer);
                    }
                    Waiting::Return(path) => self.receive_returned(&path, result),
                }
            }
        }
        let now = self.machine.now();
        let Some(control) = &mut self.control else { return Ok(()) };
        let due = control.deadline().is_some_and(|due| due <= now);
        if !ready.control && !due {
            return Ok(());
        }
        control.poll(now)?;
        while let Some((client, request)) = self.control.as_mut().and_then(crate::control::Control::next) {
            self.obey(client, request);
        }
        Ok(())
    }

    /// A search at `path` has ended. It may have found a returning member.
    fn receive_returned(&mut self, path: &Path, result: Result<JoiningMember, JoiningError>) {
        self.returns.has_looked_at(path);
        // A member that may not return, or not yet, is ignored; the next search finds it again. The
        // array reports a member that has returned.
        if let Ok(joining) = result {
            let _ = self.take_in(joining, None, false);
        }
    }

    fn answer(&mut self, client: ClientId, answer: Result<Value, Refusal>) {
        if let Some(control) = &mut self.control {
            control.answer(client, answer.map_err(|refusal| refusal.to_string()));
        }
    }

    fn obey(&mut self, client: ClientId, request: Request) {
        let answer = match request {
            Request::Add { path, force, journal: false } => {
                self.apply(client, path, force, Wanted::SpareOrReturned)
            }
            Request::Add { path, force, journal: true } => self.apply(client, path, force, Wanted::Journal),
            Request::Replace { member, path, force } => {
                self.apply(client, path, force, Wanted::MemberOf(member))
            }
            // Answered when the array has stopped.
            Request::Stop => {
                self.begin_stop();
                Ok(None)
            }
            other => self.obey_at_once(other).map(Some),
        };
        if let Some(answer) = answer.transpose() {
            self.answer(client, answer);
        }
    }

    fn obey_at_once(&mut self, request: Request) -> Result<Value, Refusal> {
        let now = self.machine.now();
        match request {
            Request::Status => Ok(json!(self.status())),
            Request::Lost { from } => {
                let lost = self.machine.array.get().lost(Stripe::new(from), STRIPES_AT_A_TIME);
                let range = |(at, length): (Sector, Sectors)| [at.bytes(), length.bytes().get()];
                let ranges: Vec<[u64; 2]> = lost.ranges.into_iter().map(range).collect();
                Ok(json!({ "ranges": ranges, "next": lost.next.map(Stripe::get) }))
            }
            Request::ScrubStatus => {
                let status = self.machine.array.get().status();
                Ok(json!({ "scrub": status.scrub, "last_scrub": status.last_scrub }))
            }
            Request::Fail { member, force } => {
                self.may_lose(Some(member), force)?;
                self.machine.array.fail(now, Slot::new(member))?;
                Ok(json!({ "failed": member }))
            }
            Request::Remove { member } => {
                let number = self.machine.array.remove(now, Slot::new(member))?;
                let path = number.and_then(|number| {
                    let path = self.machine.roster.path(number.get()).map(ToOwned::to_owned);
                    self.machine.roster.close(number.get());
                    path
                });
                Ok(json!({ "removed": member, "path": path }))
            }
            Request::Rebuild => {
                let slots = self.machine.array.rebuild(now)?;
                Ok(json!({ "rebuilding": slots.iter().map(|slot| slot.get()).collect::<Vec<u16>>() }))
            }
            Request::Scrub { repair } => {
                self.machine.array.scrub(now, repair.into())?;
                Ok(json!({ "scrubbing": true }))
            }
            Request::ScrubCancel => {
                self.machine.array.cancel_scrub(now)?;
                Ok(json!({ "cancelled": true }))
            }
            Request::Add { .. } | Request::Replace { .. } | Request::Stop => {
                unreachable!("these take their time")
            }
        }
    }

    /// Begins to examine a joining member. The answer follows later.
    fn apply(
        &mut self,
        client: ClientId,
        path: PathBuf,
        force: bool,
        wanted: Wanted,
    ) -> Result<Option<Value>, Refusal> {
        let geometry = self.machine.array.get().geometry().clone();
        if self.stage != Stage::Serving {
            return Err(Refusal::Stopping);
        }
        let slot = self.slot_for(wanted)?.map(Slot::new);
        let path = self.machine.roster.in_style(path);
        self.reception
            .admit(Waiting::Client { client, wanted, force }, Application { path, slot, force, geometry })?;
        Ok(None)
    }

    /// The slot that a joining member is to take now, if it is to take a certain one.
    fn slot_for(&self, wanted: Wanted) -> Result<Option<u16>, Refusal> {
        let array = self.machine.array.get();
        let slots = array.geometry().slot_count();
        match wanted {
            Wanted::SpareOrReturned => Ok(None),
            Wanted::MemberOf(slot) if slot >= slots => {
                Err(AdminError::NoSuchMember(Slot::new(slot), slots - 1).into())
            }
            Wanted::MemberOf(slot) => Ok(Some(slot)),
            Wanted::Journal => Ok(Some(array.free_journal_slot()?.get())),
        }
    }

    /// Whether the array may lose the member in `slot`, if there is one.
    fn may_lose(&self, slot: Option<u16>, force: bool) -> Result<(), AdminError> {
        let slot = slot.filter(|_| !force).map(Slot::new);
        slot.map_or(Ok(()), |slot| self.machine.array.get().may_lose(slot))
    }

    /// Takes a joining member that was examined: into `asked` or as a spare, or a returning member
    /// into its own slot. Fails if the array refuses it.
    fn take_in(&mut self, joining: JoiningMember, asked: Option<u16>, force: bool) -> Result<Value, Refusal> {
        if self.stage != Stage::Serving {
            return Err(Refusal::Stopping);
        }
        let now = self.machine.now();
        let (identity, slot) = match &joining.history {
            History::Fresh(identity) => (*identity, asked),
            History::Former(former) => {
                let superblock = &former.superblock;
                let slot = self.machine.array.get().may_return(superblock, &former.bitmaps).map(Slot::get);
                let wanted = slot.filter(|slot| asked.is_none_or(|asked| asked == *slot));
                (superblock.member, Some(wanted.ok_or_else(|| joining.occupied(superblock))?))
            }
        };
        let back = matches!(joining.history, History::Former(_));
        let member = joining.member;
        let info = MemberInfo { identity, length: member.length(), unmaps: member.can_punch() };
        self.may_lose(slot, force)?;
        let number = match slot {
            None => self.machine.array.add_spare(now, info)?,
            Some(slot) => self.machine.array.replace(now, Slot::new(slot), info)?,
        };
        let path = member.path().to_owned();
        let enrolled = self.machine.roster.push(Some(member));
        assert_eq!(enrolled, number.get(), "the array numbers members as the roster does");
        self.hear_events();
        Ok(json!({ "member": number.get(), "slot": slot, "path": path, "back": back }))
    }
}
