//! The studies: how the numbers and figures of each paper are computed.

mod chen;
mod hauser;
mod molnar;
mod stodolsky;
mod varki;

use super::paper::Paper;
use super::study::Study;

/// Returns the study of a paper.
pub(super) fn study(paper: Paper) -> Study {
    match paper {
        Paper::Chen => chen::study(),
        Paper::Hauser => hauser::study(),
        Paper::Molnar => molnar::study(),
        Paper::Stodolsky => stodolsky::study(),
        Paper::Varki => varki::study(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::evidence::Evidence;
    use crate::reproduce::kind::Kind;
    use crate::reproduce::library::Library;
    use crate::reproduce::pace::Pace;
    use crate::reproduce::report::Report;
    use crate::reproduce::verdict::Verdict;

    /// The report on all papers from models alone; numbers that need a simulation are not computed.
    fn by_models() -> (Library, Report) {
        let library = Library::carried();
        let studies: Vec<Study> = Paper::ALL.into_iter().map(study).collect();
        let evidence = Evidence { library: library.clone(), experiments: Vec::new() };
        let report = Report::of(&studies, &evidence, Pace::Full);
        (library, report)
    }

    #[test]
    fn studies_name_numbers_and_figures_of_their_papers_once() {
        let library = Library::carried();
        for paper in Paper::ALL {
            let study = study(paper);
            let mut numbers: Vec<&str> = study.numbers.iter().map(|(id, _)| id.as_str()).collect();
            let mut figures: Vec<&str> = study.figures.iter().map(|(id, _)| id.as_str()).collect();
            for id in &numbers {
                assert!(
                    library.numbers_of(paper).any(|number| number.id == *id),
                    "{id} is no number of {paper}"
                );
            }
            for id in &figures {
                assert!(
                    library.figures_of(paper).any(|figure| figure.id == *id),
                    "{id} is no figure of {paper}"
                );
            }
            let (some, drawn) = (numbers.len(), figures.len());
            numbers.sort_unstable();
            numbers.dedup();
            figures.sort_unstable();
            figures.dedup();
            assert_eq!((numbers.len(), figures.len()), (some, drawn), "{paper} has an entry twice");
        }
    }

    #[test]
    fn studies_say_of_every_number_and_figure_how_it_is_got() {
        let library = Library::carried();
        for paper in Paper::ALL {
            let study = study(paper);
            let numbers = library.numbers_of(paper).filter(|number| study.how(&number.id).is_none());
            let figures = library.figures_of(paper).filter(|figure| study.drawn(&figure.id).is_none());
            let missing: Vec<&String> =
                numbers.map(|number| &number.id).chain(figures.map(|figure| &figure.id)).collect();
            assert!(missing.is_empty(), "no study says how {missing:?} are got");
        }
    }

    #[test]
    fn what_follows_from_formulas_agrees_or_is_the_papers_own_slip() {
        let (_, report) = by_models();
        let numbers = report.papers.iter().flat_map(|chapter| &chapter.numbers);
        for number in numbers.filter(|number| number.kind == Kind::Formula) {
            assert_ne!(number.verdict, Verdict::Differs, "{number:?}");
        }
    }

    #[test]
    fn an_erratum_excuses_only_numbers_that_are_what_it_reads_and_not_what_is_printed() {
        let (library, report) = by_models();
        for erratum in &library.errata {
            for (id, verdict) in erratum
                .misprints
                .keys()
                .map(|id| (id, Verdict::Misprint))
                .chain(erratum.rounded.keys().map(|id| (id, Verdict::Rounded)))
            {
                let number = report.number(id).expect("the report has all numbers");
                assert_eq!(number.verdict, verdict, "{number:?}");
            }
        }
    }

    /// A number to which a drive's settings were fitted cannot confirm those settings.
    #[test]
    fn what_settings_were_fitted_to_is_declared() {
        let library = Library::carried();
        let calibrated = library.numbers.iter().filter(|number| number.calibrates.is_some());
        let ids: Vec<&str> = calibrated.map(|number| number.id.as_str()).collect();
        assert_eq!(
            ids,
            [
                "ch.3.6",
                "ch.tgt.large",
                "ch.ovh.full",
                "mo.bonnie.one.block-out",
                "mo.bonnie.one.block-in",
                "mo.bonnie.one.seeks",
                "mo.write",
                "mo.read",
            ]
        );
    }

    /// Regression test: nine numbers that only round the formula's value, or state it loosely, were
    /// called misprints.
    #[test]
    fn rounding_is_no_misprint() {
        let (_, report) = by_models();
        let rounded = report.papers.iter().flat_map(|chapter| &chapter.numbers);
        let rounded = rounded.filter(|number| number.verdict == Verdict::Rounded);
        let ids: Vec<&str> = rounded.map(|number| number.id.as_str()).collect();
        assert_eq!(
            ids,
            [
                "st.seek.mean",
                "st.seek.max",
                "st.bw.track_over_block",
                "st.fig11.0.7",
                "st.float.total",
                "st.mttdl.mirror",
                "st.cap.L1",
                "st.cap.L6",
                "st.lraid.760",
            ]
        );
    }

    #[test]
    fn what_repeats_another_number_is_not_counted() {
        let (_, report) = by_models();
        let all: usize = report.papers.iter().map(|chapter| chapter.numbers.len()).sum();
        let repeated = report.papers.iter().flat_map(|chapter| &chapter.numbers);
        let repeated = repeated.filter(|number| number.repeats.is_some()).count();
        assert_eq!(repeated, 7);
        assert_eq!(report.summary.all(), all - repeated);
    }

    #[test]
    fn bang_and_costs_follow_from_the_printed_columns() {
        let (_, report) = by_models();
        let hauser =
            report.papers.iter().find(|chapter| chapter.paper == Paper::Hauser).expect("it is there");
        assert_eq!(hauser.summary.count(Kind::Formula, Verdict::Agrees), 24);
        assert_eq!(hauser.summary.count(Kind::Formula, Verdict::Misprint), 2);
        let simple = report.number("ha.t2.cost.simple").expect("it is there");
        assert_eq!(simple.model.expect("it is computed").beside(&simple.published), "1.287");
        assert_eq!(simple.as_printed.expect("it is computed").beside(&simple.published), "1.545");
        assert_eq!(simple.erratum.as_deref(), Some("ha.simple"));
    }

    #[test]
    fn the_drive_of_the_catalogue_is_the_one_of_which_the_rates_are_stated() {
        let (_, report) = by_models();
        assert_eq!(report.number("ha.rate").expect("it is there").verdict, Verdict::Agrees);
    }

    #[test]
    fn what_parity_logging_costs_follows_from_the_printed_formulas() {
        let (_, report) = by_models();
        let stodolsky =
            report.papers.iter().find(|chapter| chapter.paper == Paper::Stodolsky).expect("it is there");
        assert_eq!(stodolsky.summary.count(Kind::Formula, Verdict::Agrees), 52);
        assert_eq!(stodolsky.summary.count(Kind::Formula, Verdict::Rounded), 6);
        assert_eq!(stodolsky.summary.count(Kind::Stated, Verdict::Rounded), 2);
        assert_eq!(stodolsky.summary.count(Kind::Formula, Verdict::Misprint), 11);
        assert_eq!(stodolsky.summary.count(Kind::Stated, Verdict::Misprint), 2);
    }

    #[test]
    fn disk_times_and_accesses_give_what_the_amdahls_paper_prints() {
        let (_, report) = by_models();
        let chen = report.papers.iter().find(|chapter| chapter.paper == Paper::Chen).expect("it is there");
        assert_eq!(chen.summary.count(Kind::Formula, Verdict::Agrees), 11);
        assert_eq!(chen.summary.count(Kind::Simulated, Verdict::Calibrated), 1);
        let small = report.number("ch.1of6").expect("it is there");
        assert_eq!(small.model.expect("it is computed").beside(&small.published), "1.407");
        assert_eq!(chen.summary.verdict(Verdict::NotDerivable), 4);
    }

    #[test]
    fn the_mails_arithmetic_holds() {
        let (_, report) = by_models();
        let molnar =
            report.papers.iter().find(|chapter| chapter.paper == Paper::Molnar).expect("it is there");
        assert_eq!(molnar.summary.count(Kind::Formula, Verdict::Agrees), 7);
        let law = report.number("mo.sqrt").expect("it is there");
        assert_eq!(law.model.expect("it is computed").beside(&law.published), "189.8");
        assert_eq!(molnar.summary.verdict(Verdict::NotDerivable), 16);
    }
}
