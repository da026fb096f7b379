// SPDX-License-Identifier: Apache-2.0

//! What a scrub decides. Pure: times and what was seen are arguments.

pub mod damage;
pub mod pace;
pub mod progress;
pub mod reason;
