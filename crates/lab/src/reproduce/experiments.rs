//! The experiment files for the papers, built into the program: `experiments/*/*.toml`.

macro_rules! catalogue {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../experiments/", $name, ".toml")))),*]
    };
}

/// The content of each experiment file, by its path below `experiments/` without `.toml`.
pub const EXPERIMENTS: &[(&str, &str)] = catalogue![
    "chen/figure-4",
    "chen/figure-7",
    "chen/figure-8",
    "chen/figure-9",
    "chen/scaling",
    "chen/sizes",
    "hauser/files",
    "hauser/hosts",
    "hauser/most",
    "hauser/sizes",
    "molnar/seeks",
    "molnar/streams",
    "stodolsky/figure-11",
    "stodolsky/figure-16",
    "stodolsky/figure-17",
    "stodolsky/figure-18",
    "stodolsky/figure-21",
    "stodolsky/figure-23",
    "stodolsky/figure-23-load",
    "stodolsky/figure-27",
    "stodolsky/figure-27-load",
    "stodolsky/figure-30",
    "stodolsky/section-6",
    "stodolsky/tpc-a",
    "varki/figure-3",
    "varki/units",
];

/// Returns the content of the experiment file with this name.
pub fn find(name: &str) -> Option<&'static str> {
    EXPERIMENTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::reproduce::paper::Paper;

    #[test]
    fn every_experiment_of_a_paper_comes_with_the_program() {
        let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        for paper in Paper::ALL {
            for file in fs::read_dir(experiments.join(paper.name())).expect("each paper has experiments") {
                let path = file.expect("it can be listed").path();
                let stem = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
                assert!(
                    find(&format!("{paper}/{stem}")).is_some(),
                    "{} is not in EXPERIMENTS",
                    path.display()
                );
            }
        }
    }
}
