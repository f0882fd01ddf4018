//! Runs the examples.

#[path = "../../examples/drive.rs"]
mod drive;

#[test]
fn an_array_in_memory_is_driven_and_keeps_what_was_written() {
    drive::main().unwrap();
}
