//! A fuzzer of `parlour_fuzz::transmission`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| parlour_fuzz::transmission::run(data));
