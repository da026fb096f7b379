// SPDX-License-Identifier: Apache-2.0

//! `beegfs-ctl --setpattern`.

use crate::cluster::{PathLocation, Way};
use crate::command::entry_code::{CodeArgs, EntryPattern};
use crate::command::entry_pattern::PatternArgs;
use crate::command::entry_set;
use crate::compat::{cluster, command_line::CommandLine};
use crate::exit::{Failure, Outcome};
use crate::output::print;
use crate::role::block_on;
use crate::units::Size;
use nyala_wire::{Pattern, StripePattern};
use std::path::PathBuf;

/// The one path that is named.
pub fn one_path(line: &CommandLine) -> Result<PathBuf, Failure> {
    match line.operands.as_slice() {
        [path] => Ok(PathBuf::from(path)),
        [] => Err(Failure::usage("No path was given: name a directory or file below the mount point")),
        several => Err(Failure::usage(format!("One path at a time, not {}: {}", several.len(), several.join(" ")))),
    }
}

/// Where an entry is, as its mount sees it: the path inside the file system, and the mount point.
fn inside(way: &Way) -> (String, String) {
    match way {
        Way::Cluster(_, PathLocation::Mounted(path, mountpoint)) | Way::Mount { path, mountpoint, .. } => {
            let inside = path.strip_prefix(mountpoint).unwrap_or(path).display().to_string();
            let inside = if inside.is_empty() { inside } else { format!("/{inside}") };
            (inside, mountpoint.display().to_string())
        }
        Way::Cluster(_, PathLocation::InRoot(path)) => (path.display().to_string(), String::new()),
    }
}

/// Sets what a directory gives to new files.
pub fn set_pattern(line: &CommandLine) -> Outcome {
    line.only(
        &["chunksize", "numtargets", "pattern", "storagepoolid", "buddymirror", "raid0", "unmounted"],
        "setpattern",
    )?;
    let pattern = match line.value("pattern").map(str::to_ascii_lowercase).as_deref() {
        Some("raid0") => Some(EntryPattern::Raid0),
        Some("buddymirror") => Some(EntryPattern::Mirror),
        Some(other) => {
            return Err(Failure::usage(format!("Invalid value for --pattern: {other}; possible: raid0, buddymirror")));
        }
        None if line.has("buddymirror") => Some(EntryPattern::Mirror),
        None if line.has("raid0") => Some(EntryPattern::Raid0),
        None => None,
    };
    let size = |text: &str| {
        text.parse::<Size>().map_err(|error| Failure::usage(format!("Invalid value for --chunksize: {error}")))
    };
    let path = one_path(line)?;
    let args = entry_set::EntrySetArgs {
        paths: vec![path.clone()],
        stripe: PatternArgs {
            chunk_size: line.value("chunksize").map(size).transpose()?,
            num_targets: line.value("numtargets").map(|_| line.number("numtargets")).transpose()?,
            pattern,
            pool: line
                .value("storagepoolid")
                .map(|_| line.number("storagepoolid"))
                .transpose()?
                .map(|id| id.to_string()),
            inline_size: None,
            code: CodeArgs::default(),
        },
        cluster: cluster::arguments(line)?,
    };
    if args.stripe.sets_nothing() {
        return Err(Failure::usage("There is nothing to set: give --chunksize, --numtargets or --pattern"));
    }
    let (new, (at, mount)) = block_on(async {
        let way = args.cluster.find_for(&path)?;
        let at = inside(&way);
        let new = entry_set::set(&args, way).await.map_err(|error| error.context(path.display()))?;
        Ok((new, at))
    })?;
    print(&format!("{}\nPath: {at}\nMount: {mount}\n\n", pattern_text(line, &new)))
}

fn pattern_text(line: &CommandLine, new: &StripePattern) -> String {
    let mut text = String::new();
    if line.has("chunksize") {
        text += &format!("New chunksize: {}\n", new.chunk_bytes);
    }
    if line.has("numtargets") {
        text += &format!("New number of storage targets: {}\n", new.num_targets);
    }
    if new.pattern == Pattern::Mirror {
        text += "New stripe pattern: Buddy Mirror\n";
    } else if line.has("pattern") || line.has("raid0") {
        text += "New stripe pattern: RAID0\n";
    }
    text
}
