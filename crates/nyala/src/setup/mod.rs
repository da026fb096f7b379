// SPDX-License-Identifier: Apache-2.0

//! Setting up a host: what `nyala setup` would do is planned first, shown, and done when the administrator agrees.
//!
//! ```text
//! flags ─► service / client: what is there is looked at, what is wrong is refused ─► Plan (steps, notes) ─► carry_out
//! ```
//!
//! **Failure model.** Directories may be in use, foreign or on a disk that is not mounted; another instance may have the port; the
//! secret may be missing or readable by others; interfaces may not exist; an existing settings file may be damaged. All of that is
//! looked at before the first step, and one finding refuses the whole: nothing was changed then. A step that fails (disk full, no
//! permission) ends the rest, and says so; what was done before it stays, and the same command again does what is missing. Settings
//! files appear whole or not at all.

pub mod args;
mod carry_out;
mod client;
mod collisions;
mod common_args;
mod directories;
mod document;
mod fstab;
mod interfaces;
mod manager;
mod mon;
mod mon_args;
mod plan;
mod replace;
mod service;
mod settings_file;
mod site;
mod step;
mod units;
mod values;

pub use carry_out::carry_out;
pub use client::client;
pub use collisions::{claims, other_port};
pub use mon::mon;
pub use plan::Plan;
pub use replace::replace_file;
pub use service::{meta, mgmtd, storage};
pub use step::Step;
