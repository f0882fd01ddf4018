//! The `parlour` program. Its code is in `lib.rs`, so that tests and fuzzers can use it.

use std::process::ExitCode;

fn main() -> ExitCode {
    parlour::main()
}
