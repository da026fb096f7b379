// SPDX-License-Identifier: Apache-2.0

//! [`nyala_fuzz::drive_files::claim`] for libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    nyala_fuzz::drive_files::claim(bytes);
});
