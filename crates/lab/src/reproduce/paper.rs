//! The five papers, with their authors, titles and names.

use std::fmt;
use std::str::FromStr;

use parlour_units::words::{did_you_mean, meant};
use serde::{Deserialize, Serialize};

/// A paper, by its first author.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Paper {
    /// Chen, Gibson, Katz, Patterson (1990).
    Chen,
    /// Hauser, Berman, Thoma (1996).
    Hauser,
    /// Molnar (1998).
    Molnar,
    /// Stodolsky, Holland, Courtright, Gibson (1993).
    Stodolsky,
    /// Varki, Wang (2000).
    Varki,
}

/// The error for an unknown paper.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("there is no paper '{name}';{} there are {}, and all", .meant.map_or(String::new(), |meant| format!(" {}", did_you_mean(meant))), names())]
pub struct UnknownPaper {
    name: String,
    meant: Option<&'static str>,
}

impl Paper {
    /// All papers, in the order of the report.
    pub const ALL: [Paper; 5] = [Paper::Chen, Paper::Hauser, Paper::Molnar, Paper::Stodolsky, Paper::Varki];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Paper::Chen => "chen",
            Paper::Hauser => "hauser",
            Paper::Molnar => "molnar",
            Paper::Stodolsky => "stodolsky",
            Paper::Varki => "varki",
        }
    }

    /// Its authors and year.
    pub const fn authors(self) -> &'static str {
        match self {
            Paper::Chen => "Chen, Gibson, Katz, Patterson (1990)",
            Paper::Hauser => "Hauser, Berman, Thoma (1996)",
            Paper::Molnar => "Molnar (1998)",
            Paper::Stodolsky => "Stodolsky, Holland, Courtright, Gibson (1993)",
            Paper::Varki => "Varki, Wang (2000)",
        }
    }

    /// Its title.
    pub const fn title(self) -> &'static str {
        match self {
            Paper::Chen => "An Evaluation of Redundant Arrays of Disks using an Amdahl 5890",
            Paper::Hauser => "Is the Bang Worth the Buck? A RAID Performance Study",
            Paper::Molnar => "RAID1 bandwidth/seek performance",
            Paper::Stodolsky => "A Redundant Disk Array Architecture for Efficient Small Writes",
            Paper::Varki => "A Performance Model of Disk Array Storage Systems",
        }
    }

    /// The prefix of the ids of its numbers and figures.
    pub(super) const fn prefix(self) -> &'static str {
        match self {
            Paper::Chen => "ch.",
            Paper::Hauser => "ha.",
            Paper::Molnar => "mo.",
            Paper::Stodolsky => "st.",
            Paper::Varki => "va.",
        }
    }
}

impl fmt::Display for Paper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Paper {
    type Err = UnknownPaper;

    fn from_str(name: &str) -> Result<Paper, UnknownPaper> {
        let known = Paper::ALL.into_iter().find(|paper| paper.name() == name);
        known.ok_or_else(|| UnknownPaper {
            name: name.escape_debug().to_string(),
            meant: meant(name, Paper::ALL.into_iter().map(Paper::name)),
        })
    }
}

fn names() -> String {
    Paper::ALL.map(Paper::name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn papers_are_found_by_their_names() {
        for paper in Paper::ALL {
            assert_eq!(paper.name().parse(), Ok(paper));
        }
    }

    #[test]
    fn an_unknown_paper_is_answered_with_those_that_there_are() {
        let error = "stodolski".parse::<Paper>().unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no paper 'stodolski'; did you mean 'stodolsky'? there are chen, hauser, molnar, stodolsky, varki, and all"
        );
        let error = "knuth".parse::<Paper>().unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no paper 'knuth'; there are chen, hauser, molnar, stodolsky, varki, and all"
        );
    }
}
