// SPDX-License-Identifier: Apache-2.0

//! Walking the name space: `nyala entry find` and `nyala entry info --recurse`.
//!
//! **Failure model.** The file system is in use: names come, go and move meanwhile. What is gone when it is looked at is passed over;
//! what moves may be seen twice or not at all, as with find(1). What cannot be looked at for another reason is counted, the first of it
//! is named at the end, and the walk goes on; only a cluster that cannot be reached ends it. Whoever reads the results may go away: the
//! walk ends then, and that is no error. Memory is bounded by a page of names for each directory on the way down.

mod filter;
mod filter_args;
pub mod mounted;
mod owners;
mod results;
mod search;
mod tree;
mod walk;

pub use filter_args::FilterArgs;
pub use owners::{gid, uid};
pub use search::Search;
pub use tree::Tree;
pub use walk::Walked;
