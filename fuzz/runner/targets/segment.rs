//! A fuzzer of `parlour_fuzz::segment`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| parlour_fuzz::segment::run(data));
