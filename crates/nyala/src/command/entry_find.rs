// SPDX-License-Identifier: Apache-2.0

//! `nyala entry find [PATH…]`: the paths of entries, by where they and their data are. Failure model: that of [`crate::entries`].

use super::entry_info::describe;
use crate::cluster::ClusterArgs;
use crate::entries::{FilterArgs, Search, Walked};
use crate::exit::Outcome;
use crate::output::Output;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Flags of `nyala entry find`.
#[derive(Clone, Debug, clap::Args)]
pub struct EntryFindArgs {
    /// Where to begin: paths on a mount (or, with a cluster named by flags and nothing mounted, from the root of the file system)
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Go at most so many directories down; 0: only the paths themselves
    #[arg(long, value_name = "N")]
    pub max_depth: Option<usize>,
    /// A zero byte after each path instead of a newline, for `xargs -0`
    #[arg(long)]
    pub null: bool,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Finds.
pub fn run(args: EntryFindArgs, output: Output) -> Outcome {
    let end = if args.null { 0 } else { b'\n' };
    let line = |walked: &Walked| [walked.path.as_os_str().as_bytes(), &[end]].concat();
    let search = Search {
        paths: &args.paths,
        cluster: &args.cluster,
        filter: &args.filter,
        max_depth: args.max_depth,
        excludes: false,
    };
    search.run(output, line, |walked| describe(&walked.path, &walked.found.0, &walked.found.1))
}
