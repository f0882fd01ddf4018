//! Makes one HTML page of a report: text, tables and figures in one file, which loads nothing from
//! the network.
//!
//! Numbers stand in the page as tables. `page.js` draws the charts from the same numbers; each
//! chart has its table beside it, so that the page is complete without scripts.

mod chart;
mod colour;
mod notes;
mod overview;
mod text;

use std::fmt::Write;

use super::figure::{Content, Panel};
use super::kind::{Kind, OF_ALL};
use super::report::{Chapter, Figure, Number, Report, Summary};
use super::value::{Value, half_width};
use super::verdict::Verdict;
use notes::Notes;
use text::escape;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Returns the report as an HTML page.
pub fn page(report: &Report) -> String {
    let mut page = String::new();
    let chapters: String = report.papers.iter().map(chapter).collect();
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Parlour: the papers reproduced</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         {head}{overview}{contents}{summary}{chapters}<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        head = head(report),
        overview = overview::drawn(report),
        contents = contents(report),
        summary = summary(report),
    );
    page
}

fn head(report: &Report) -> String {
    let quick = match report.quick {
        true => {
            "<p><strong>Simulations were shortened</strong> (<code>--quick</code>): their intervals are wide, and numbers may differ \
             for that reason alone.</p>\n"
        }
        false => "",
    };
    format!(
        "<header>\n<h1>Parlour: the papers reproduced</h1>\n<p>What the papers on disk arrays print, and ours beside it: by closed \
         forms (<em>model</em>) and by simulation of arrays on models of drives (<em>simulated</em>, ± half of the 95% confidence \
         interval).</p>\n{quick}<p class=\"made\">Made by parlour {version}.</p>\n</header>\n",
        version = escape(report.version),
    )
}

fn contents(report: &Report) -> String {
    let mut list = String::new();
    for chapter in &report.papers {
        let figures = chapter.figures.iter();
        let figures = figures.map(|figure| {
            format!("<li><a href=\"#{}\">{}</a></li>\n", escape(&figure.id), escape(&figure.title))
        });
        let _ = write!(
            list,
            "<li><a href=\"#{0}\">{1}</a>\n<ul>\n<li><a href=\"#{0}-numbers\">Numbers</a></li>\n{2}</ul></li>\n",
            chapter.paper,
            escape(chapter.authors),
            figures.collect::<String>()
        );
    }
    format!(
        "<nav aria-label=\"Contents\">\n<h3>Contents</h3>\n<ol>\n<li><a href=\"#summary\">Agreement</a></li>\n{list}</ol>\n</nav>\n"
    )
}

fn summary(report: &Report) -> String {
    let rules = report
        .rules
        .iter()
        .map(|rule| format!("<dt>{}</dt><dd>{}</dd>\n", rule.kind.name(), escape(&rule.rule)));
    let verdicts = Verdict::ALL.map(|verdict| {
        format!(
            "<dt class=\"{}\">{}</dt><dd>{}</dd>\n",
            class(verdict),
            verdict.name(),
            escape(verdict.meaning())
        )
    });
    let papers = report.papers.iter().map(|chapter| {
        let counts = Verdict::ALL.map(|verdict| chapter.summary.verdict(verdict));
        counted(&format!("<a href=\"#{}\">{}</a>", chapter.paper, escape(chapter.authors)), &counts)
    });
    format!(
        "<section id=\"summary\">\n<h2>Agreement</h2>\n<p>When a number agrees is one rule for each kind of number:</p>\n\
         <dl class=\"rules\">\n{}</dl>\n<p>{}</p>\n<p>The verdicts:</p>\n<dl class=\"rules\">\n{}</dl>\n{}\
         <h3>By paper</h3>\n{}</section>\n",
        rules.collect::<String>(),
        escape(OF_ALL),
        verdicts.concat(),
        by_kind(&report.summary),
        table_of_verdicts("paper", papers.collect()),
    )
}

/// The table that counts the numbers by kind and verdict.
fn by_kind(summary: &Summary) -> String {
    let kinds =
        Kind::ALL.map(|kind| counted(kind.name(), &Verdict::ALL.map(|verdict| summary.count(kind, verdict))));
    let all = counted("<strong>all</strong>", &Verdict::ALL.map(|verdict| summary.verdict(verdict)));
    table_of_verdicts("kind", kinds.concat() + &all)
}

