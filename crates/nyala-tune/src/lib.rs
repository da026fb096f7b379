// SPDX-License-Identifier: Apache-2.0

//! Settings of a host that serves files: what published guides set, which of it is taken and why, and what a host lacks. Pure: the
//! shell reads the kernel's files and hands their texts over.
//!
//! - [`setting`], [`rule`]: a setting of the kernel, what each guide says of it, and the rule that settles contradictions.
//! - [`catalogue`]: all of them, and what the guides advise that is not taken.
//! - [`plan`], [`mod@judge`]: the files of a host that they stand for, and what is to be written to each.
//! - [`saved`]: what those files said before. [`fstab`]: lines of the table of file systems.
//! - [`links`]: ways between servers, and the order in which they are measured.
//! - [`facts`], [`mod@check`], [`finding`]: facts about a host go in, findings come out: file systems, kernel, clock, network.

pub mod catalogue;
pub mod check;
pub mod facts;
pub mod finding;
pub mod fstab;
pub mod judge;
pub mod links;
pub mod plan;
pub mod rule;
pub mod saved;
pub mod setting;

pub use check::check;
pub use facts::Facts;
pub use finding::{Area, Finding, Level};
pub use judge::{Texts, Verdict, chosen, judge};
pub use plan::{Device, Hardware, Item};
pub use rule::{Decision, Rule};
pub use setting::{Guide, Role, Scope, Setting};
