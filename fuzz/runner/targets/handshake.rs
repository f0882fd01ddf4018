//! A fuzzer of `parlour_fuzz::handshake`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| parlour_fuzz::handshake::run(data));
