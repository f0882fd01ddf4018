//! The verdict on an array: its health, the reasons, and the remedy.

use serde::Serialize;

/// The health of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Health {
    /// Nothing needs to be done.
    Healthy,
    /// All data is present and writable, but the array tolerates fewer failures than it could.
    Degraded,
    /// Data is lost, may be read wrong, or cannot be written.
    AtRisk,
}

/// A verdict and its reasons.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Verdict {
    pub(crate) state: Health,
    /// The whole verdict in one sentence.
    pub(crate) sentence: String,
    /// The findings, the worst first; empty if nothing is wrong.
    pub(super) reasons: Vec<String>,
    /// What to do; none if nothing helps, or only waiting.
    pub(super) remedy: Option<String>,
}

/// One thing that is wrong.
pub(super) struct Finding {
    pub(super) health: Health,
    pub(super) reason: String,
    pub(super) remedy: Option<String>,
}

impl Health {
    /// The exit status of `status --check`.
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
    /// Combines the findings. `well` is the text if there are none.
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
