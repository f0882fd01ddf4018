//! A fuzzer of `parlour_fuzz::settings`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| parlour_fuzz::settings::run(data));
