//! Target of cargo-fuzz: see `ckpt_core::fuzzing::revision`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ckpt_core::fuzzing::revision(bytes));
