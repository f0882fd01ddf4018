//! Printed values, our values, and the comparison of the two.

use serde::{Deserialize, Serialize, Serializer};

/// A value of ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number, in the unit of the published one.
    Number(f64),
    /// A range, from the least to the largest.
    Range(f64, f64),
    /// Whether the published claim holds.
    Holds(bool),
    /// The value does not exist, for example because two curves never cross.
    Absent,
}

impl Serialize for Value {
    /// Writes a number, a list of two numbers, a boolean, or `"none"`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Number(number) => serializer.serialize_f64(*number),
            Value::Range(least, most) => [least, most].serialize(serializer),
            Value::Holds(holds) => serializer.serialize_bool(*holds),
            Value::Absent => serializer.serialize_str("none"),
        }
    }
}

impl Value {
    /// Formats the value with as many decimals as are printed, and with at least four significant
    /// digits.
    pub fn beside(self, printed: &str) -> String {
        let places = printed.rsplit_once('.').map_or(0, |(_, places)| places.len());
        match self {
            Value::Number(number) => digits_to(number, places),
            Value::Range(least, most) => {
                format!("{} to {}", digits_to(least, places), digits_to(most, places))
            }
            Value::Holds(true) => "holds".to_owned(),
            Value::Holds(false) => "fails".to_owned(),
            Value::Absent => "none".to_owned(),
        }
    }
}

/// Formats a number with four significant digits, and all digits of a whole number.
pub fn digits(number: f64) -> String {
    digits_to(number, 0)
}

/// Formats the half width of an interval with two significant digits.
pub fn half_width(half: f64) -> String {
    match half.abs() {
        large if large >= 10.0 => format!("{half:.0}"),
        large if large >= 1.0 => format!("{half:.1}"),
        small if small >= 0.1 => format!("{half:.2}"),
        small if small >= 0.01 => format!("{half:.3}"),
        small if small >= 0.001 => format!("{half:.4}"),
        0.0 => "0".to_owned(),
        _ => format!("{half:.1e}"),
    }
}

/// Numbers below this are rounding errors, and stand for zero.
const NOTHING: f64 = 1e-12;

/// Formats like `digits`, with at least this number of decimals.
fn digits_to(number: f64, least: usize) -> String {
    // Adding 0.0 turns -0.0, the sum of an empty iterator, into 0.0.
    let number = if number.abs() < NOTHING { 0.0 } else { number + 0.0 };
    let magnitude = number.abs();
    let places = match magnitude {
        _ if number == number.round() && magnitude < 1e15 => 0,
        large if large >= 1_000.0 => 0,
        large if large >= 100.0 => 1,
        large if large >= 10.0 => 2,
        large if large >= 1.0 => 3,
        small if small >= 1e-4 => 4,
        _ => return format!("{number:.2e}"),
    };
    format!("{number:.*}", places.max(least))
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Number(number)
    }
}

/// A value as the paper prints it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Printed {
    text: String,
    says: Says,
}

/// The meaning of a printed value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Says {
    /// A number.
    Number(Decimal),
    /// A range.
    Range(Decimal, Decimal),
    /// A bound: less than this.
    Below(Decimal),
    /// A bound: more than this.
    Above(Decimal),
    /// A claim that holds or does not: a formula, or a sentence.
    Claim,
}

/// A number with its precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decimal {
    /// The number.
    pub value: f64,
    /// Half a unit of its last significant digit.
    pub half: f64,
}

/// Why a printed value cannot be parsed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PrintedError {
    /// It has none of the known forms.
    #[error(
        "'{0}' is no number (12.5, about 50), no range (3 to 4), no bound (<3), not true, and no formula"
    )]
    Unreadable(String),
    /// The ends of a range are in the wrong order.
    #[error("'{0}' begins with the larger end: write the smaller one first")]
    Downwards(String),
}

/// The accepted deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Half a unit of the last printed digit.
    PrintedDigits,
    /// This fraction of the printed value.
    Part(f64),
    /// At most this factor, up or down.
    Factor(f64),
}

/// The error for a value of a different kind than the printed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what was found cannot be compared: a number is for a number, whether it holds for what holds")]
pub struct Unlike;

