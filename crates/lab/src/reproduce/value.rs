//! What a paper prints, what we find, and how far they are apart.

use serde::{Deserialize, Serialize, Serializer};

/// What we find.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number, in the unit of what is published.
    Number(f64),
    /// From the least to the most.
    Range(f64, f64),
    /// Whether what is published holds.
    Holds(bool),
    /// We looked, and there is none: two curves that never cross.
    Absent,
}

impl Serialize for Value {
    /// A number, a list of two, a boolean, or `"none"`.
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
    /// With all digits that are printed, and four at least.
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

/// Four digits that count, and all of a whole number.
pub fn digits(number: f64) -> String {
    digits_to(number, 0)
}

/// Half the width of an interval: two digits that count.
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

/// Less than any number that is told: what is left of binary fractions where there should be zero.
const NOTHING: f64 = 1e-12;

/// The same as `digits` with so many places behind the point at least.
fn digits_to(number: f64, least: usize) -> String {
    // A sum of nothing is -0.
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

/// What a paper prints, as it prints it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Printed {
    text: String,
    says: Says,
}

/// What it says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Says {
    /// So much.
    Number(Decimal),
    /// From so much to so much.
    Range(Decimal, Decimal),
    /// Less than so much.
    Below(Decimal),
    /// More.
    Above(Decimal),
    /// Something that holds or does not: a formula, or a sentence.
    Claim,
}

/// A number and how exact it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decimal {
    /// The number.
    pub value: f64,
    /// Half a unit of its last digit that counts.
    pub half: f64,
}

/// What is printed cannot be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PrintedError {
    /// It is nothing that could be printed.
    #[error(
        "'{0}' is no number (12.5, about 50), no range (3 to 4), no bound (<3), not true, and no formula"
    )]
    Unreadable(String),
    /// A range goes down.
    #[error("'{0}' begins with the larger end: write the smaller one first")]
    Downwards(String),
}

/// How near is near enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Half a unit of the last printed digit.
    PrintedDigits,
    /// This part of what is printed.
    Part(f64),
    /// At the most so many times as much, or as little.
    Factor(f64),
}

/// What we find is of another kind than what is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what was found cannot be compared: a number is for a number, whether it holds for what holds")]
pub struct Unlike;

impl Printed {
    /// Takes a text as what is printed.
    ///
    /// # Errors
    /// It is none.
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

    /// As it is printed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it says.
    pub fn says(&self) -> Says {
        self.says
    }

    /// The number that it is, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self.says {
            Says::Number(number) => Some(number.value),
            Says::Range(..) | Says::Below(_) | Says::Above(_) | Says::Claim => None,
        }
    }

    /// Whether what we find agrees with it. `whole` is what a ratio is compared with (100, of
    /// percents of another array): then the distance from it has to be near as well, because that
    /// is the effect which the number shows.
    ///
    /// A bound is kept or not, and a range holds a number or not: the tolerance is for what is
    /// printed as one number, and for the ends of a range where we find a range, too.
    ///
    /// # Errors
    /// The two cannot be compared.
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

    /// How much more we find, as a part of what is printed; to the nearer end of a range.
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
    /// As far from something as this is, and as exact.
    fn less(self, from: f64) -> Decimal {
        Decimal { value: self.value - from, ..self }
    }

    /// What its digits leave open.
    fn digits(self) -> (f64, f64) {
        // Binary fractions are not quite what is printed.
        let half = self.half + self.value.abs() * ROUNDING;
        (self.value - half, self.value + half)
    }

    /// Digits, and perhaps a sign and a point.
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

    /// The same where zeros at the end of a whole number do not count: who says "about 50" has not
    /// looked at units.
    fn about(self, text: &str) -> Decimal {
        let zeros = if text.contains('.') { 0 } else { text.len() - text.trim_end_matches('0').len() };
        Decimal { half: self.half * 10f64.powi(i32::try_from(zeros).unwrap_or(0)), ..self }
    }
}

/// How far binary fractions may be from what is printed, as a part of it.
const ROUNDING: f64 = 1e-9;

impl Tolerance {
    /// Whether ours is near enough to a number; never less near than what its digits leave open.
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

    /// A measured "3 to 4 ms" was met by 2.0 ms once, because a quarter more and less was allowed.
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

    /// 112% to 115% of another array were met by anything between 90% and 144%.
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
