// SPDX-License-Identifier: Apache-2.0

//! What a target stands on: a directory, or a drive set. Failure model: those of [`super::target`] and [`crate::drive_set`].

use crate::chunk_store::ChunkDisk;
use crate::config::TargetSpec;
use crate::disks::Disks;
use crate::drive_set::{self, DriveKeys, SetParts, TargetDir, Upkeep};
use crate::error::StorageError;
use crate::set_spec::SetSpec;
use nyala_store::own_dir::{Identity, IdentityError};
use nyala_store::{Options, Recovery, Store};
use nyala_wire::ClusterId;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;

/// The log of a target holds few kinds of small records; small segments keep small targets small.
const SEGMENT_BYTES: u64 = 16 << 20;

/// The parts of a target.
pub(super) struct Parts {
    pub dir: Arc<Mutex<TargetDir>>,
    pub kv: Store,
    pub recovery: Recovery,
    pub chunks: Arc<dyn ChunkDisk>,
    pub boot_id: String,
    pub upkeep: Option<Arc<Upkeep>>,
}

fn options() -> Options {
    Options { segment_bytes: SEGMENT_BYTES, ..Options::default() }
}

fn boot_error(error: std::io::Error) -> StorageError {
    StorageError::System { what: "cannot read the boot id", error }
}

/// The directory is the target that is wished.
fn check_id(spec: &TargetSpec, dir: &TargetDir) -> Result<(), StorageError> {
    let found = dir.identity.target;
    match spec.id.filter(|wanted| found.0 != 0 && *wanted != found) {
        Some(wanted) => Err(IdentityError::OtherTarget { path: spec.dir.clone(), found, wanted }.into()),
        None => Ok(()),
    }
}

/// Of a target in a directory.
pub(super) fn of_directory(spec: &TargetSpec, disks: &dyn Disks, new_uuid: ClusterId) -> Result<Parts, StorageError> {
    let dir = TargetDir::open(&spec.dir, new_uuid)?;
    check_id(spec, &dir)?;
    let system = |error| IdentityError::Io { path: spec.dir.clone(), error };
    let chunks = spec.dir.join("chunks");
    nyala_store::private::make_dir(&chunks).map_err(system)?;
    std::fs::File::open(&spec.dir).and_then(|dir| dir.sync_all()).map_err(system)?;
    let opened = disks.store(&spec.dir.join("kv"), options());
    let (kv, recovery) = opened.map_err(|error| StorageError::Store { path: spec.dir.clone(), error })?;
    let boot_id = disks.boot_id(&spec.dir).map_err(boot_error)?;
    let chunks = disks.chunks(&chunks).map_err(system)?;
    Ok(Parts { dir: Arc::new(Mutex::new(dir)), kv, recovery, chunks, boot_id, upkeep: None })
}

/// Of a target on a drive set, which a new service makes.
pub(super) fn of_set(
    spec: &TargetSpec,
    set: &SetSpec,
    (disks, keys): (&dyn Disks, Option<&DriveKeys>),
    new_uuid: ClusterId,
    is_new: bool,
) -> Result<Parts, StorageError> {
    if is_new && identity_on(set, keys)?.is_none() {
        drive_set::make(set, keys)?;
    }
    let check = |dir: &TargetDir| check_id(spec, dir);
    let SetParts { dir, kv, recovery, chunks, boot_id, upkeep } =
        drive_set::parts(spec, set, (disks, keys), options(), new_uuid, check)?;
    Ok(Parts { dir, kv, recovery, chunks: Arc::new(chunks), boot_id, upkeep: Some(upkeep) })
}

/// Who the target on a set is, without taking anything.
pub(super) fn identity_on(set: &SetSpec, keys: Option<&DriveKeys>) -> Result<Option<Identity>, StorageError> {
    let mut dirs = set.dirs();
    if !set.spares_shared {
        // Otherwise they may be another target's.
        dirs.extend(set.spares.iter().filter_map(|spare| spare.dir().map(Path::to_owned)));
    }
    let near = drive_set::peek_set(&dirs);
    match keys.filter(|_| !set.reached().is_empty()) {
        Some(keys) => match near?.filter(|near| near.target.0 != 0) {
            Some(near) => Ok(Some(near)),
            None => Ok(drive_set::survey(set, keys)?.identity),
        },
        None => Ok(near?),
    }
}
