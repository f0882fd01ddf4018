//! A fuzzer of `parlour_fuzz::bitmap`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| parlour_fuzz::bitmap::run(data));
