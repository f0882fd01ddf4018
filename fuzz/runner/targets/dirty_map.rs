//! A fuzzer of `parlour_fuzz::dirty_map`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| parlour_fuzz::dirty_map::run(data));
