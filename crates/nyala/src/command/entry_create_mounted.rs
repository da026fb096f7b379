// SPDX-License-Identifier: Apache-2.0

//! `nyala entry create` through a mount, for who may not read the cluster's secret. Failure model: that of `entry_create.rs`; the mount waits
//! for its cluster as it does for every program.

use super::entry_pattern::PatternArgs;
use crate::cluster::through_mount;
use crate::exit::{Failure, io};
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::{EntryInfo, Owner};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

/// What is made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// An empty file.
    File,
    /// A directory.
    Directory,
}

/// Permission bits and owner of something new.
pub struct New {
    /// Permission bits.
    pub mode: u16,
    /// Owner and group.
    pub owner: Owner,
    /// How it is striped, where that is not as in the directory above.
    pub stripe: PatternArgs,
}

/// What was made, and the map.
pub type Made = (EntryInfo, Arc<ClusterMap>);

/// For who may not read the secret: what the mount lets everybody do.
pub fn make_through_mount(path: &Path, above: &Path, what: What, new: &New, why: &Failure) -> Result<Made, Failure> {
    let (info, map) = through_mount::look(above, why)?;
    let old = info.pattern.ok_or_else(|| Failure::failed("the place above is not a directory"))?;
    let pattern = new.stripe.wanted(old, &map)?;
    let bits = u32::from(new.mode);
    match what {
        What::File if !new.stripe.sets_nothing() => {
            return Err(why.clone().context(
                "a mount makes no file with a pattern of its own; make a directory with this pattern (nyala entry create directory), or let \
                 somebody do it who may ask the cluster, which cannot be asked",
            ));
        }
        What::File => {
            let made = std::fs::File::options().write(true).create_new(true).mode(bits).open(path);
            made.map_err(io("cannot make it"))?;
        }
        What::Directory => std::fs::DirBuilder::new().mode(bits).create(path).map_err(io("cannot make it"))?,
    }
    let set = || {
        std::os::unix::fs::lchown(path, Some(new.owner.uid), Some(new.owner.gid)).map_err(io("cannot give it away"))?;
        // Whatever the umask of this process takes away.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits)).map_err(io("cannot set its mode"))?;
        match new.stripe.sets_nothing() {
            true => Ok(()),
            false => through_mount::set_pattern(path, &pattern, why),
        }
    };
    if let Err(failure) = set() {
        let removed = if what == What::File { std::fs::remove_file(path) } else { std::fs::remove_dir(path) };
        let left = removed.err().map_or(String::new(), |error| format!("; it stays there, since: {error}"));
        return Err(Failure { message: failure.message.clone() + &left, ..failure });
    }
    through_mount::look(path, why).map(|(info, map)| (info, map.into()))
}