fn table_of_verdicts(of: &str, rows: String) -> String {
    let verdicts = Verdict::ALL
        .map(|verdict| format!("<th class=\"number {}\">{}</th>", class(verdict), verdict.name()));
    format!(
        "<table class=\"stacks\">\n<thead><tr><th>{of}</th>{}<th class=\"number\">all</th></tr></thead>\n<tbody>\n{rows}</tbody>\n\
         </table>\n",
        verdicts.concat()
    )
}

fn counted(name: &str, counts: &[usize]) -> String {
    let all = counts.iter().sum::<usize>();
    let labels = Verdict::ALL.into_iter().map(Verdict::name).chain(["all"]);
    let cells = counts.iter().chain([&all]).zip(labels).map(|(count, label)| {
        format!("<td class=\"number\" data-label=\"{label}\"><span>{count}</span></td>")
    });
    format!("<tr><td class=\"what\"><div>{name}</div></td>{}</tr>\n", cells.collect::<String>())
}

fn class(verdict: Verdict) -> String {
    verdict.name().replace(' ', "-")
}

fn chapter(chapter: &Chapter) -> String {
    let Chapter { paper, title, authors, .. } = chapter;
    let figures: String = chapter.figures.iter().map(figure).collect();
    let notes = Notes::of(chapter);
    format!(
        "<section id=\"{paper}\">\n<h2>{title}</h2>\n<p class=\"authors\">{authors}</p>\n{}<h3 id=\"{paper}-numbers\">Numbers</h3>\n\
         {}{}{}{}<h3>Figures</h3>\n{figures}</section>\n",
        by_kind(&chapter.summary),
        filter(chapter),
        numbers(chapter, &notes),
        notes.listed(),
        errata(chapter),
        title = escape(title),
        authors = escape(authors),
    )
}

/// The buttons that show only the rows of one verdict.
fn filter(chapter: &Chapter) -> String {
    let button = |verdict: &str, name: &str, count: usize, pressed: bool| {
        format!(
            "<button type=\"button\" data-verdict=\"{verdict}\" aria-pressed=\"{pressed}\">{name} ({count})</button>\n"
        )
    };
    let verdicts = Verdict::ALL.into_iter().filter(|verdict| chapter.summary.verdict(*verdict) > 0);
    let verdicts = verdicts
        .map(|verdict| button(&class(verdict), verdict.name(), chapter.summary.verdict(verdict), false));
    format!(
        "<div class=\"filter\" data-of=\"{}-table\">\n{}{}</div>\n",
        chapter.paper,
        button("", "all", chapter.summary.all(), true),
        verdicts.collect::<String>()
    )
}

fn numbers(chapter: &Chapter, notes: &Notes<'_>) -> String {
    let rows: String = chapter.numbers.iter().map(|number| row(number, notes)).collect();
    format!(
        "<table class=\"numbers\" id=\"{}-table\">\n<thead><tr><th>number</th><th>kind</th>\
         <th class=\"number\">published</th><th class=\"number\">model</th><th class=\"number\">simulated</th>\
         <th>unit</th><th class=\"number\">difference</th><th>verdict</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n",
        chapter.paper
    )
}

fn row(number: &Number, notes: &Notes<'_>) -> String {
    let cell = |label: &str, text: String| match text.is_empty() {
        true => "<td class=\"number\"></td>".to_owned(),
        false => format!("<td class=\"number\" data-label=\"{label}\"><span>{text}</span></td>"),
    };
    let valued = |value: Option<Value>| value.map_or(String::new(), |value| value.beside(&number.published));
    let printed = match number.as_printed {
        Some(_) => format!("<br><span class=\"faint\">as printed: {}</span>", valued(number.as_printed)),
        None => String::new(),
    };
    let interval = number.interval.map_or(String::new(), |half| format!(" ± {}", half_width(half)));
    let why = notes.of_number(number);
    let repeats = number.repeats.as_ref().map_or(String::new(), |first| {
        format!(
            "<div class=\"why\">repeats <a class=\"id\" href=\"#{0}\">{0}</a>, and is not counted</div>",
            escape(first)
        )
    });
    let erratum = number
        .erratum
        .as_ref()
        .map_or(String::new(), |id| format!(" <a class=\"id\" href=\"#{0}\">{0}</a>", escape(id)));
    format!(
        "<tr id=\"{id}\" data-verdict=\"{class}\"><td class=\"what\"><div>{quantity}<br>\
         <span class=\"place\"><span class=\"id\">{id}</span> {place}</span></div></td>\
         <td data-label=\"kind\"><span>{kind}</span></td>{published}{model}{simulated}{unit}{difference}\
         <td data-label=\"verdict\"><div><span class=\"verdict {class}\">{verdict}</span>{erratum}{repeats}{why}</div></td></tr>\n",
        id = escape(&number.id),
        class = class(number.verdict),
        quantity = escape(&number.quantity),
        place = escape(&number.place),
        kind = number.kind.name(),
        published = cell("published", escape(&number.published)),
        model = cell("model", valued(number.model) + &printed),
        unit = match number.unit.as_str() {
            "" => "<td></td>".to_owned(),
            unit => format!("<td data-label=\"unit\"><span class=\"faint\">{}</span></td>", escape(unit)),
        },
        simulated = cell("simulated", valued(number.simulated) + &interval),
        difference = cell("difference", number.difference.map_or(String::new(), percent)),
        verdict = number.verdict.name(),
    )
}

