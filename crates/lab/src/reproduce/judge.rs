//! Verdicts: compares each printed number with our finding, by the rule of its kind.

use super::kind::{IN_ORDER, Kind};
use super::library::{Library, Published};
use super::study::Finding;
use super::value::Value;
use super::verdict::Verdict;

/// A verdict with its reasons.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judgement {
    pub(super) verdict: Verdict,
    pub(super) why: Vec<String>,
    pub(super) erratum: Option<String>,
}

/// A finding, or the reason why there is none.
pub(super) type Found = Result<Finding, Missing>;

/// Why there is no finding to judge.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Missing {
    NotDerivable(&'static str),
    NotComputed(String),
}

/// The reason for a number for which no study has a computation.
pub(super) const NOT_YET: &str = "not computed yet";
/// The reason for a difference without a known explanation.
const NOT_EXPLAINED: &str = "not explained";

/// The value of a finding that is compared with the printed one.
pub(super) fn compared(kind: Kind, finding: &Finding) -> Option<Value> {
    match kind.prefers_simulation() {
        true => finding.simulated.or(finding.model),
        false => finding.model.or(finding.simulated),
    }
}

/// Judges a number. `all` has the finding for each printed number; it is used to compare the order
/// of numbers that were measured alike.
pub(super) fn judge(library: &Library, published: &Published, all: &[(&Published, &Found)]) -> Judgement {
    let said = |verdict, why: Vec<String>| Judgement { verdict, why, erratum: None };
    let nothing = |why: &str| said(Verdict::NotComputed, vec![why.to_owned()]);
    let found = all.iter().find(|(other, _)| other.id == published.id).map(|(_, found)| *found);
    let finding = match found {
        Some(Ok(finding)) => finding,
        Some(Err(Missing::NotDerivable(why))) => return said(Verdict::NotDerivable, vec![(*why).to_owned()]),
        Some(Err(Missing::NotComputed(why))) => return nothing(why),
        None => return nothing(NOT_YET),
    };
    let Some(ours) = compared(published.kind, finding) else { return nothing(NOT_YET) };
    let near = match published.value.agrees(ours, published.kind.tolerance(), published.whole) {
        Err(unlike) => return nothing(&unlike.to_string()),
        Ok(near) => near,
    };
    let disorder = disorder(published, ours, all);
    if near && disorder.is_none() {
        return match &published.calibrates {
            Some(setting) => said(Verdict::Calibrated, vec![setting.clone()]),
            None => said(Verdict::Agrees, finding.note.iter().cloned().collect()),
        };
    }
    if let Some((erratum, verdict)) = library.excuse(&published.id, ours) {
        let why = vec![erratum.reading.clone()];
        return Judgement { verdict, why, erratum: Some(erratum.id.clone()) };
    }
    let mut why = finding.because.clone();
    if why.is_empty() {
        why.push(disorder.unwrap_or_else(|| NOT_EXPLAINED.to_owned()));
    }
    said(Verdict::Differs, why)
}

