// SPDX-License-Identifier: Apache-2.0

//! What is shown, without a terminal and a clock: from two rounds of samples to [`tables`], from keys to what of them is wanted
//! ([`view`]), from both to lines ([`lines`]).

mod busy_rows;
pub mod cell;
mod change;
pub mod key;
pub mod lines;
pub mod tab;
pub mod tables;
pub mod view;
mod who;
