//! What is asked for: where, how much, and whether it is read or written.

use parlour_units::{Sector, Sectors};

use crate::place::Places;
use crate::random::Random;
use crate::size::Sizes;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Whether it is a read; else it is a write.
    pub reads: bool,
    /// Where.
    pub at: Sector,
    /// How much.
    pub length: Sectors,
}

/// Requests, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// The part of requests that read.
    pub reads: f64,
    /// How much.
    pub sizes: Sizes,
    /// Where.
    pub places: Places,
}

impl Stream {
    /// The next request.
    pub fn next(&mut self, random: &mut Random) -> Ask {
        let length = self.sizes.draw(random);
        let at = self.places.draw(random, length);
        Ask { reads: random.happens(self.reads), at, length }
    }
}
