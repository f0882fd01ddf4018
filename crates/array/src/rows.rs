//! Choices as tables: a row for each choice, with what it stands for.

/// Defines for a choice `ALL`, in the order of the rows, and the function that looks a row up. The
/// order is part of the format: members store the number of a row.
macro_rules! rows {
    ($choice:ident, $look_up:ident -> $meaning:ty;
     $($(#[$when:meta])* $row:ident $(($of:path))? => $means:path,)*) => {
        impl $choice {
            /// All choices, by the numbers under which members store them.
            pub const ALL: &[$choice] = &[$($(#[$when])* $choice::$row $(($of))?),*];

            pub(super) fn $look_up(self) -> &'static $meaning {
                match self {
                    $($(#[$when])* $choice::$row $(($of))? => &$means,)*
                }
            }
        }
    };
}

pub(crate) use rows;
