// SPDX-License-Identifier: Apache-2.0

//! What a target on a set stands on. Failure model: see the parent module.

use super::chunks::SetChunks;
use super::identity::TargetDir;
use super::load::Load;
use super::open::{OpenSet, locations, open};
use super::reach::DriveKeys;
use super::upkeep::Upkeep;
use crate::config::TargetSpec;
use crate::disks::Disks;
use crate::error::StorageError;
use crate::set_spec::SetSpec;
use nyala_drives::{SetFiles, set_disk};
use nyala_store::own_dir::IdentityError;
use nyala_store::{Options, Recovery, Store};
use nyala_wire::ClusterId;
use parking_lot::Mutex;
use std::sync::Arc;

/// The parts of a target on a set.
pub struct SetParts {
    /// Who it is.
    pub dir: Arc<Mutex<TargetDir>>,
    /// Its store.
    pub kv: Store,
    /// What opening that did.
    pub recovery: Recovery,
    /// Its chunk files.
    pub chunks: SetChunks,
    /// What changes when something that was not synced may be lost.
    pub boot_id: String,
    /// What the set does by itself.
    pub upkeep: Arc<Upkeep>,
}

/// Opens them.
pub fn parts(
    spec: &TargetSpec,
    set: &SetSpec,
    (disks, keys): (&dyn Disks, Option<&DriveKeys>),
    options: Options,
    new_uuid: ClusterId,
    check: impl FnOnce(&TargetDir) -> Result<(), StorageError>,
) -> Result<SetParts, StorageError> {
    let failed = |error| StorageError::Set { path: spec.dir.clone(), error: Box::new(error) };
    let (locations, spare_after) = (locations(set), set.spare_after);
    let OpenSet { set, there, instances, spares, reach } = open(set, keys)?;
    let dir = TargetDir::of_set(&spec.dir, &set, &there, new_uuid)?;
    check(&dir)?;
    let files = SetFiles::open(set.clone(), false).map_err(failed)?;
    let opened = Store::open_disks(set_disk(&files, "log/"), &*set_disk(&files, "table/"), options);
    let (kv, recovery) = opened.map_err(|error| StorageError::Store { path: spec.dir.clone(), error })?;
    // A file system that was mounted anew has lost what was not synced there.
    let boots = there.iter().map(|drive| disks.boot_id(drive)).collect::<Result<Vec<String>, _>>();
    let boots = boots.map_err(|error| IdentityError::Io { path: spec.dir.clone(), error })?;
    let boot_id = boots.into_iter().chain(instances).collect::<Vec<String>>().join(" ");
    let (load, dir) = (Arc::new(Load::default()), Arc::new(Mutex::new(dir)));
    load.room_is(set.space());
    let chunks = SetChunks::new(set.clone(), Arc::new(kv.clone()), load.clone());
    let upkeep = Upkeep::start(set, load, dir.clone(), (spares, spare_after), (locations, reach));
    let upkeep = upkeep.map_err(|error| StorageError::System { what: "cannot start a thread", error })?;
    Ok(SetParts { dir, kv, recovery, chunks, boot_id, upkeep })
}
