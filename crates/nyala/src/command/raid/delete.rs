// SPDX-License-Identifier: Apache-2.0

//! `nyala raid delete`: on the storage host, once no service has the set and no cluster knows its target any more.
//!
//! **Failure model.** See the parent module. Whether a target is still known only its cluster can say: if that is away, or another one answers, nothing is done, unless an operator says that
//! it is gone for good. Ended in the middle, the command is given again; drives that were away then, too.

use super::delete_first::{ask, expect_removed, keys};
use crate::cluster::{Cluster, ClusterArgs};
use crate::config::SetShape;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, Table, show};
use crate::role::block_on;
use nyala_storage::StorageError;
use nyala_storage::drive_set::{Deletion, DriveOutcome};
use nyala_wire::TargetId;
use serde::Serialize;

/// Flags of `nyala raid delete`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RaidDeleteArgs {
    /// The drives of the set, as in the settings: directories of this host, or net://HOST:PORT/NAME
    #[arg(value_name = "DIR", required = true, num_args = 1..)]
    pub drives: Vec<String>,
    /// A spare of the set, which is given back if the set has taken it; those of other sets stay as they are
    #[arg(long, value_name = "DIR")]
    pub spare: Vec<String>,
    /// The cluster that the target on the set was of is gone for good, and is not asked whether it still knows it
    #[arg(long)]
    pub cluster_gone: bool,
    /// Do it: everything on the set is lost. Otherwise it is only said what would be deleted
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// What is deleted.
#[derive(Debug, Serialize)]
struct Deleted {
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<String>,
    /// Of the target that was on the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<TargetId>,
    drives: Vec<Drive>,
    /// Drives of the set that were not named, or are away.
    absent: usize,
    deleted: bool,
}

#[derive(Debug, Serialize)]
struct Drive {
    drive: String,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl Drive {
    /// Whether there is something to delete.
    fn goes(&self) -> bool {
        matches!(self.outcome, "drive" | "rest")
    }
}

/// Deletes it.
pub fn run(args: RaidDeleteArgs, output: Output) -> Outcome {
    delete(&args, || args.cluster.find(), output)
}

/// The same, where the cluster is found in another way.
pub fn delete(args: &RaidDeleteArgs, find: impl Fn() -> Result<Cluster, Failure>, output: Output) -> Outcome {
    let spec = SetShape::default().spec(&args.drives, &args.spare).map_err(Failure::usage)?;
    let failed = |error: StorageError| Failure::failed(error.to_string());
    let deletion = Deletion::of(&spec, keys(&args.cluster, &find, &spec)?.as_ref()).map_err(failed)?;
    let target = deletion.target.clone().filter(|identity| identity.target.0 != 0);
    if let Some(identity) = target.as_ref().filter(|_| !args.cluster_gone) {
        let map = find().and_then(|cluster| block_on(ask(&cluster)));
        let map = map.map_err(|error| {
            let id = identity.target;
            error.context(format!(
                "the set has target {id}, and whether its cluster still knows that cannot be found out (if the cluster is gone for good: --cluster-gone)"
            ))
        })?;
        expect_removed(&map, identity)?;
    }
    let drives: Vec<Drive> =
        deletion.drives().map(|(location, outcome)| drive(location.to_string(), outcome)).collect();
    let deleted = args.yes && drives.iter().any(Drive::goes);
    let (level, absent) = (deletion.level.clone(), deletion.absent);
    if args.yes {
        deletion.run().map_err(failed)?;
    }
    let deleted = Deleted { level, target: target.map(|identity| identity.target), drives, absent, deleted };
    show(output, &deleted, render)
}

fn drive(drive: String, outcome: &DriveOutcome) -> Drive {
    let (outcome, why) = match outcome {
        DriveOutcome::Goes => ("drive", None),
        DriveOutcome::Rest => ("rest", None),
        DriveOutcome::Empty => ("empty", None),
        DriveOutcome::Stays(why) => ("stays", Some(why.clone())),
    };
    Drive { drive, outcome, why }
}

fn render(done: &Deleted) -> String {
    let mut table = Table::new(&["DRIVE", "STATE"]);
    for drive in &done.drives {
        let text = match (drive.outcome, &drive.why) {
            ("drive", _) => "a drive of the set".to_owned(),
            ("rest", _) => "begun and never finished".to_owned(),
            ("empty", _) => "empty".to_owned(),
            (_, why) => format!("stays as it is: {}", why.as_deref().unwrap_or("it is none")),
        };
        table.row([drive.drive.clone(), text]);
    }
    let going = done.drives.iter().any(Drive::goes);
    let what = match (&done.level, done.target) {
        (Some(level), Some(target)) => format!("The set of level {level} that target {target} was on"),
        (Some(level), None) => format!("The set of level {level}"),
        (None, _) => "What was begun of a set".to_owned(),
    };
    let absent = match done.absent {
        0 => String::new(),
        absent => format!(
            " {absent} of its drives are not among these and keep what they have: delete that when they are there."
        ),
    };
    let end = match (going, done.deleted) {
        (false, _) => "There is nothing to delete.".to_owned(),
        (true, true) => format!("{what} is deleted.{absent} A new set can be made of these drives: nyala raid create."),
        (true, false) => format!(
            "{what} would be deleted, with everything on it.{absent} The file systems of the drives stay. Nothing was changed; add --yes to do it."
        ),
    };
    format!("{}\n{end}\n", table.render())
}

#[cfg(test)]
mod tests;
