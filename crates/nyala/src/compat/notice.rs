// SPDX-License-Identifier: Apache-2.0

//! What is said beside the output.

/// Says that something has no meaning here.
pub fn notice(text: &str) {
    eprintln!("Notice: {text}");
}
