// SPDX-License-Identifier: Apache-2.0

//! `nyala raid start`: on the storage host, while its service does not have the set.

use super::far::FarArgs;
use crate::config::SetShape;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use nyala_storage::drive_set::start;
use serde::Serialize;

/// Flags of `nyala raid start`.
#[derive(Clone, Debug, clap::Args)]
pub struct RaidStartArgs {
    /// The drives of the set that are there, as in the settings: directories of this host, or net://HOST:PORT/NAME
    #[arg(value_name = "DIR", required = true, num_args = 1..)]
    pub drives: Vec<String>,
    #[command(flatten)]
    pub far: FarArgs,
    /// Do it: the other drives never come back, and what only they have is lost. Otherwise it is only said what would be done
    #[arg(long)]
    pub yes: bool,
}

/// What is done.
#[derive(Debug, Serialize)]
struct Started {
    /// Why the set does not start by itself; absent if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    /// Numbers of the drives that it does without.
    without: Vec<usize>,
    members: usize,
    started: bool,
}

/// Does it.
pub fn run(args: RaidStartArgs, output: Output) -> Outcome {
    let spec = SetShape::default().spec(&args.drives, &[]).map_err(Failure::usage)?;
    let keys = args.far.keys(&spec.drives)?;
    let done = start(&spec, keys.as_ref(), args.yes).map_err(|error| Failure::failed(error.to_string()))?;
    let started = args.yes && done.refused.is_some();
    let done = Started { refused: done.refused, without: done.without, members: done.members, started };
    show(output, &done, render)
}

fn render(done: &Started) -> String {
    let without = format!("{:?} of its {} drives", done.without, done.members);
    match (&done.refused, done.started) {
        (None, _) => "The set starts by itself with these drives; there is nothing to do.\n".to_owned(),
        (Some(_), true) => format!(
            "The set starts without {without} from now on. Start its storage service, and give it new drives: nyala raid replace.\n"
        ),
        (Some(why), false) => format!(
            "It does not start by itself: {why}.\nIt would be made to start without {without}, and what only those have would be lost. \
             Nothing was changed; add --yes to do it.\n"
        ),
    }
}

#[cfg(test)]
mod tests;
