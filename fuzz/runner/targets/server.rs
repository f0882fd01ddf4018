//! A fuzzer of `parlour_fuzz::server`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| parlour_fuzz::server::run(data));
