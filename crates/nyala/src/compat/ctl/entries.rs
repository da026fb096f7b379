// SPDX-License-Identifier: Apache-2.0

//! `beegfs-ctl --setpattern`.

use crate::cluster::{Place, Way};
use crate::command::entry_code::{CodeArgs, EntryPattern};
use crate::command::entry_pattern::PatternArgs;
use crate::command::entry_set;
use crate::compat::{cluster, words::Words};
use crate::exit::{Failure, Outcome};
use crate::output::print;
use crate::role::block_on;
use crate::units::Size;
use nyala_wire::{Pattern, StripePattern};
use std::path::PathBuf;

/// The one path that is named.
pub fn one_path(words: &Words) -> Result<PathBuf, Failure> {
    match words.places.as_slice() {
        [path] => Ok(PathBuf::from(path)),
        [] => Err(Failure::usage("No path was given: name a directory or file below the mount point")),
        several => Err(Failure::usage(format!("One path at a time, not {}: {}", several.len(), several.join(" ")))),
    }
}

/// Where an entry is, as its mount sees it: the path inside the file system, and the mount point.
fn inside(way: &Way) -> (String, String) {
    match way {
        Way::Cluster(_, Place::Mounted(path, mountpoint)) | Way::Mount { path, mountpoint, .. } => {
            let inside = path.strip_prefix(mountpoint).unwrap_or(path).display().to_string();
            let inside = if inside.is_empty() { inside } else { format!("/{inside}") };
            (inside, mountpoint.display().to_string())
        }
        Way::Cluster(_, Place::InRoot(path)) => (path.display().to_string(), String::new()),
    }
}

/// Sets what a directory gives to new files.
pub fn set_pattern(words: &Words) -> Outcome {
    words.only(
        &["chunksize", "numtargets", "pattern", "storagepoolid", "buddymirror", "raid0", "unmounted"],
        "setpattern",
    )?;
    let pattern = match words.value("pattern").map(str::to_ascii_lowercase).as_deref() {
        Some("raid0") => Some(EntryPattern::Raid0),
        Some("buddymirror") => Some(EntryPattern::Mirror),
        Some(other) => {
            return Err(Failure::usage(format!("Invalid value for --pattern: {other}; possible: raid0, buddymirror")));
        }
        None if words.has("buddymirror") => Some(EntryPattern::Mirror),
        None if words.has("raid0") => Some(EntryPattern::Raid0),
        None => None,
    };
    let size = |text: &str| {
        text.parse::<Size>().map_err(|error| Failure::usage(format!("Invalid value for --chunksize: {error}")))
    };
    let path = one_path(words)?;
    let args = entry_set::EntrySetArgs {
        paths: vec![path.clone()],
        stripe: PatternArgs {
            chunk_size: words.value("chunksize").map(size).transpose()?,
            num_targets: words.value("numtargets").map(|_| words.number("numtargets")).transpose()?,
            pattern,
            pool: words
                .value("storagepoolid")
                .map(|_| words.number("storagepoolid"))
                .transpose()?
                .map(|id| id.to_string()),
            inline_size: None,
            code: CodeArgs::default(),
        },
        cluster: cluster::arguments(words)?,
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
    print(&format!("{}\nPath: {at}\nMount: {mount}\n\n", pattern_text(words, &new)))
}

fn pattern_text(words: &Words, new: &StripePattern) -> String {
    let mut text = String::new();
    if words.has("chunksize") {
        text += &format!("New chunksize: {}\n", new.chunk_bytes);
    }
    if words.has("numtargets") {
        text += &format!("New number of storage targets: {}\n", new.num_targets);
    }
    if new.pattern == Pattern::Mirror {
        text += "New stripe pattern: Buddy Mirror\n";
    } else if words.has("pattern") || words.has("raid0") {
        text += "New stripe pattern: RAID0\n";
    }
    text
}
