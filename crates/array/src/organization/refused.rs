//! Why choices do not go together.

/// Why a combination of choices makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedCombination {
    /// A layout without check units has nothing to encode.
    #[error("a layout without check units takes no code; use code = none")]
    NoCheckUnits,
    /// A layout with check units needs a rule for them.
    #[error("this layout has check units; name the code that fills them")]
    NoCode,
    /// The xor of one data unit is its copy.
    #[error("the parity of a single data unit is its copy; use code = copy")]
    XorOfOne,
    /// A copy of several data units does not fit into one check unit.
    #[error("one check unit cannot hold copies of several data units; use code = reed-solomon")]
    CopyOfMany,
    /// Only the layout in regions has logs.
    #[error("this layout has no room for a parity log; use layout = regions to log updates")]
    NoLog,
    /// Only the layout in cylinders has free positions.
    #[error("this layout has no free room for units to float in; use layout = cylinders")]
    NoRoom,
    /// There is no choice of copies.
    #[error("there is one copy of each unit to read; use read = direct")]
    OneCopy,
    /// There is a choice of copies.
    #[error("there are several copies of each unit; say which one answers (primary, round-robin, …)")]
    ManyCopies,
}
