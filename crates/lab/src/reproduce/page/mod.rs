//! What was reproduced as one page: text, tables and figures in one file, which asks no network for anything.
//!
//! Numbers stand in the page as tables; charts are drawn by `page.js` from the same numbers, and each has its table beside it, so that
//! nothing is lost without scripts.

mod chart;
mod text;

use std::fmt::Write;

use super::figure::{Content, Panel};
use super::judge::Verdict;
use super::kind::Kind;
use super::report::{Chapter, Figure, Number, Report, Summary};
use super::value::{Value, half_width};
use text::escape;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A page of it, in HTML.
pub fn page(report: &Report) -> String {
    let mut page = String::new();
    let chapters: String = report.papers.iter().map(chapter).collect();
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Parlour: the papers reproduced</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         {head}{contents}{summary}{chapters}<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        head = head(report),
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
         interval).</p>\n{quick}</header>\n"
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
    let papers = report.papers.iter().map(|chapter| {
        let counts = Verdict::ALL.map(|verdict| chapter.summary.verdict(verdict));
        counted(&format!("<a href=\"#{}\">{}</a>", chapter.paper, escape(chapter.authors)), &counts)
    });
    format!(
        "<section id=\"summary\">\n<h2>Agreement</h2>\n<p>When a number agrees is one rule for each kind of number:</p>\n\
         <dl class=\"rules\">\n{}</dl>\n{}<h3>By paper</h3>\n{}</section>\n",
        rules.collect::<String>(),
        by_kind(&report.summary),
        table_of_verdicts("paper", papers.collect()),
    )
}

/// How many numbers of each kind came to which verdict.
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
        "<div class=\"wide\"><table>\n<thead><tr><th>{of}</th>{}<th class=\"number\">all</th></tr></thead>\n<tbody>\n{rows}</tbody>\n\
         </table></div>\n",
        verdicts.concat()
    )
}

fn counted(name: &str, counts: &[usize]) -> String {
    let all = counts.iter().sum::<usize>();
    let cells = counts.iter().chain([&all]).map(|count| format!("<td class=\"number\">{count}</td>"));
    format!("<tr><td>{name}</td>{}</tr>\n", cells.collect::<String>())
}

fn class(verdict: Verdict) -> String {
    verdict.name().replace(' ', "-")
}

fn chapter(chapter: &Chapter) -> String {
    let Chapter { paper, title, authors, .. } = chapter;
    let figures: String = chapter.figures.iter().map(figure).collect();
    format!(
        "<section id=\"{paper}\">\n<h2>{title}</h2>\n<p class=\"authors\">{authors}</p>\n{}<h3 id=\"{paper}-numbers\">Numbers</h3>\n\
         {}{}{}<h3>Figures</h3>\n{figures}</section>\n",
        by_kind(&chapter.summary),
        filter(chapter),
        numbers(chapter),
        errata(chapter),
        title = escape(title),
        authors = escape(authors),
    )
}

/// Buttons that leave the rows of one verdict.
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

fn numbers(chapter: &Chapter) -> String {
    let rows: String = chapter.numbers.iter().map(row).collect();
    format!(
        "<div class=\"wide\"><table class=\"numbers\" id=\"{}-table\">\n<thead><tr><th>number</th><th>kind</th>\
         <th class=\"number\">published</th><th class=\"number\">model</th><th class=\"number\">simulated</th>\
         <th>unit</th><th class=\"number\">difference</th><th>verdict</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n",
        chapter.paper
    )
}

fn row(number: &Number) -> String {
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
    let why =
        number.why.as_ref().map_or(String::new(), |why| format!("<div class=\"why\">{}</div>", escape(why)));
    let erratum = number
        .erratum
        .as_ref()
        .map_or(String::new(), |id| format!(" <a class=\"id\" href=\"#{0}\">{0}</a>", escape(id)));
    format!(
        "<tr id=\"{id}\" data-verdict=\"{class}\"><td class=\"what\"><div>{quantity}<br>\
         <span class=\"place\"><span class=\"id\">{id}</span> {place}</span></div></td>\
         <td data-label=\"kind\"><span>{kind}</span></td>{published}{model}{simulated}{unit}{difference}\
         <td data-label=\"verdict\"><div><span class=\"verdict {class}\">{verdict}</span>{erratum}{why}</div></td></tr>\n",
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

/// A part in hundredths, with its sign.
pub fn percent(part: f64) -> String {
    match part * 100.0 {
        percent if percent.abs() < 0.05 => "0.0%".to_owned(),
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
            "<tr id=\"{id}\"><td>{place}<br><span class=\"id\">{id}</span></td><td>{printed}</td><td>{reading}</td></tr>\n",
            id = escape(&erratum.id),
            place = escape(&erratum.place),
            printed = escape(&erratum.printed),
            reading = escape(&erratum.reading),
        )
    });
    format!(
        "<h3>Where the paper disagrees with itself, or does not say</h3>\n<div class=\"wide\"><table>\n<thead><tr><th>where</th>\
         <th>printed</th><th>how it is read here</th></tr></thead>\n<tbody>\n{}</tbody>\n</table></div>\n",
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
    let content = match &panel.content {
        Content::Chart(chart) => chart::drawn(&format!("{}-{number}", figure.id), chart),
        Content::Drawing(drawing) => format!("<pre class=\"drawing\">{}</pre>\n", escape(drawing)),
    };
    format!("<div class=\"panel\">\n{title}{content}</div>\n")
}
