//! The disks that may become members: former members as they were at the end of a session, and
//! names for former members that are used as new ones.

use parlour_array::Identity;

use crate::disk::Disk;
use crate::identity;
use crate::shelf::Shelf;

/// The identity of a former member that is used as a new one is increased by a multiple of this.
const RENAMED: usize = 1_000;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Stock {
    /// The disks at the end of an earlier session.
    images: Vec<Disk>,
    /// The number of times that a former member was used as a new one.
    renamed: usize,
}

impl Stock {
    /// Keeps images of the disks, unless there are some.
    pub(super) fn keep_images(&mut self, shelf: &Shelf) {
        if self.images.is_empty() {
            self.images = shelf.disks().to_vec();
        }
    }

    /// The disk as it was at the end of an earlier session, if nothing was wrong with it then.
    pub(super) fn image(&self, disk: usize) -> Option<&Disk> {
        self.images.get(disk).filter(|image| !image.is_silently_wrong())
    }

    /// A name for a former member that is used as a new one. `next` is the number of the next disk.
    pub(super) fn rename(&mut self, next: usize) -> Identity {
        self.renamed += 1;
        identity::member(next + RENAMED * self.renamed)
    }
}
