//! A verdict on an array: its health, the reasons, and the remedy.

use serde::Serialize;

/// How an array is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Health {
    /// Nothing is to be done.
    Healthy,
    /// All data is there and can be written, but the array survives less than it could.
    Degraded,
    /// Something is lost, may read wrong, or cannot be written.
    AtRisk,
}

/// A verdict and what it rests on.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Verdict {
    pub(crate) state: Health,
    /// All of it in one sentence.
    pub(crate) sentence: String,
    /// What is wrong, the worst first; empty where nothing is.
    pub(super) reasons: Vec<String>,
    /// What to do; none if nothing, or only waiting, helps.
    pub(super) remedy: Option<String>,
}

/// One thing that is wrong.
pub(super) struct Finding {
    pub(super) health: Health,
    pub(super) reason: String,
    pub(super) remedy: Option<String>,
}

impl Health {
    /// What `status --check` exits with.
    pub(crate) fn exit_status(self) -> u8 {
        match self {
            Health::Healthy => 0,
            Health::Degraded => 1,
            Health::AtRisk => 2,
        }
    }

    /// The state in a word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Health::Healthy => "healthy",
            Health::Degraded => "degraded",
            Health::AtRisk => "at risk",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Health::Healthy => "Healthy",
            Health::Degraded => "Degraded",
            Health::AtRisk => "At risk",
        }
    }
}

impl Verdict {
    /// From what was found; `well` is what is said where that is nothing.
    pub(super) fn from_findings(mut findings: Vec<Finding>, well: &str) -> Verdict {
        // The sort is stable: findings of the same health keep their order.
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.health));
        let state = findings.first().map_or(Health::Healthy, |finding| finding.health);
        let reasons: Vec<String> = findings.iter().map(|finding| finding.reason.clone()).collect();
        let remedy = findings.iter().find_map(|finding| finding.remedy.clone());
        let told = if reasons.is_empty() { well.to_owned() } else { reasons.join("; ") };
        let advice = remedy.as_ref().map_or(String::new(), |remedy| format!("; {remedy}"));
        let sentence = format!("{}: {told}{advice}.", state.title());
        Verdict { state, sentence, reasons, remedy }
    }
}
