//! The bad-block log as the array has it in memory. `durable/bad_blocks.rs` keeps track of what is
//! on members.

use parlour_units::{Sector, Sectors, Slot};

use crate::format::bad_block_log::{BadBlockLog, Cause, Full};

/// See the module. The versions are numbered, to know which of them are durable.
#[derive(Debug)]
pub(crate) struct ListedBlocks {
    list: BadBlockLog,
    version: u64,
    /// The last version that added something to the list.
    addition: u64,
}

impl ListedBlocks {
    /// The list that was found at the opening. Unless it is empty, it has to be written again.
    pub(crate) fn new(list: BadBlockLog) -> ListedBlocks {
        let version = u64::from(!list.is_empty());
        ListedBlocks { list, version, addition: version }
    }

    /// Whether some of these sectors are on the list, and count as unreadable.
    pub(crate) fn has(&self, slot: Slot, at: Sector, length: Sectors) -> bool {
        !self.list.is_empty() && self.list.among(Cause::Unreadable, slot, at, length).next().is_some()
    }

    /// The blocks in these sectors that are lost to hosts.
    pub(crate) fn lost(&self, slot: Slot, at: Sector, length: Sectors) -> impl Iterator<Item = Sector> + '_ {
        self.list.among(Cause::Lost, slot, at, length)
    }

    /// Puts blocks on the list. Returns whether any was new.
    pub(super) fn insert(
        &mut self,
        cause: Cause,
        slot: Slot,
        at: Sector,
        length: Sectors,
    ) -> Result<bool, Full> {
        let any = self.list.insert(cause, slot, at, length)?;
        if any {
            self.version += 1;
            self.addition = self.version;
        }
        Ok(any)
    }

    /// Takes blocks off the list that are on it for `cause`. Returns whether any was.
    pub(super) fn remove(&mut self, cause: Cause, slot: Slot, at: Sector, length: Sectors) -> bool {
        let any = !self.list.is_empty() && self.list.remove(cause, slot, at, length);
        self.version += u64::from(any);
        any
    }

    /// Sectors that may still be put on the list.
    pub(crate) fn room(&self) -> Sectors {
        self.list.room()
    }

    /// The blocks that are on the list for `cause`: slot, and first sector on the member.
    pub(crate) fn blocks(&self, cause: Cause) -> impl Iterator<Item = (Slot, Sector)> + '_ {
        self.list.blocks(cause)
    }

    /// Sectors on the list.
    pub(crate) fn sectors(&self) -> Sectors {
        self.list.sectors()
    }

    pub(crate) fn list(&self) -> &BadBlockLog {
        &self.list
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn last_addition(&self) -> u64 {
        self.addition
    }
}
