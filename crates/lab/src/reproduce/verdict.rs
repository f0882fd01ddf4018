//! The verdicts: whether our value is the one that a paper prints.

use serde::Serialize;

/// Whether our value is the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It agrees, by the rule of the number's kind.
    Agrees,
    /// It agrees because one of our settings was derived from the number or fitted to it. That
    /// confirms nothing.
    Calibrated,
    /// It differs because the paper rounds its own formula's value, or states it loosely.
    Rounded,
    /// It differs because the printed number contradicts the paper's own formula.
    Misprint,
    /// It differs.
    Differs,
    /// The paper's text does not give enough information.
    NotDerivable,
    /// There is no value of ours.
    NotComputed,
}

impl Verdict {
    /// All verdicts.
    pub const ALL: [Verdict; 7] = [
        Verdict::Agrees,
        Verdict::Calibrated,
        Verdict::Rounded,
        Verdict::Misprint,
        Verdict::Differs,
        Verdict::NotDerivable,
        Verdict::NotComputed,
    ];

    /// Its name in the report.
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

    /// Its meaning, in a sentence.
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
