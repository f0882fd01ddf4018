//! The choice of instructions.

use super::kernel::{Multiplication, Vector};
#[cfg(target_arch = "aarch64")]
use super::neon::Neon;
use super::pass::Pass;
#[cfg(target_arch = "x86_64")]
use super::x86::{Avx2, Gfni256, Gfni512, Ssse3};

/// Instructions that sums can be computed with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Instructions {
    #[cfg(target_arch = "x86_64")]
    Gfni512,
    #[cfg(target_arch = "x86_64")]
    Gfni256,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Ssse3,
    #[cfg(target_arch = "aarch64")]
    Neon,
    Portable,
}

impl Instructions {
    /// The fastest first.
    const ALL: &[Instructions] = &[
        #[cfg(target_arch = "x86_64")]
        Self::Gfni512,
        #[cfg(target_arch = "x86_64")]
        Self::Gfni256,
        #[cfg(target_arch = "x86_64")]
        Self::Avx2,
        #[cfg(target_arch = "x86_64")]
        Self::Ssse3,
        #[cfg(target_arch = "aarch64")]
        Self::Neon,
        Self::Portable,
    ];

    /// Those that this processor has, the fastest first.
    pub(super) fn found() -> impl Iterator<Item = Instructions> {
        Self::ALL.iter().copied().filter(|instructions| instructions.is_found())
    }

    fn is_found(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Gfni512 => is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("gfni"),
            #[cfg(target_arch = "x86_64")]
            Self::Gfni256 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("gfni"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Self::Ssse3 => is_x86_feature_detected!("ssse3"),
            // It is part of the architecture's baseline.
            #[cfg(target_arch = "aarch64")]
            Self::Neon => true,
            Self::Portable => true,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Gfni512 => "GFNI and AVX-512",
            #[cfg(target_arch = "x86_64")]
            Self::Gfni256 => "GFNI and AVX2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Self::Ssse3 => "SSSE3",
            #[cfg(target_arch = "aarch64")]
            Self::Neon => "NEON",
            Self::Portable => "portable",
        }
    }

    /// Computes the sums of a pass.
    ///
    /// # Panics
    /// If this processor does not have the instructions, or if outputs do not have the span.
    ///
    /// # Safety
    /// All sources have the span.
    pub(super) unsafe fn run(self, pass: &mut Pass<'_, '_>) {
        assert!(self.is_found(), "this processor does not have {}", self.name());
        // SAFETY: these functions need the processor's features, which the line above found, and
        // the span, which the caller vouches for.
        unsafe {
            match self {
                #[cfg(target_arch = "x86_64")]
                Self::Gfni512 => gfni512::run(pass),
                #[cfg(target_arch = "x86_64")]
                Self::Gfni256 => gfni256::run(pass),
                #[cfg(target_arch = "x86_64")]
                Self::Avx2 => avx2::run(pass),
                #[cfg(target_arch = "x86_64")]
                Self::Ssse3 => ssse3::run(pass),
                #[cfg(target_arch = "aarch64")]
                Self::Neon => neon::run(pass),
                Self::Portable => pass.run_portable(),
            }
        }
    }
}

/// Calls the method of a pass for its number of outputs.
macro_rules! of_outputs {
    ($pass:ident, $run:ident, $by:ty, [$one:literal, $two:literal, $three:literal, $four:literal]) => {
        // SAFETY: the function has the features; its caller vouches for the rest.
        unsafe {
            match $pass.outputs.len() {
                1 => $pass.$run::<$by, 1, $one>(),
                2 => $pass.$run::<$by, 2, $two>(),
                3 => $pass.$run::<$by, 3, $three>(),
                4 => $pass.$run::<$by, 4, $four>(),
                _ => unreachable!("a pass has 1 to 4 outputs"),
            }
        }
    };
}

/// A module with functions that are compiled for these features. For each number of outputs, it
/// takes the vectors of a block: those of [`Pass::run`], and those of [`Pass::run_streamed`]. These
/// were measured on Zen 4, except for NEON; more of them need more registers than there are.
macro_rules! compiled {
    ($name:ident, $features:literal, $by:ty, $cached:tt, $streamed:tt) => {
        mod $name {
            use super::*;

            #[target_feature(enable = $features)]
            pub(super) unsafe fn run(pass: &mut Pass<'_, '_>) {
                if pass.is_streamed(<$by as Multiplication>::Vector::BYTES) {
                    // SAFETY: as for this function, and it has been asked.
                    unsafe { streamed(pass) };
                } else {
                    of_outputs!(pass, run, $by, $cached);
                }
            }

            /// Apart, because only this one needs a large stack, which costs time.
            #[inline(never)]
            #[target_feature(enable = $features)]
            unsafe fn streamed(pass: &mut Pass<'_, '_>) {
                of_outputs!(pass, run_streamed, $by, $streamed);
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
compiled!(gfni512, "avx512f,gfni", Gfni512, [8, 8, 4, 4], [4, 4, 2, 2]);
#[cfg(target_arch = "x86_64")]
compiled!(gfni256, "avx2,gfni", Gfni256, [8, 4, 4, 2], [4, 4, 2, 2]);
#[cfg(target_arch = "x86_64")]
compiled!(avx2, "avx2", Avx2, [8, 4, 2, 2], [4, 4, 2, 2]);
#[cfg(target_arch = "x86_64")]
compiled!(ssse3, "ssse3", Ssse3, [4, 2, 1, 1], [4, 2, 1, 1]);
#[cfg(target_arch = "aarch64")]
compiled!(neon, "neon", Neon, [8, 4, 4, 4], [4, 4, 2, 2]);
