// SPDX-License-Identifier: Apache-2.0

//! The nyala binary.

fn main() {}