/// Formats a fraction as a percentage, with its sign.
pub fn percent(part: f64) -> String {
    match part * 100.0 {
        // A rounding error.
        percent if percent.abs() < 1e-7 => "0%".to_owned(),
        percent if percent.abs() < 0.005 => format!("{percent:+.0e}%"),
        percent if percent.abs() < 0.05 => format!("{percent:+.2}%"),
        percent if percent.abs() < 1_000.0 => format!("{percent:+.1}%"),
        percent => format!("{percent:+.0}%"),
    }
}

fn errata(chapter: &Chapter) -> String {
    if chapter.errata.is_empty() {
        return String::new();
    }
    let rows = chapter.errata.iter().map(|erratum| {
        format!(
            "<tr id=\"{id}\"><td class=\"what\"><div>{place}<br><span class=\"id\">{id}</span></div></td>\
             <td data-label=\"printed\"><span>{printed}</span></td><td data-label=\"read here\"><span>{reading}</span></td></tr>\n",
            id = escape(&erratum.id),
            place = escape(&erratum.place),
            printed = escape(&erratum.printed),
            reading = escape(&erratum.reading),
        )
    });
    format!(
        "<h3>Where the paper disagrees with itself, or does not say</h3>\n<table class=\"stacks\">\n<thead><tr><th>where</th>\
         <th>printed</th><th>how it is read here</th></tr></thead>\n<tbody>\n{}</tbody>\n</table>\n",
        rows.collect::<String>()
    )
}

fn figure(figure: &Figure) -> String {
    let panels: String =
        figure.panels.iter().enumerate().map(|(number, panel)| drawn(figure, number, panel)).collect();
    let missing = figure
        .missing
        .as_ref()
        .map_or(String::new(), |why| format!("<p class=\"missing\">{}</p>\n", escape(why)));
    let command = figure
        .command
        .as_ref()
        .map_or(String::new(), |command| format!("<pre><code>{}</code></pre>\n", escape(command)));
    format!(
        "<figure id=\"{}\">\n<h4>{}</h4>\n<figcaption><p>{}</p></figcaption>\n{missing}<div class=\"panels\">\n{panels}</div>\n{command}\
         </figure>\n",
        escape(&figure.id),
        escape(&figure.title),
        escape(&figure.caption),
    )
}

fn drawn(figure: &Figure, number: usize, panel: &Panel) -> String {
    let title = panel.title.as_ref().map_or(String::new(), |title| format!("<h5>{}</h5>\n", escape(title)));
    let (class, content) = match &panel.content {
        Content::Chart(chart) => ("panel", chart::drawn(&format!("{}-{number}", figure.id), chart)),
        Content::Drawing(drawing) => {
            let columns = drawing.lines().map(|line| line.chars().count()).max().unwrap_or(1);
            let class = if columns > BROAD { "panel broad" } else { "panel" };
            let drawing = escape(drawing);
            (class, format!("<pre class=\"drawing\" style=\"--columns:{columns}\">{drawing}</pre>\n"))
        }
    };
    format!("<div class=\"{class}\">\n{title}{content}</div>\n")
}

/// A drawing with lines of at least this number of characters takes the full width.
const BROAD: usize = 44;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_zero_and_what_is_small_is_not() {
        assert_eq!([0.0, -0.0, 1e-12].map(percent), ["0%", "0%", "0%"]);
        let small = [0.0002, -0.0001, 0.00001, 0.0123, -0.5, 12.0].map(percent);
        assert_eq!(small, ["+0.02%", "-0.01%", "+1e-3%", "+1.2%", "-50.0%", "+1200%"]);
    }
}