impl Printed {
    /// Parses a printed value.
    ///
    /// # Errors
    /// The text is not a printed value.
    pub fn parse(text: &str) -> Result<Printed, PrintedError> {
        let unreadable = || PrintedError::Unreadable(text.to_owned());
        let says = if let Some(bound) = text.strip_prefix('<') {
            Says::Below(Decimal::parse(bound).ok_or_else(unreadable)?)
        } else if let Some(bound) = text.strip_prefix('>') {
            Says::Above(Decimal::parse(bound).ok_or_else(unreadable)?)
        } else if let Some((least, most)) = text.split_once(" to ").or_else(|| text.split_once(" or ")) {
            let ends = Decimal::parse(least).zip(Decimal::parse(most));
            let (least, most) = ends.ok_or_else(unreadable)?;
            if least.value > most.value {
                return Err(PrintedError::Downwards(text.to_owned()));
            }
            Says::Range(least, most)
        } else if let Some(number) = text.strip_prefix("about ") {
            Says::Number(Decimal::parse(number).ok_or_else(unreadable)?.about(number))
        } else if let Some(number) = Decimal::parse(text) {
            Says::Number(number)
        } else if text == "true" || text.contains('/') {
            Says::Claim
        } else {
            return Err(unreadable());
        };
        Ok(Printed { text: text.to_owned(), says })
    }

    /// The printed text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its meaning.
    pub fn says(&self) -> Says {
        self.says
    }

    /// The number, if the value is a single number.
    pub fn number(&self) -> Option<f64> {
        match self.says {
            Says::Number(number) => Some(number.value),
            Says::Range(..) | Says::Below(_) | Says::Above(_) | Says::Claim => None,
        }
    }

    /// Whether our value agrees with the printed one. If the printed value is a ratio, `whole` is
    /// its reference (100 for percent of another array). Then the difference from `whole` has to
    /// agree as well, because it is the effect that the number shows.
    ///
    /// A bound is kept or not, and a range contains a number or not. The tolerance applies to
    /// single printed numbers, and to the ends of a range if our value is a range, too.
    ///
    /// # Errors
    /// The two values cannot be compared.
    pub fn agrees(&self, ours: Value, tolerance: Tolerance, whole: Option<f64>) -> Result<bool, Unlike> {
        let near = |printed: Decimal, ours: f64| {
            let effect = whole.is_none_or(|whole| tolerance.allows(printed.less(whole), ours - whole));
            effect && tolerance.allows(printed, ours)
        };
        match (self.says, ours) {
            (Says::Claim, Value::Holds(holds)) => Ok(holds),
            (Says::Claim, _) | (_, Value::Holds(_)) => Err(Unlike),
            (_, Value::Absent) => Ok(false),
            (Says::Number(printed), Value::Number(ours)) => Ok(near(printed, ours)),
            (Says::Number(printed), Value::Range(least, most)) => {
                let (low, high) = printed.digits();
                Ok(least <= high && low <= most)
            }
            (Says::Range(least, most), Value::Number(ours)) => {
                Ok(least.digits().0 <= ours && ours <= most.digits().1)
            }
            (Says::Range(least, most), Value::Range(low, high)) => Ok(near(least, low) && near(most, high)),
            (Says::Below(bound), Value::Number(ours)) => Ok(ours < bound.value),
            (Says::Above(bound), Value::Number(ours)) => Ok(ours > bound.value),
            (Says::Below(_) | Says::Above(_), Value::Range(..)) => Err(Unlike),
        }
    }

    /// The difference of our value from the printed one, as a fraction of the printed one; for a
    /// range, from its nearer end.
    pub fn difference(&self, ours: Value) -> Option<f64> {
        let from = |printed: Decimal, ours: f64| (ours - printed.value) / printed.value;
        let difference = match (self.says, ours) {
            (Says::Number(printed), Value::Number(ours)) => from(printed, ours),
            (Says::Number(printed), Value::Range(least, most)) => {
                from(printed, printed.value.clamp(least, most))
            }
            (Says::Range(least, _), Value::Number(ours)) if ours < least.value => from(least, ours),
            (Says::Range(_, most), Value::Number(ours)) if ours > most.value => from(most, ours),
            (Says::Below(bound), Value::Number(ours)) if ours >= bound.value => from(bound, ours),
            (Says::Above(bound), Value::Number(ours)) if ours <= bound.value => from(bound, ours),
            (Says::Range(..) | Says::Below(_) | Says::Above(_), Value::Number(_)) => 0.0,
            (Says::Range(least, most), Value::Range(low, high)) => {
                let (low, high) = (from(least, low), from(most, high));
                if low.abs() > high.abs() { low } else { high }
            }
            _ => return None,
        };
        Some(difference).filter(|difference| difference.is_finite())
    }
}

impl Serialize for Printed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl TryFrom<String> for Printed {
    type Error = PrintedError;

    fn try_from(text: String) -> Result<Printed, PrintedError> {
        Printed::parse(&text)
    }
}

impl Decimal {
    /// The difference from `from`, with the same precision.
    fn less(self, from: f64) -> Decimal {
        Decimal { value: self.value - from, ..self }
    }

    /// The interval of all numbers that round to this one.
    fn digits(self) -> (f64, f64) {
        // A decimal number has no exact binary representation.
        let half = self.half + self.value.abs() * ROUNDING;
        (self.value - half, self.value + half)
    }

