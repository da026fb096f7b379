// SPDX-License-Identifier: Apache-2.0

//! A client that must not leave a directory asks which one that is, and shows storage services that files are below it.
//!
//! **Failure model.** The directory is asked for once, when the root is used for the first time; a rule that comes later refuses a client that
//! goes on as before, which has to begin anew. A storage service may forget what it was shown, and asks again; one that does not take
//! a proof, or asks for ever, ends the request with EACCES.

use crate::error::{Error, Result};
use crate::rpc::cluster::Cluster;
use nyala_transport::{Endpoint, Request};
use nyala_wire::codec::{decode, encode};
use nyala_wire::meta::{MetaOp, Owner};
use nyala_wire::restriction::may_hold;
use nyala_wire::{ErrorCode, InodeId, WireError, message_type};
use std::sync::Arc;
use std::time::Duration;

/// As long as for any request to storage.
const STORAGE_TIMEOUT: Duration = Duration::from_secs(30);

/// What this client has for a root. Asked once, and only where some rule may keep clients with its key to a directory.
pub(crate) async fn root(cluster: &Arc<Cluster>) -> Result<InodeId> {
    if !cluster.proofs.is_asked() {
        let held = {
            let view = cluster.maps.view();
            let key = cluster.ctx.config.secret.offered(cluster.ctx.config.role).map(|grant| grant.key);
            key.is_ok_and(|key| may_hold(&view.map, &key, |rule| rule.subtree.is_some()))
        };
        if held {
            // Whatever a server answers, it says the root beside it.
            cluster.meta("ask for the root", MetaOp::StatFs, Owner::default()).await?;
        }
        cluster.proofs.asked();
    }
    Ok(cluster.proofs.root())
}

/// The inode that is meant by a number of the layer above.
pub(crate) async fn meant(cluster: &Arc<Cluster>, inode: InodeId) -> Result<InodeId> {
    if inode == InodeId::ROOT { root(cluster).await } else { Ok(inode) }
}

/// Shows a storage service that files are below this client's directory, since it asked for that. `shown`: how often it was shown already for
/// the same request.
pub(super) async fn show_proofs(
    cluster: &Cluster,
    what: &'static str,
    endpoint: &Endpoint,
    inodes: &[InodeId],
    shown: &mut u32,
) -> Result<()> {
    /// It may have forgotten them since, but not again and again.
    const MOST: u32 = 8;
    let refused = || Error::Server {
        what,
        error: ErrorCode::ACCESS
            .with("no server has proven that this file is below the directory that this client is kept to"),
    };
    *shown += 1;
    let proofs = cluster.proofs.of(inodes.iter().copied());
    if proofs.is_empty() || *shown > MOST {
        return Err(refused());
    }
    let request = Request::new(message_type::STORAGE_PROOFS, encode(&proofs)).with_timeout(STORAGE_TIMEOUT);
    match cluster.rpc.call(endpoint, request).await {
        Ok(frame) if frame.is_error() => {
            let error: WireError = decode(&frame.body).map_err(Error::server(what))?;
            if error.code.is_transient() { Ok(()) } else { Err(Error::Server { what, error }) }
        }
        // What the network does is found out by the request itself.
        Ok(_) | Err(_) => Ok(()),
    }
}
