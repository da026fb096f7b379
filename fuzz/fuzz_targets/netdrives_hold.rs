// SPDX-License-Identifier: Apache-2.0

//! [`nyala_fuzz::netdrives::hold`] for libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    nyala_fuzz::netdrives::hold(bytes);
});
