// SPDX-License-Identifier: Apache-2.0

//! When targets are opened that lie on drives of other hosts.
//!
//! **Failure model.** Hosts start in any order and some never: such a target is opened when all its drives are there, or after some seconds with those that are, if
//! the level can do without the others; otherwise the service waits for more, and serves its other targets meanwhile. Two services may be told to serve
//! one target, so that one takes over when the other is dead: as long as management says that it is online elsewhere, none of its drives is touched.
//! Management away: there is a wait for it, as for registration. What is seen may change until the set is opened: then the drives' fence decides.

use super::targets::Targets;
use crate::config::{StorageConfig, TargetSpec};
use crate::disks::Disks;
use crate::drive_set::{DriveKeys, survey};
use crate::error::StorageError;
use crate::set_spec::SetSpec;
use nyala_store::own_dir::Identity;
use nyala_transport::advertise::advertised_address;
use nyala_transport::member::MgmtClient;
use nyala_transport::{HandshakeConfig, Role};
use nyala_wire::map::Reachability;
use nyala_wire::mgmt::{MgmtReply, MgmtRequest};
use nyala_wire::{ClusterId, MapVersion, TargetId};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Between two looks.
const AGAIN: Duration = Duration::from_millis(500);
/// Drives that are not there are waited for so long, where the set can start without them.
const ALL_WITHIN: Duration = Duration::from_secs(10);
/// Other targets of the service wait so long for those that cannot be opened.
const OTHERS_WAIT: Duration = Duration::from_secs(30);

/// Whether sets of a configuration have drives or spares of other hosts.
pub(super) fn are_any(config: &StorageConfig) -> bool {
    config.targets.iter().any(|spec| far(spec).is_some())
}

fn far(spec: &TargetSpec) -> Option<&SetSpec> {
    spec.set.as_ref().filter(|set| !set.reached().is_empty())
}

/// Opens the targets once those on drives of other hosts may be opened. Waits for ever if there is nothing to serve.
pub(super) async fn open(
    config: &StorageConfig,
    (disks, keys): (&dyn Disks, &DriveKeys),
    node: &Identity,
    open_files: usize,
    uuid: impl Fn() -> Result<ClusterId, StorageError>,
) -> Result<Targets, StorageError> {
    let (began, mut said, mut fails_since) = (Instant::now(), String::new(), None);
    let mut say = |text: String| {
        if said != text {
            tracing::warn!("{text}");
            said = text;
        }
    };
    loop {
        let (mut may, mut waits) = (Vec::new(), Vec::new());
        for spec in &config.targets {
            match ready(config, spec, keys, began.elapsed() >= ALL_WITHIN).await {
                Ok(()) => may.push(spec.clone()),
                Err(why) => waits.push(format!("{}: {why}", spec.dir.display())),
            }
        }
        if waits.is_empty() || (!may.is_empty() && began.elapsed() >= OTHERS_WAIT) {
            let now = StorageConfig { targets: may, ..config.clone() };
            match Targets::open(&now, (disks, Some(keys)), node, open_files, &uuid) {
                Ok(targets) => {
                    let not_served =
                        |why| tracing::error!("a storage target is not served: {why}; start the service again then");
                    waits.iter().for_each(not_served);
                    return Ok(targets);
                }
                // Drives may have gone in between. What does not pass is an error, as it is without drives of other hosts.
                Err(error) if fails_since.get_or_insert_with(Instant::now).elapsed() >= OTHERS_WAIT => {
                    return Err(error);
                }
                Err(error) => say(format!("no storage target can be opened yet: {error}")),
            }
        } else {
            fails_since = None;
            say(format!("waiting for the drives of storage targets: {}", waits.join("; ")));
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Why a target is not to be opened now.
async fn ready(config: &StorageConfig, spec: &TargetSpec, keys: &DriveKeys, without: bool) -> Result<(), String> {
    let Some(set) = far(spec) else { return Ok(()) };
    let (set, theirs) = (set.clone(), keys.clone());
    let seen = tokio::task::spawn_blocking(move || survey(&set, &theirs)).await.map_err(|error| error.to_string())?;
    let seen = seen.map_err(|error| error.to_string())?;
    if let Some(identity) = seen.identity.filter(|identity| identity.target.0 != 0) {
        elsewhere(config, keys, identity.target).await?;
    }
    match seen.short {
        Some(short) => Err(short),
        None if seen.new || seen.there == seen.of || without => Ok(()),
        None => Err(format!("{} of {} drives are there", seen.there, seen.of)),
    }
}

/// An error if another service serves the target.
async fn elsewhere(config: &StorageConfig, keys: &DriveKeys, target: TargetId) -> Result<(), String> {
    let mut ours: Vec<SocketAddr> = config.advertise.clone();
    if ours.is_empty() {
        ours.push(advertised_address(config.listen, &config.mgmt));
    }
    let handshake = HandshakeConfig::new(keys.secret.clone(), 0, Role::Storage, 0);
    let client = MgmtClient::new(config.mgmt.clone(), HandshakeConfig { encrypt: keys.encrypt, ..handshake });
    let request = MgmtRequest::WatchMap { have: MapVersion(0), wait_ms: 0 };
    let map = match client.call(&request).await {
        Ok(MgmtReply::Map(map)) => map,
        Ok(_) => return Err("management does not say who serves it".to_owned()),
        Err(error) => return Err(format!("management does not say who serves it: {error}")),
    };
    let served = map.targets.iter().find(|known| known.id == target);
    let online = served.filter(|served| served.reachability != Reachability::Offline);
    match online.and_then(|served| map.nodes.iter().find(|node| node.id == served.node)) {
        Some(node) if !node.addresses.iter().any(|address| ours.contains(address)) => Err(format!(
            "target {target} is served by node {} ({}); it is taken over when that is offline",
            node.id, node.alias
        )),
        _ => Ok(()),
    }
}
