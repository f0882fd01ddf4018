//! The free places for slaves of a disk.

/// Which places are free.
#[derive(Clone, Debug)]
pub(super) struct Free {
    /// By place.
    is_free: Vec<bool>,
    /// By cylinder: how many are free.
    counts: Vec<u32>,
    /// The places of a cylinder.
    places: u32,
    count: u32,
}

/// Cylinders farther away are not looked at once there are so many places to choose from. A
/// neighbour costs a seek, and one in so many places of a cylinder passes at once.
const ENOUGH: usize = 12;

impl Free {
    /// All places of these cylinders are free.
    pub(super) fn new(cylinders: u32, places: u32) -> Free {
        Free {
            is_free: vec![true; cylinders as usize * places as usize],
            counts: vec![places; cylinders as usize],
            places,
            count: cylinders * places,
        }
    }

    /// The number of free places.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn is_free(&self, place: u32) -> bool {
        self.is_free[place as usize]
    }

    /// A free place is taken.
    pub(super) fn take(&mut self, place: u32) {
        assert!(std::mem::replace(&mut self.is_free[place as usize], false), "no place is taken twice");
        self.counts[(place / self.places) as usize] -= 1;
        self.count -= 1;
    }

    /// A place becomes free.
    pub(super) fn give(&mut self, place: u32) {
        assert!(!std::mem::replace(&mut self.is_free[place as usize], true), "no place is freed twice");
        self.counts[(place / self.places) as usize] += 1;
        self.count += 1;
    }

    /// The free places of the nearest cylinders: at least one if there is any, and not many.
    pub(super) fn near(&self, cylinder: u32) -> Vec<u32> {
        let last = self.counts.len() as u32 - 1;
        let cylinder = cylinder.min(last);
        let mut found = Vec::new();
        for distance in 0..=last {
            let below = cylinder.checked_sub(distance);
            let above = (distance > 0).then_some(cylinder + distance).filter(|above| *above <= last);
            for near in below.into_iter().chain(above) {
                self.add(near, &mut found);
            }
            if found.len() >= ENOUGH.min(self.count as usize) {
                break;
            }
        }
        found
    }

    fn add(&self, cylinder: u32, found: &mut Vec<u32>) {
        if self.counts[cylinder as usize] > 0 {
            let first = cylinder * self.places;
            found.extend((first..first + self.places).filter(|place| self.is_free(*place)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_places_come_first_and_the_last_one_is_found() {
        let mut free = Free::new(5, 12);
        assert_eq!(free.near(2), (24..36).collect::<Vec<_>>());
        (12..48).for_each(|place| free.take(place));
        assert_eq!(free.near(2).len(), 24, "both ends are as far away");
        (0..12).chain(48..59).for_each(|place| free.take(place));
        assert_eq!((free.near(0), free.count()), (vec![59], 1));
        free.take(59);
        assert_eq!(free.near(3), []);
        free.give(7);
        assert_eq!(free.near(9), [7]);
    }
}