    /// Parses digits, optionally with a sign and a point.
    fn parse(text: &str) -> Option<Decimal> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
        let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !are_digits(whole) || !are_digits(part) {
            return None;
        }
        let places = digits.split_once('.').map_or(0, |(_, part)| part.len());
        let half = 0.5 * 10f64.powi(-i32::try_from(places).ok()?);
        Some(Decimal { value: text.parse().ok()?, half })
    }

    /// Returns the number with zeros at the end of a whole number not significant: "about 50" does
    /// not claim precision to one unit.
    fn about(self, text: &str) -> Decimal {
        let zeros = if text.contains('.') { 0 } else { text.len() - text.trim_end_matches('0').len() };
        Decimal { half: self.half * 10f64.powi(i32::try_from(zeros).unwrap_or(0)), ..self }
    }
}

/// The relative rounding error of a decimal number in binary.
const ROUNDING: f64 = 1e-9;

impl Tolerance {
    /// Whether our value is near enough to a number. The interval is at least that of the number's
    /// digits.
    fn allows(self, printed: Decimal, ours: f64) -> bool {
        let ((low, high), (least, most)) = (printed.digits(), self.around(printed.value));
        least.min(low) <= ours && ours <= most.max(high)
    }

    fn around(self, value: f64) -> (f64, f64) {
        match self {
            Tolerance::PrintedDigits => (value, value),
            Tolerance::Part(part) => (value - value.abs() * part, value + value.abs() * part),
            Tolerance::Factor(factor) if value < 0.0 => (value * factor, value / factor),
            Tolerance::Factor(factor) => (value / factor, value * factor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str) -> Printed {
        Printed::parse(text).expect("it can be read")
    }

    fn agrees(text: &str, ours: impl Into<Value>) -> bool {
        printed(text).agrees(ours.into(), Tolerance::PrintedDigits, None).expect("they can be compared")
    }

    #[test]
    fn a_number_is_as_exact_as_its_last_digit() {
        assert!(agrees("12.5", 12.45) && agrees("12.5", 12.55));
        assert!(!agrees("12.5", 12.44) && !agrees("12.5", 12.56));
        assert!(agrees("35", 34.5) && !agrees("35", 34.4));
        assert!(agrees("0.95", 0.954) && !agrees("0.950", 0.954));
        assert!(agrees("-3", -3.4) && !agrees("-3", 3.0));
    }

    #[test]
    fn what_is_about_so_much_is_as_exact_as_its_last_digit_that_is_not_zero() {
        assert!(agrees("about 50", 54.9) && !agrees("about 50", 55.1));
        assert!(agrees("about 35", 35.4) && !agrees("about 35", 36.0));
        assert!(agrees("about 3.6", 3.64) && !agrees("about 3.6", 3.7));
    }

    #[test]
    fn ranges_hold_numbers_and_are_met_by_both_ends() {
        assert!(agrees("3 to 4", 3.5) && agrees("3 to 4", 2.6) && !agrees("3 to 4", 4.6));
        assert!(agrees("3.3 to 5.9", Value::Range(3.32, 5.85)));
        assert!(!agrees("3.3 to 5.9", Value::Range(3.32, 5.6)));
        assert!(agrees("3 or 5", Value::Range(3.0, 5.0)));
        assert!(agrees("13", Value::Range(12.0, 14.0)) && !agrees("13", Value::Range(14.0, 15.0)));
    }

    /// Regression test: a measured "3 to 4 ms" agreed with 2.0 ms, because a deviation of a quarter
    /// was accepted.
    #[test]
    fn a_range_agrees_only_if_it_holds_the_number_whatever_is_allowed() {
        let wide = |text, ours| printed(text).agrees(ours, Tolerance::Factor(1.25), None) == Ok(true);
        assert!(wide("3 to 4", Value::Number(3.2)) && wide("3 to 4", Value::Number(2.6)));
        assert!(!wide("3 to 4", Value::Number(2.45)) && !wide("3 to 4", Value::Number(4.9)));
        assert!(wide("13", Value::Range(12.0, 14.0)) && !wide("13", Value::Range(14.0, 15.0)));
        assert!(wide("3.3 to 5.9", Value::Range(3.0, 6.5)), "of two ranges the ends are compared");
        assert!(!wide("3.3 to 5.9", Value::Range(4.5, 5.0)));
    }

    #[test]
    fn bounds_are_strict_whatever_is_allowed() {
        assert!(agrees("<3", 2.9) && !agrees("<3", 3.0));
        assert!(agrees(">34", 34.2) && !agrees(">34", 34.0));
        assert_eq!(printed("<6").agrees(Value::Number(6.1), Tolerance::Part(0.1), None), Ok(false));
    }

    /// Regression test: 112% to 115% of another array agreed with anything between 90% and 144%.
    #[test]
    fn a_ratio_is_judged_by_its_effect_as_well() {
        let judged =
            |text, ours| printed(text).agrees(ours, Tolerance::Factor(1.25), Some(100.0)) == Ok(true);
        assert!(judged("112 to 115", Value::Range(110.0, 118.0)));
        assert!(!judged("112 to 115", Value::Range(100.0, 104.0)));
        assert!(!judged("112 to 115", Value::Range(98.0, 115.0)));
        assert!(judged("90", Value::Number(88.0)) && !judged("90", Value::Number(99.0)));
        assert!(
            judged("75 to 80", Value::Range(70.0, 82.0)) && !judged("75 to 80", Value::Range(70.0, 95.0))
        );
        assert!(judged("100", Value::Number(100.4)) && !judged("100", Value::Number(103.0)));
    }

    #[test]
    fn what_is_not_there_is_no_number() {
        assert!(
            !agrees("95", Value::Absent)
                && !agrees("about 95", Value::Absent)
                && !agrees("<3", Value::Absent)
        );
        assert_eq!(printed("95").difference(Value::Absent), None);
        assert_eq!(Value::Absent.beside("95"), "none");
        assert_eq!(serde_json::to_string(&Value::Absent).expect("it is data"), "\"none\"");
    }

    #[test]
    fn formulas_and_sentences_hold_or_do_not() {
        assert!(agrees("(N-1)/N", Value::Holds(true)) && !agrees("true", Value::Holds(false)));
        assert_eq!(printed("true").agrees(Value::Number(1.0), Tolerance::PrintedDigits, None), Err(Unlike));
        assert_eq!(printed("1").agrees(Value::Holds(true), Tolerance::PrintedDigits, None), Err(Unlike));
    }

    #[test]
    fn a_part_and_a_factor_allow_no_less_than_the_digits() {
        let agrees =
            |text, ours, tolerance| printed(text).agrees(Value::Number(ours), tolerance, None) == Ok(true);
        assert!(agrees("200", 220.0, Tolerance::Part(0.1)) && !agrees("200", 221.0, Tolerance::Part(0.1)));
        assert!(
            agrees("200", 250.0, Tolerance::Factor(1.25)) && agrees("200", 160.0, Tolerance::Factor(1.25))
        );
        assert!(
            !agrees("200", 251.0, Tolerance::Factor(1.25)) && !agrees("200", 159.0, Tolerance::Factor(1.25))
        );
        assert!(agrees("1", 1.4, Tolerance::Part(0.1)));
    }

    #[test]
    fn differences_are_parts_of_what_is_printed() {
        let difference = |text, ours: Value| printed(text).difference(ours).expect("a number");
        assert!((difference("200", Value::Number(190.0)) + 0.05).abs() < 1e-12);
        assert_eq!(difference("3 to 4", Value::Number(3.2)), 0.0);
        assert_eq!(difference("3 to 4", Value::Number(5.0)), 0.25);
        assert_eq!(difference("<3", Value::Number(6.0)), 1.0);
        assert_eq!(printed("true").difference(Value::Holds(true)), None);
        assert_eq!(printed("0").difference(Value::Number(1.0)), None);
    }

    #[test]
    fn values_are_shown_with_the_digits_that_count_and_those_that_are_printed() {
        let shown = [466_683.0, 22_226.4, 447.04, 12.687, 2.04, 0.30459, 0.95, 0.000_012, -3.5, -0.0];
        assert_eq!(
            shown.map(digits),
            ["466683", "22226", "447.0", "12.69", "2.040", "0.3046", "0.9500", "1.20e-5", "-3.500", "0"]
        );
        assert_eq!([1e-15, -3e-17].map(digits), ["0", "0"]);
        let halves = [34.6, 4.51, 0.7805, 0.0119, 0.0, 0.000_451].map(half_width);
        assert_eq!(halves, ["35", "4.5", "0.78", "0.012", "0", "4.5e-4"]);
        let beside = |ours: Value, printed| ours.beside(printed);
        assert_eq!(beside(Value::Number(15.5341), "15.534"), "15.534");
        assert_eq!(beside(Value::Number(18_531.23), "18568.4"), "18531.2");
        assert_eq!(beside(Value::Number(12.0), "12.5"), "12.0");
        assert_eq!(beside(Value::Range(3.32, 5.85), "3.3 to 5.9"), "3.320 to 5.850");
        assert_eq!(beside(Value::Holds(true), "(N-1)/N"), "holds");
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for text in ["", "twelve", "1.", ".5", "1e3", "< 3", "3 to", "about many", "inf", "1,2"] {
            assert_eq!(Printed::parse(text), Err(PrintedError::Unreadable(text.to_owned())), "{text}");
        }
        assert_eq!(Printed::parse("4 to 3"), Err(PrintedError::Downwards("4 to 3".to_owned())));
    }
}
