//! Indices: slots, members, units, stripes and regions.

use std::fmt;

macro_rules! index {
    ($(#[$meta:meta])* $name:ident($repr:ty), $word:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($repr);

        impl $name {
            #[doc = concat!("The ", $word, " numbered `index`, from 0.")]
            pub const fn new(index: $repr) -> $name {
                $name(index)
            }

            /// The number itself, from 0.
            pub const fn get(self) -> $repr {
                self.0
            }

            /// As an index into a table in memory.
            pub const fn as_usize(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($word, " {}"), self.0)
            }
        }
    };
}

index!(
    /// A column of an array's layout. One member stands in it at a time, and people name that
    /// member by it: "member 2" is the member in slot 2.
    Slot(u16),
    "member"
);
index!(
    /// A disk of an array, with the number that its driver gave it. Numbers are never reused: a
    /// member that replaces another in its slot has its own number.
    Member(u16),
    "member number"
);
index!(
    /// A unit of a stripe: the data units are numbered first, then the check units.
    Unit(u16),
    "unit"
);
index!(
    /// A set of units that protect one another.
    Stripe(u64),
    "stripe"
);
index!(
    /// A part of the array with its own parity log (Stodolsky §2.1), or with one bit of the
    /// write-intent bitmap.
    Region(u32),
    "region"
);
