//! The kinds of published numbers, and when ours agrees: one rule for each kind. There are no rules
//! for single numbers.

use serde::{Deserialize, Serialize};

use super::value::Tolerance;

/// How the authors obtained a published number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It follows from other printed numbers.
    Formula,
    /// The authors computed it in a way that is not printed: by simulation, or by a model that they
    /// only name.
    Simulated,
    /// The authors measured it on their machine.
    Measured,
    /// The paper takes it as given.
    Stated,
}

/// The accepted deviation of our value from a simulated one, as a fraction.
const OF_SIMULATED: f64 = 0.10;
/// The accepted factor between our value and a measured one: the machines differ.
const OF_MEASURED: f64 = 1.25;
/// Numbers that were measured alike have an order if they differ by more than this fraction of the
/// larger.
pub(super) const IN_ORDER: f64 = 0.10;

/// The rule for numbers of all kinds, as text for the report.
pub const OF_ALL: &str = "A bound is kept or not, and a range agrees with a number only if it holds it, to within half a unit of the last \
                          printed digit. A number that repeats another is shown, and not counted.";

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 4] = [Kind::Formula, Kind::Simulated, Kind::Measured, Kind::Stated];

    /// Its name in the report.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Formula => "formula",
            Kind::Simulated => "simulated",
            Kind::Measured => "measured",
            Kind::Stated => "stated",
        }
    }

    /// The accepted deviation.
    pub const fn tolerance(self) -> Tolerance {
        match self {
            Kind::Formula | Kind::Stated => Tolerance::PrintedDigits,
            Kind::Simulated => Tolerance::Part(OF_SIMULATED),
            Kind::Measured => Tolerance::Factor(OF_MEASURED),
        }
    }

    /// Whether the simulation's value is compared, if there is one, and otherwise the model's.
    pub(super) const fn prefers_simulation(self) -> bool {
        matches!(self, Kind::Simulated | Kind::Measured)
    }

    /// The rule of this kind, as text for the report.
    pub fn rule(self) -> String {
        match self {
            Kind::Formula => {
                "follows from what the paper prints: agrees to within half a unit of the last printed digit"
                    .to_owned()
            }
            Kind::Simulated => format!(
                "worked out by the authors in a way that is not printed: agrees to within {:.0}%",
                OF_SIMULATED * 100.0
            ),
            Kind::Measured => format!(
                "measured on the authors' machine: agrees if ours is {:.2} to {OF_MEASURED:.2} times as much, and in their order among what \
                 was measured alike (where that is over {:.0}% apart); of what is told as a part of a whole, or in comparison with another \
                 array, the distance from the whole, or from equal, has to agree likewise",
                1.0 / OF_MEASURED,
                IN_ORDER * 100.0
            ),
            Kind::Stated => {
                "taken as given by the paper: agrees to within half a unit of the last printed digit"
                    .to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_say_the_tolerances_that_are_used() {
        assert_eq!(Kind::Simulated.tolerance(), Tolerance::Part(0.1));
        assert!(Kind::Simulated.rule().contains("within 10%"));
        assert_eq!(Kind::Measured.tolerance(), Tolerance::Factor(1.25));
        assert!(Kind::Measured.rule().contains("0.80 to 1.25 times"));
        assert!(Kind::Formula.rule().contains("last printed digit"));
        assert_eq!(Kind::Formula.tolerance(), Kind::Stated.tolerance());
    }
}
