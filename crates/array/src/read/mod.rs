//! The read policy: which of several copies answers a read.

mod choice;
mod turns;

pub(crate) use self::choice::Load;
pub use self::choice::ReadChoice;
pub(crate) use self::turns::Turns;

#[cfg(test)]
mod tests {
    use parlour_units::Unit;

    use super::*;

    /// The copies that `choice` reads, of three with these queues and distances.
    fn read(choice: ReadChoice, loads: [(u32, u64); 3], reads: usize) -> Vec<u16> {
        let load = |unit: Unit| {
            let (queue, distance) = loads[usize::from(unit.get())];
            Load { queue, distance }
        };
        let mut turns = Turns::default();
        let mut read = || choice.pick((0..3).map(Unit::new), load, &mut turns).expect("there are copies");
        (0..reads).map(|_| read().get()).collect()
    }

    #[test]
    fn the_policies_choose_the_first_the_next_the_idlest_or_the_nearest_copy() {
        let loads = [(2, 10), (1, 30), (1, 20)];
        assert_eq!(read(ReadChoice::Primary, loads, 3), [0, 0, 0]);
        assert_eq!(read(ReadChoice::RoundRobin, loads, 4), [0, 1, 2, 0]);
        assert_eq!(read(ReadChoice::ShortestQueue, loads, 2), [2, 2], "ties go to the nearest head");
        assert_eq!(read(ReadChoice::NearestHead, loads, 2), [0, 0]);
    }

    #[test]
    fn random_copies_are_evenly_read_and_the_same_each_time() {
        let first = read(ReadChoice::Random, [(0, 0); 3], 3_000);
        assert_eq!(first, read(ReadChoice::Random, [(0, 0); 3], 3_000));
        for copy in 0..3 {
            let reads = first.iter().filter(|read| **read == copy).count();
            assert!((900..1_100).contains(&reads), "copy {copy}: {reads}");
        }
    }

    #[test]
    fn without_copies_none_is_read_and_no_turn_is_taken() {
        let mut turns = Turns::default();
        let load = |_| Load { queue: 0, distance: 0 };
        for choice in ReadChoice::ALL {
            assert_eq!(choice.pick(std::iter::empty(), load, &mut turns), None);
        }
        let first = ReadChoice::RoundRobin.pick((0..3).map(Unit::new), load, &mut turns);
        assert_eq!(first, Some(Unit::new(0)));
    }
}
