//! The parts of writes that were not durable that are found after a power cut: which choices are
//! tried, and their notation.

use std::fmt;
use std::str::FromStr;

/// If all writes together have at most this many sectors, every subset of sectors is tried.
const FEW_SECTORS: usize = 6;
/// A write longer than this is not torn.
const LONGEST_TORN: usize = 64;

/// The part of a write that is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Nothing,
    All,
    /// The sectors whose bits are set, of this number of sectors.
    Torn(u64, u32),
}

impl Part {
    fn whole(found: bool) -> Part {
        if found { Part::All } else { Part::Nothing }
    }
}

/// What is found of each write that was not durable, in the order in which the writes reach their
/// members.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kept(Vec<Part>);

impl Kept {
    /// Whether `sector` of write `index` is found.
    pub(super) fn finds(&self, index: usize, sector: usize) -> bool {
        match self.0[index] {
            Part::Nothing => false,
            Part::All => true,
            Part::Torn(mask, _) => mask >> sector & 1 == 1,
        }
    }

    /// Whether all of write `index` is found.
    pub(super) fn is_whole(&self, index: usize) -> bool {
        self.0[index] == Part::All
    }

    /// Whether only a part of some write is found.
    pub(super) fn is_torn(&self) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Torn(..)))
    }

    /// Whether this is a choice for writes of these lengths in sectors.
    pub(super) fn fits(&self, lengths: &[usize]) -> bool {
        let fits = |(part, length): (&Part, &usize)| match part {
            Part::Torn(_, sectors) => *sectors as usize == *length,
            _ => true,
        };
        self.0.len() == lengths.len() && self.0.iter().zip(lengths).all(fits)
    }
}

/// The extent of the choices that are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Effort {
    /// Up to this many writes, every subset is tried. Of more writes: every subset of the last
    /// ones, with all or none of the earlier ones; and each single write found, or missing.
    pub(super) subsets_of: usize,
    /// Each single write is also torn, with all or none of the others: each prefix, each suffix,
    /// each sector. If all writes together have few sectors: every subset of sectors.
    pub(super) torn: bool,
}

/// The choices that are tried, and the number of subsets of whole writes that are not.
#[derive(Debug)]
pub(super) struct Choices {
    pub(super) kept: Vec<Kept>,
    pub(super) untried: u64,
}

impl Choices {
    /// The choices for writes of these lengths in sectors.
    pub(super) fn among(lengths: &[usize], effort: Effort) -> Choices {
        let mut kept = subsets(lengths.len(), effort.subsets_of);
        kept.sort();
        kept.dedup();
        let all = 1u64.checked_shl(lengths.len() as u32).unwrap_or(u64::MAX);
        let untried = all - kept.len() as u64;
        if effort.torn {
            let few = lengths.iter().sum::<usize>() <= FEW_SECTORS;
            kept.extend(if few { all_torn(lengths) } else { torn_alone(lengths) });
        }
        Choices { kept, untried }
    }
}

fn subsets(count: usize, most: usize) -> Vec<Kept> {
    let free = count.min(most);
    let older = count - free;
    let mut kept = Vec::new();
    for bits in 0..1u64 << free {
        for before in [false, true] {
            let last = (0..free).map(|index| Part::whole(bits >> index & 1 == 1));
            kept.push(Kept(std::iter::repeat_n(Part::whole(before), older).chain(last).collect()));
        }
    }
    if older > 0 {
        for alone in 0..count {
            for found in [false, true] {
                kept.push(Kept((0..count).map(|index| Part::whole((index == alone) == found)).collect()));
            }
        }
    }
    kept
}

/// Every subset of sectors that is not a subset of whole writes.
fn all_torn(lengths: &[usize]) -> Vec<Kept> {
    let sectors: usize = lengths.iter().sum();
    let choice = |bits: u64| {
        let mut start = 0;
        let part = |length: &usize| {
            let mask = bits >> start & ((1 << length) - 1);
            start += length;
            match mask {
                0 => Part::Nothing,
                mask if mask == (1 << length) - 1 => Part::All,
                mask => Part::Torn(mask, *length as u32),
            }
        };
        Kept(lengths.iter().map(part).collect())
    };
    (0..1u64 << sectors).map(choice).filter(Kept::is_torn).collect()
}

