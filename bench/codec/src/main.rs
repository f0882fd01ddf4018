//! Measures the arithmetic of codes beside Intel's ISA-L, on the same buffers.
//!
//! Both take turns in each run; the table gives medians, in gigabytes of sources a second of one
//! processor, and the medians of the ratios of each run. Time is that of the thread, so other
//! programs disturb only what they leave in the caches. For units in memory, the rate is also
//! divided by that of reading the sources alone. Before, both are compared byte by byte.
#![allow(clippy::expect_used, reason = "a bench that cannot be set up measures nothing")]

mod cases;
mod isal;
mod measure;
mod memory;

use std::process::ExitCode;

use cases::{Case, Operation, Scheme};
use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use isal::Isal;
use measure::{Rates, measure};
use parlour_codec::sums;

/// Measure the arithmetic of codes beside ISA-L
#[derive(Parser)]
struct Arguments {
    /// Runs of each case
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
    /// Numbers of data units
    #[arg(long, value_delimiter = ',', default_values_t = [4, 8, 16, 32],
        value_parser = clap::value_parser!(u16).range(4..=128))]
    widths: Vec<u16>,
    /// Sizes of units in the caches, in KiB, multiples of 4
    #[arg(long, value_delimiter = ',', default_values = ["4", "16"], value_parser = kibibytes)]
    units: Vec<usize>,
    /// The size of all units in memory, in MiB
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    memory: u32,
    /// Only these codes
    #[arg(long, value_enum, value_delimiter = ',')]
    codes: Vec<Scheme>,
    /// Only these operations
    #[arg(long, value_enum, value_delimiter = ',')]
    operations: Vec<Operation>,
}

/// The size of a unit.
fn kibibytes(text: &str) -> Result<usize, String> {
    let possible = |size: &usize| (4..=65_536).contains(size) && size.is_multiple_of(4);
    let size = text.parse().ok().filter(possible);
    size.ok_or_else(|| "use a multiple of 4, from 4 to 65536".to_owned())
}

/// The columns with numbers.
const NUMBERS: [usize; 5] = [2, 4, 5, 6, 7];

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match Isal::load() {
        Ok(isal) => {
            show(&arguments, &isal);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("ISA-L cannot be loaded: install Debian's package libisal2 ({error})");
            ExitCode::FAILURE
        }
    }
}

fn show(arguments: &Arguments, isal: &Isal) {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header([
        "operation",
        "code",
        "width",
        "units",
        "GB/s",
        "ISA-L",
        "ratio",
        "of a read",
        "ISA-L's function",
    ]);
    for column in NUMBERS {
        table.column_mut(column).expect("there are nine").set_cell_alignment(CellAlignment::Right);
    }
    for case in wanted(arguments) {
        eprintln!("{} of {}, width {}", case.operation.name(), case.code.name(), case.width);
        for &unit in &arguments.units {
            let rates = measure(isal, &case, unit << 10, arguments.runs);
            table.add_row(row(&case, format!("{unit} KiB"), &rates, ""));
        }
        let unit = ((arguments.memory as usize) << 20) / (case.sources() + case.outputs) / PAGE * PAGE;
        if unit > 0 {
            let rates = measure(isal, &case, unit, arguments.runs);
            let of_read = format!("{:.2}", rates.of_read);
            table.add_row(row(&case, "memory".to_owned(), &rates, &of_read));
        }
    }
    println!("With {}; ISA-L chooses its own instructions.\n\n{table}", sums::instructions());
}

/// The granularity of the size of units, in bytes.
const PAGE: usize = 4096;

fn wanted(arguments: &Arguments) -> impl Iterator<Item = Case> {
    let Arguments { widths, codes, operations, .. } = arguments;
    let all = widths.iter().flat_map(|width| cases::of_width(usize::from(*width)));
    all.filter(|case| {
        (codes.is_empty() || codes.contains(&case.code))
            && (operations.is_empty() || operations.contains(&case.operation))
            // A delta has one source at any width.
            && (case.operation != Operation::Delta || case.width == usize::from(widths[0]))
    })
}

fn row(case: &Case, units: String, rates: &Rates, of_read: &str) -> [String; 9] {
    let width = if case.operation == Operation::Delta { "any".to_owned() } else { case.width.to_string() };
    [
        case.operation.name().to_owned(),
        case.code.name().to_owned(),
        width,
        units,
        format!("{:.1}", rates.ours),
        format!("{:.1}", rates.isal),
        format!("{:.2}", rates.of_isal),
        of_read.to_owned(),
        case.function.name().to_owned(),
    ]
}
