// SPDX-License-Identifier: Apache-2.0

//! What services, targets, clients and users of a cluster do now: tables on a terminal, or printed.
//!
//! What decides is in [`logic`], without a terminal and a clock: from two rounds of samples to tables, from keys to what of them is wanted,
//! from both to lines.
//!
//! **Failure model.** Services may be away: the others are shown, and who is silent and why. Management may be away: those that were known are
//! asked. The terminal is given back as it was, whatever happens, a panic included; only SIGKILL leaves it as it is.

mod batch;
pub mod logic;
mod looks;
mod screen;

pub use batch::print;
pub use logic::tab::Tab;
pub use looks::Looks;
pub use screen::run;
