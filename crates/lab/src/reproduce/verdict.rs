//! Whether what we find is what a paper prints.

use serde::Serialize;

/// Whether ours is the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// By the rule of its kind.
    Agrees,
    /// It does, because a setting of ours was derived from it or fitted to it: that confirms
    /// nothing.
    Calibrated,
    /// It does not, because the paper rounds, or words loosely, what its own formula gives.
    Rounded,
    /// It does not, because what is printed contradicts the paper's own formula.
    Misprint,
    /// It does not.
    Differs,
    /// The text does not say enough.
    NotDerivable,
    /// Nothing was found.
    NotComputed,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Verdict; 7] = [
        Verdict::Agrees,
        Verdict::Calibrated,
        Verdict::Rounded,
        Verdict::Misprint,
        Verdict::Differs,
        Verdict::NotDerivable,
        Verdict::NotComputed,
    ];

    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Calibrated => "calibrated",
            Verdict::Rounded => "rounded",
            Verdict::Misprint => "misprint",
            Verdict::Differs => "differs",
            Verdict::NotDerivable => "not derivable",
            Verdict::NotComputed => "not computed",
        }
    }

    /// What it says, in a sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            Verdict::Agrees => "ours is the paper's, by the rule of the number's kind",
            Verdict::Calibrated => {
                "the same, but a setting of ours was derived from this number or fitted to it, so that it confirms nothing"
            }
            Verdict::Rounded => {
                "ours is what the paper's own formula gives, which the paper rounds or words loosely"
            }
            Verdict::Misprint => {
                "ours is what the paper's own formula gives, and what is printed contradicts it"
            }
            Verdict::Differs => "ours is not the paper's",
            Verdict::NotDerivable => "the text does not say enough to get at the number",
            Verdict::NotComputed => "nothing was found",
        }
    }
}
