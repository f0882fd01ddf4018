//! A fuzzer of `parlour_fuzz::superblock`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| parlour_fuzz::superblock::run(data));
