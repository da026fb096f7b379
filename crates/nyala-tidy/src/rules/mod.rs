// SPDX-License-Identifier: Apache-2.0

//! The rules: each takes the repository's texts and gives what breaks it.

pub mod architecture;
pub mod ascii;
pub mod book;
pub mod book_settings;
pub mod book_text;
pub mod circles;
pub mod decisions;
pub mod expects;
pub mod failure_model;
pub mod headers;
pub mod layering;
pub mod leftovers;
pub mod links;
pub mod lints_table;
pub mod names;
pub mod panics;
pub mod purity;
pub mod semantics;
pub mod sizes;
pub mod sleeps;