fn torn_alone(lengths: &[usize]) -> Vec<Kept> {
    let mut kept = Vec::new();
    for (index, length) in lengths.iter().copied().enumerate() {
        if !(2..=LONGEST_TORN).contains(&length) {
            continue;
        }
        let all = u64::MAX >> (64 - length);
        let prefixes = (1..length).map(|end| (1 << end) - 1);
        let mut masks: Vec<u64> = prefixes.flat_map(|prefix| [prefix, all ^ prefix]).collect();
        masks.extend((0..length).map(|sector| 1 << sector));
        masks.sort_unstable();
        masks.dedup();
        for mask in masks {
            for others in [false, true] {
                let mut parts = vec![Part::whole(others); lengths.len()];
                parts[index] = Part::Torn(mask, length as u32);
                kept.push(Kept(parts));
            }
        }
    }
    kept
}

/// One sign per write: `-` for nothing of it, `+` for all of it, or the bits of its sectors in
/// brackets.
impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bit = |found: bool| if found { "1" } else { "0" };
        for part in &self.0 {
            match part {
                Part::Nothing => f.write_str("-")?,
                Part::All => f.write_str("+")?,
                Part::Torn(mask, sectors) => {
                    f.write_str("[")?;
                    (0..*sectors).try_for_each(|sector| f.write_str(bit(mask >> sector & 1 == 1)))?;
                    f.write_str("]")?;
                }
            }
        }
        Ok(())
    }
}

/// The text is not the notation of a [`Kept`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what is kept is written as '-' (nothing), '+' (all) or sectors' bits in brackets, for each write")]
pub(super) struct NotKept;

impl FromStr for Kept {
    type Err = NotKept;

    fn from_str(text: &str) -> Result<Kept, NotKept> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(sign) = rest.chars().next() {
            rest = &rest[sign.len_utf8()..];
            parts.push(match sign {
                '-' => Part::Nothing,
                '+' => Part::All,
                '[' => {
                    let (bits, behind) = rest.split_once(']').ok_or(NotKept)?;
                    rest = behind;
                    torn(bits)?
                }
                _ => return Err(NotKept),
            });
        }
        Ok(Kept(parts))
    }
}

fn torn(bits: &str) -> Result<Part, NotKept> {
    if bits.len() > LONGEST_TORN || !bits.bytes().all(|bit| matches!(bit, b'0' | b'1')) {
        return Err(NotKept);
    }
    let mask = bits.bytes().rev().fold(0, |mask, bit| mask << 1 | u64::from(bit == b'1'));
    Ok(Part::Torn(mask, bits.len() as u32))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn written(lengths: &[usize], subsets_of: usize, torn: bool) -> (BTreeSet<String>, u64) {
        let choices = Choices::among(lengths, Effort { subsets_of, torn });
        let kept: BTreeSet<String> = choices.kept.iter().map(ToString::to_string).collect();
        assert_eq!(kept.len(), choices.kept.len(), "no choice is tried twice");
        assert!(choices.kept.iter().all(|kept| kept.fits(lengths)));
        assert!(choices.kept.iter().all(|kept| kept.to_string().parse() == Ok(kept.clone())));
        (kept, choices.untried)
    }

    #[test]
    fn of_few_writes_every_subset_is_tried() {
        assert_eq!(written(&[], 3, true), ([String::new()].into(), 0));
        let all = ["--", "-+", "+-", "++"].map(String::from);
        assert_eq!(written(&[1, 1], 2, true), (all.into(), 0));
        assert_eq!(written(&[1; 10], 10, false).0.len(), 1_024);
    }

    #[test]
    fn of_many_the_last_and_each_alone_are() {
        let (kept, untried) = written(&[1; 4], 1, false);
        let all = ["----", "---+", "+++-", "++++", "+---", "-+--", "--+-", "-+++", "+-++", "++-+"];
        assert_eq!(kept, all.map(String::from).into());
        assert_eq!(untried, 6);
    }

    #[test]
    fn a_write_is_torn_at_each_sector() {
        assert_eq!(written(&[2, 1], 2, true).0.len(), 8, "every subset of three sectors");
        let (kept, _) = written(&[3, 4], 2, true);
        for torn in ["[100]-", "[011]+", "[010]-", "-[0001]", "+[1110]", "+[0010]"] {
            assert!(kept.contains(torn), "{torn}");
        }
        assert!(!kept.contains("[101]-") && !kept.contains("[100][1000]"));
    }
}