/// Names the numbers of the same group whose order relative to this one is reversed in our
/// findings.
fn disorder(published: &Published, ours: Value, all: &[(&Published, &Found)]) -> Option<String> {
    let group = published.group.as_ref()?;
    let (Some(theirs), Value::Number(ours)) = (published.value.number(), ours) else { return None };
    let others = all.iter().filter(|(other, _)| other.group.as_ref() == Some(group));
    let out_of_order = others.filter_map(|(other, found)| {
        let their_other = other.value.number()?;
        let Some(Value::Number(our_other)) = compared(other.kind, found.as_ref().ok()?) else { return None };
        let apart = (theirs - their_other).abs() > IN_ORDER * theirs.abs().max(their_other.abs());
        let turned = (theirs > their_other) != (ours > our_other);
        (apart && turned).then_some(other.id.as_str())
    });
    let out_of_order: Vec<&str> = out_of_order.collect();
    (!out_of_order.is_empty()).then(|| format!("not in the paper's order with {}", out_of_order.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three numbers of one group, 10, 10.5 and 20, and a formula's 30 that an erratum excuses.
    fn library() -> Library {
        let line = |id: &str, value: &str, rest: &str| {
            format!(
                r#"{{"id":"{id}","paper":"chen","where":"here","quantity":"it","value":"{value}","unit":"ms",{rest}}}"#
            )
        };
        let measured = r#""kind":"measured","group":"alike""#;
        let numbers = [
            line("ch.a", "10", measured),
            line("ch.b", "10.5", measured),
            line("ch.c", "20", measured),
            line("ch.d", "30", r#""kind":"formula""#),
            line("ch.e", "40", r#""kind":"formula""#),
            line("ch.f", "3", r#""kind":"stated","calibrates":"the radius is fitted to it""#),
        ];
        let erratum = r#"[{"id":"ch.x","paper":"chen","where":"","printed":"30","reading":"it is 31","misprints":{"ch.d":"31"},
                "rounded":{"ch.f":"3.2"}}]"#;
        Library::parse(&format!("[{}]", numbers.join(",")), erratum, "[]").expect("it is sound")
    }

    fn judged(found: &[(&str, Found)]) -> Vec<Judgement> {
        let library = library();
        let all: Vec<(&Published, &Found)> =
            found.iter().map(|(id, found)| (library.number(id).expect("it is there"), found)).collect();
        all.iter().map(|(published, _)| judge(&library, published, &all)).collect()
    }

    fn verdicts(found: &[(&str, Found)]) -> Vec<(Verdict, Option<String>)> {
        let told = |why: Vec<String>| (!why.is_empty()).then(|| why.join("; "));
        judged(found).into_iter().map(|judgement| (judgement.verdict, told(judgement.why))).collect()
    }

    fn simulated(value: f64) -> Found {
        Ok(Finding::simulated(value))
    }

    #[test]
    fn what_was_measured_agrees_in_ratio_and_order() {
        let near = [("ch.a", simulated(11.0)), ("ch.b", simulated(10.0)), ("ch.c", simulated(22.0))];
        assert!(
            verdicts(&near).iter().all(|(verdict, _)| *verdict == Verdict::Agrees),
            "a and b are not apart"
        );
        let turned = [("ch.a", simulated(16.1)), ("ch.c", simulated(16.0))];
        let order = |other: &str| Some(format!("not in the paper's order with {other}"));
        assert_eq!(verdicts(&turned), [(Verdict::Differs, order("ch.c")), (Verdict::Differs, order("ch.a"))]);
    }

    #[test]
    fn a_difference_has_a_reason_or_is_not_explained() {
        let far = [("ch.e", Ok(Finding::model(50.0)))];
        assert_eq!(verdicts(&far), [(Verdict::Differs, Some("not explained".to_owned()))]);
        let far = [("ch.e", Ok(Finding::model(50.0).because("it is large")))];
        assert_eq!(verdicts(&far), [(Verdict::Differs, Some("it is large".to_owned()))]);
        let near = [("ch.e", Ok(Finding::model(40.2).because("it is large")))];
        assert_eq!(verdicts(&near), [(Verdict::Agrees, None)]);
    }

    #[test]
    fn a_note_is_for_what_agrees() {
        let noted = |value: f64| [("ch.e", Ok(Finding::model(value).noted("a mean of two")))];
        assert_eq!(verdicts(&noted(40.2)), [(Verdict::Agrees, Some("a mean of two".to_owned()))]);
        assert_eq!(verdicts(&noted(50.0)), [(Verdict::Differs, Some("not explained".to_owned()))]);
    }

    #[test]
    fn an_erratum_excuses_only_what_differs_and_is_its_reading() {
        let misprint = judged(&[("ch.d", Ok(Finding::model(31.2).printed_reading(30.0)))]);
        assert_eq!(
            misprint,
            [Judgement {
                verdict: Verdict::Misprint,
                why: vec!["it is 31".to_owned()],
                erratum: Some("ch.x".to_owned())
            }]
        );
        assert_eq!(verdicts(&[("ch.d", Ok(Finding::model(30.0)))]), [(Verdict::Agrees, None)]);
        let neither = [("ch.d", Ok(Finding::model(33.0)))];
        assert_eq!(verdicts(&neither), [(Verdict::Differs, Some("not explained".to_owned()))]);
        assert_eq!(verdicts(&[("ch.f", Ok(Finding::model(3.21)))])[0].0, Verdict::Calibrated);
        assert_eq!(verdicts(&[("ch.f", Ok(Finding::model(3.6)))])[0].0, Verdict::Differs);
    }

    #[test]
    fn what_a_setting_was_fitted_to_is_calibrated_while_it_agrees() {
        let near = [("ch.f", Ok(Finding::model(3.1).noted("a note")))];
        assert_eq!(verdicts(&near), [(Verdict::Calibrated, Some("the radius is fitted to it".to_owned()))]);
        let far = [("ch.f", Ok(Finding::model(4.0)))];
        assert_eq!(verdicts(&far), [(Verdict::Differs, Some("not explained".to_owned()))]);
    }

    /// Regression test: the curves of large requests of two levels did not cross, and that was
    /// reported as a crossing at 100%.
    #[test]
    fn what_is_looked_for_and_not_there_differs() {
        let none = [("ch.a", Ok(Finding::simulated(Value::Absent).because("they do not cross")))];
        assert_eq!(verdicts(&none), [(Verdict::Differs, Some("they do not cross".to_owned()))]);
    }

    #[test]
    fn formulas_are_judged_by_the_model_and_the_rest_by_the_simulation() {
        let both = Finding::simulated(38.0).with_model(40.0);
        assert_eq!(compared(Kind::Formula, &both), Some(Value::Number(40.0)));
        assert_eq!(compared(Kind::Measured, &both), Some(Value::Number(38.0)));
        assert_eq!(compared(Kind::Simulated, &Finding::model(1.0)), Some(Value::Number(1.0)));
        assert_eq!(compared(Kind::Stated, &Finding::simulated(1.0)), Some(Value::Number(1.0)));
    }

    #[test]
    fn nothing_found_is_said_to_be_nothing() {
        let missing = [
            ("ch.a", Err(Missing::NotDerivable("the disk is not named"))),
            ("ch.d", Err(Missing::NotComputed("no such run".to_owned()))),
            ("ch.e", Ok(Finding::default())),
            ("ch.c", Ok(Finding::model(Value::Holds(true)))),
        ];
        let found = verdicts(&missing);
        assert_eq!(found[0], (Verdict::NotDerivable, Some("the disk is not named".to_owned())));
        assert_eq!(found[1], (Verdict::NotComputed, Some("no such run".to_owned())));
        assert_eq!(found[2], (Verdict::NotComputed, Some("not computed yet".to_owned())));
        assert_eq!(found[3].0, Verdict::NotComputed);
    }
}
