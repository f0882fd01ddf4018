//! A fuzzer of `parlour_fuzz::assembly`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| parlour_fuzz::assembly::run(data));
