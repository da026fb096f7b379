// SPDX-License-Identifier: Apache-2.0

//! [`nyala_fuzz::text::metrics_page`] for libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    nyala_fuzz::text::metrics_page(bytes);
});
