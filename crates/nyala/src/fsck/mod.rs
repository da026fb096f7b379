// SPDX-License-Identifier: Apache-2.0

//! `nyala fsck`: asks all servers what they have, compares it (`nyala_fsck`), and has servers repair it.
//!
//! **Failure model.** The cluster works meanwhile: names move, files grow and go, services restart. A page is asked for again for a
//! while; a server that cannot be asked to the end is named, and what only it could tell is not found. What looks wrong is looked
//! at again before it is a finding. Repairs are changes by the servers, each done only where what was found is still so; a check
//! that dies leaves repairs done or not begun, and an inode that has its new name but not yet its links or the directory
//! above: the next check finds that.

mod ask;
mod check;
mod copies;
mod mirrors;
mod news;
mod operator;
mod pages;
mod progress;
mod repair;
mod report;
mod scan;
mod scratch;

pub use ask::Ask;
pub use check::{Options, check};
pub use news::Run;
pub use repair::repair;
pub use report::FsckReport;
