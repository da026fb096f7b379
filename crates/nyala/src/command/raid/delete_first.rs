// SPDX-License-Identifier: Apache-2.0

//! What comes before a set is deleted: its cluster knows its target no more. Failure model: that of [`super::delete`].

use crate::cluster::{Cluster, ClusterArgs};
use crate::config::DEFAULT_SECRET;
use crate::exit::Failure;
use nyala_storage::SetSpec;
use nyala_storage::drive_set::DriveKeys;
use nyala_store::own_dir::Identity;
use nyala_transport::member::MgmtClient;
use nyala_transport::{HandshakeConfig, Role, Secret};
use nyala_wire::map::ClusterMap;
use nyala_wire::mgmt::{MgmtReply, MgmtRequest};
use nyala_wire::{MapVersion, TargetId};

/// What drives of other hosts want to see; none if all are of this host.
pub(super) fn keys(
    cluster: &ClusterArgs,
    find: impl Fn() -> Result<Cluster, Failure>,
    spec: &SetSpec,
) -> Result<Option<DriveKeys>, Failure> {
    if spec.drives.iter().chain(&spec.spares).all(|drive| drive.dir().is_some()) {
        return Ok(None);
    }
    if let Ok(Cluster { secret, encrypt, .. }) = find() {
        return Ok(Some(DriveKeys { secret, encrypt }));
    }
    let file = cluster.secret.clone().unwrap_or_else(|| DEFAULT_SECRET.into());
    let secret = Secret::load(&file).map_err(|error| Failure::config(error.to_string()))?;
    Ok(Some(DriveKeys { secret, encrypt: cluster.encrypt.unwrap_or_default() }))
}

/// The map of a cluster; a storage host may have a key for storage only.
pub(super) async fn ask(cluster: &Cluster) -> Result<ClusterMap, Failure> {
    if cluster.secret.covers(Role::Cli) || cluster.secret.covers(Role::Client) {
        return cluster.map().await;
    }
    let handshake = HandshakeConfig::new(cluster.secret.clone(), 0, Role::Storage, 0);
    let client = MgmtClient::new(cluster.mgmt.clone(), HandshakeConfig { encrypt: cluster.encrypt, ..handshake });
    match client.call(&MgmtRequest::WatchMap { have: MapVersion(0), wait_ms: 0 }).await? {
        MgmtReply::Map(map) => Ok(*map),
        _ => Err(Failure::failed("management does not say which targets it knows")),
    }
}

/// The cluster of a target does not know it any more.
pub(super) fn expect_removed(map: &ClusterMap, identity: &Identity) -> Result<(), Failure> {
    let id = identity.target;
    if identity.cluster != map.cluster {
        let (theirs, found) = (identity.cluster, map.cluster);
        return Err(Failure::failed(format!(
            "the set has target {id} of cluster {theirs}, and cluster {found} was asked: name the other one (--mgmt HOST --secret FILE), or, if it is gone for good, say --cluster-gone"
        )));
    }
    if map.target(id).is_none() { Ok(()) } else { Err(Failure::failed(to_do_first(map, id))) }
}

/// What comes before the deletion of a set whose target the cluster has.
pub fn to_do_first(map: &ClusterMap, id: TargetId) -> String {
    let alias = map.target(id).map_or("", |target| target.alias.as_str());
    let group = map.groups.iter().find(|group| group.members.contains(&id));
    let leave = group.map_or_else(String::new, |group| {
        format!(" Take it out of its mirror group: nyala mirror remove-member {} {id}.", group.id)
    });
    format!(
        "the cluster still has target {id} ({alias}) on this set. Move the files elsewhere that are not mirrored: nyala entry migrate MOUNTPOINT --targets {id} --yes.{leave} \
         Take it out of the settings of its storage service, and start that again; nyala target remove {id} --yes. Then the set can be deleted"
    )
}
