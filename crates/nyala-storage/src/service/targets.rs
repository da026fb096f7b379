// SPDX-License-Identifier: Apache-2.0

//! The targets of a service: which of the configured directories are served.
//!
//! **Failure model.** A disk may not be mounted: where its target was, there is nothing or an empty directory, on the root
//! file system as often as not. So only a service that is entirely new makes targets: one that was never registered, with no
//! directory that was. Later ones are made by `nyala target add`, which writes the directory's identity. A
//! directory that is refused (missing, empty, another's, on another file system, damaged, removed or replaced by
//! management) is said in the log with what to do, and left alone; the other targets are served. When none is left, the
//! service ends with the first reason.

use super::target::Target;
use crate::config::{StorageConfig, TargetSpec};
use crate::disks::Disks;
use crate::drive_set::DriveKeys;
use crate::error::StorageError;
use nyala_store::own_dir::{Identity, IdentityError, Kind, peek};
use nyala_transport::member::Member;
use nyala_wire::{ClusterId, TargetId};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// Targets by their ids.
pub(super) type ById = Arc<HashMap<TargetId, Arc<Target>>>;

/// Targets whose directories are open.
pub(super) struct Targets {
    pub opened: Vec<Arc<Target>>,
    /// The cluster that they belong to; unknown if all are new.
    pub cluster: ClusterId,
    /// Those that management has taken, once it has.
    pub served: Arc<OnceLock<ById>>,
}

impl Targets {
    /// Opens the configured targets of a service, which says who it is by `node`. Each keeps at most `open_files` chunk files
    /// open. `uuid` gives identities to new ones.
    pub fn open(
        config: &StorageConfig,
        (disks, keys): (&dyn Disks, Option<&DriveKeys>),
        node: &Identity,
        open_files: usize,
        mut uuid: impl FnMut() -> Result<ClusterId, StorageError>,
    ) -> Result<Targets, StorageError> {
        let found: Vec<_> = config.targets.iter().map(|spec| peek_target(spec, keys)).collect();
        let clusters = found.iter().flatten().flatten().map(|identity| identity.cluster);
        let registered = |cluster: &ClusterId| *cluster != ClusterId::UNKNOWN;
        let cluster = [node.cluster].into_iter().chain(clusters).find(registered).unwrap_or_default();
        let is_new = cluster == ClusterId::UNKNOWN;
        let (mut opened, mut first) = (Vec::new(), None);
        for (spec, found) in config.targets.iter().zip(found) {
            let checked = found.and_then(|found| check(spec, found, cluster));
            let (workers, idle) = (config.workers_per_target, config.sync_idle);
            let target =
                checked.and_then(|()| Target::open(spec, (disks, keys), uuid()?, workers, idle, open_files, is_new));
            match target {
                Ok(target) => opened.push(Arc::new(target)),
                Err(error) if is_new => {
                    close(&opened)?;
                    return Err(error);
                }
                Err(error) => {
                    tracing::error!(dir = %spec.dir.display(), %error, "a storage target is not served");
                    first = first.or(Some(error));
                }
            }
        }
        match first {
            Some(error) if opened.is_empty() => Err(error),
            _ => Ok(Targets { opened, cluster, served: Arc::default() }),
        }
    }

    /// Remembers the ids of new targets, and leaves out those that management refuses or takes for others.
    pub fn settle_ids(&self, member: &Member) -> Result<ById, StorageError> {
        let (mut by_id, mut first) = (HashMap::new(), None);
        let mut reasons = member.refused().iter();
        for (target, given) in self.opened.iter().zip(member.targets().iter().copied()) {
            let mut dir = target.dir.lock();
            let (path, have) = (dir.path.clone(), dir.identity.target);
            let settled = match given {
                TargetId(0) => {
                    let why = reasons.next().cloned().unwrap_or_default();
                    Err(StorageError::TargetRefused { path, why })
                }
                given if have.0 != 0 && have != given => Err(StorageError::OtherId { path, have, given }),
                given => dir.registered(member.cluster(), given).map_err(StorageError::from),
            };
            match settled {
                Ok(()) => drop(by_id.insert(given, target.clone())),
                Err(error) => {
                    tracing::error!(dir = %dir.path.display(), %error, "a storage target is not served");
                    first = first.or(Some(error));
                }
            }
        }
        if let Some(error) = first.filter(|_| by_id.is_empty()) {
            return Err(error);
        }
        let by_id = Arc::new(by_id);
        // It is settled once.
        let _ = self.served.set(by_id.clone());
        Ok(by_id)
    }
}

/// Who a target is, where it lies.
fn peek_target(spec: &TargetSpec, keys: Option<&DriveKeys>) -> Result<Option<Identity>, StorageError> {
    match &spec.set {
        None => Ok(peek(&spec.dir, Kind::StorageTarget)?),
        Some(set) => super::target_parts::identity_on(set, keys),
    }
}

/// Refuses directories of other clusters and, unless all is new, those that hold no target.
fn check(spec: &TargetSpec, found: Option<Identity>, ours: ClusterId) -> Result<(), StorageError> {
    let path = spec.dir.clone();
    match found {
        Some(Identity { cluster: found, .. }) if found != ours && found != ClusterId::UNKNOWN => {
            Err(IdentityError::OtherCluster { path, found, ours }.into())
        }
        None if ours != ClusterId::UNKNOWN && spec.set.is_some() => {
            Err(StorageError::NoTargetThere { path, found: "and the other drives of its set have no target" })
        }
        None if ours != ClusterId::UNKNOWN => match std::fs::read_dir(&spec.dir).map(|mut dir| dir.next().is_none()) {
            Ok(false) => Err(IdentityError::NotEmpty { path, file: "target.toml" }.into()),
            Ok(true) => Err(StorageError::NoTargetThere { path, found: "is empty" }),
            Err(_) => Err(StorageError::NoTargetThere { path, found: "is missing" }),
        },
        _ => Ok(()),
    }
}

fn close(targets: &[Arc<Target>]) -> Result<(), StorageError> {
    targets.iter().try_for_each(|target| target.close())
}
