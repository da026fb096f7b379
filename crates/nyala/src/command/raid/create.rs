// SPDX-License-Identifier: Apache-2.0

//! `nyala raid create`: on the storage host, before the target is named in the settings.

use super::far::FarArgs;
use crate::config::SetShape;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use nyala_storage::DriveLocation;
use nyala_storage::drive_set::{geometry, make};
use serde::Serialize;
use std::collections::BTreeMap;

/// Flags of `nyala raid create`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RaidCreateArgs {
    /// Empty directories of this host, each the root of a file system on a drive of its own; or of other hosts, which lend them out: net://HOST:PORT/NAME
    #[arg(value_name = "DIR", required = true, num_args = 1..)]
    pub drives: Vec<String>,
    /// A spare that is printed for the settings: an empty directory, or net://HOST:PORT/NAME. Several targets may have the same
    #[arg(long, value_name = "DIR")]
    pub spare: Vec<String>,
    #[command(flatten)]
    pub shape: SetShape,
    /// Alias of the target that is printed for the settings
    #[arg(long, value_name = "NAME")]
    pub alias: Option<String>,
    #[command(flatten)]
    pub far: FarArgs,
    /// Do it; otherwise it is only said what would be made
    #[arg(long)]
    pub yes: bool,
}

/// What is made.
#[derive(Debug, Serialize)]
struct Made {
    level: String,
    drives: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    spares: Vec<String>,
    /// Drives of data and of parity in each group.
    groups: usize,
    data: usize,
    parity: usize,
    strip_bytes: usize,
    /// What the loss of one host would do.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alias: Option<String>,
    made: bool,
}

/// Makes it.
pub fn run(args: RaidCreateArgs, output: Output) -> Outcome {
    let spec = args.shape.spec(&args.drives, &args.spare).map_err(Failure::usage)?;
    let failed = |error: nyala_storage::StorageError| Failure::failed(error.to_string());
    let geometry = match spec.level {
        Some(_) => geometry(&spec).map_err(|error| Failure::usage(error.to_string()))?,
        None => return Err(Failure::usage("say which level, for example --level 6")),
    };
    if let Some(missing) = spec.drives.iter().filter_map(|drive| drive.dir()).find(|dir| !dir.is_dir()) {
        let missing = missing.display();
        return Err(Failure::failed(format!("{missing} is not a directory; make it, or mount its drive, first")));
    }
    if args.yes {
        make(&spec, args.far.keys(&spec.drives)?.as_ref()).map_err(failed)?;
    }
    let made = Made {
        level: geometry.level().to_string(),
        warning: warning(&spec.drives, geometry.parity(), geometry.groups()),
        drives: args.drives,
        spares: args.spare,
        groups: geometry.groups(),
        data: geometry.data(),
        parity: geometry.parity(),
        strip_bytes: geometry.strip_bytes(),
        alias: args.alias,
        made: args.yes,
    };
    show(output, &made, render)
}

/// Whether a host has more of the drives than may be lost. Groups are of drives that follow each other.
fn warning(drives: &[DriveLocation], parity: usize, groups: usize) -> Option<String> {
    let of_group = |drives: &[DriveLocation]| {
        let mut hosts = BTreeMap::<&str, usize>::new();
        for drive in drives {
            let host = match drive {
                DriveLocation::Dir(_) => "this host",
                DriveLocation::Net { service, .. } => {
                    service.rsplit_once(':').map_or(service.as_str(), |(host, _)| host)
                }
            };
            *hosts.entry(host).or_default() += 1;
        }
        let (host, count) = hosts.into_iter().max_by_key(|(_, count)| *count)?;
        let short = count > parity;
        short.then(|| {
            format!(
                "{host} has {count} drives of a group that can do without {parity}: without that host the target stops"
            )
        })
    };
    let is_far = drives.iter().any(|drive| drive.dir().is_none());
    is_far.then(|| drives.chunks(drives.len().div_ceil(groups.max(1)).max(1)).find_map(of_group)).flatten()
}

fn render(made: &Made) -> String {
    let warning = made.warning.as_ref().map(|warning| format!("WARNING: {warning}.\n")).unwrap_or_default();
    let shape = format!(
        "{warning}RAID {}: {} drives in {} group(s) of {} for data and {} for parity, strips of {} bytes",
        made.level,
        made.drives.len(),
        made.groups,
        made.data,
        made.parity,
        made.strip_bytes
    );
    let quoted = |drives: &[String]| drives.iter().map(|drive| format!("{drive:?}")).collect::<Vec<_>>().join(", ");
    let spares = if made.spares.is_empty() { String::new() } else { format!("spares = [{}]\n", quoted(&made.spares)) };
    match made.made {
        true => format!(
            "{shape}. It is a new storage target; name it in the settings of this host's storage service, and start that \
             again:\n\n[[targets]]\n{}drives = [{}]\n{spares}",
            made.alias.as_ref().map(|alias| format!("alias = {alias:?}\n")).unwrap_or_default(),
            quoted(&made.drives)
        ),
        false => format!("{shape} would be made. Nothing was changed; add --yes to make it.\n"),
    }
}

#[cfg(test)]
mod tests;
