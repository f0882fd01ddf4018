//! The `parlour` program. All of it is in `lib.rs`, where tests and fuzzers reach it too.

use std::process::ExitCode;

fn main() -> ExitCode {
    parlour::main()
}
