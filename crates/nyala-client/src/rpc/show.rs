// SPDX-License-Identifier: Apache-2.0

//! Shows a storage service what it asked for before it lets this client use files' chunks: proofs that they are below the client's directory, or grants
//! of what its users may do with them.
//!
//! **Failure model.** A storage service may forget what it was shown, and asks again; one that does not take a proof, or asks for ever, ends the
//! request with EACCES, as does a metadata server that grants less than is needed. A rule that has just changed is not known to all
//! servers at once: a grant that storage refuses is asked for once more, after a pause, as long as that may take.

use crate::error::{Error, Result};
use crate::rpc::cluster::Cluster;
use crate::rpc::failure::unexpected_reply;
use crate::rpc::grant_fetches::refused;
use nyala_transport::{Endpoint, Request};
use nyala_wire::codec::{decode, encode};
use nyala_wire::meta::{MetaOp, MetaReply, Owner};
use nyala_wire::storage_grants::{StorageGrant, StorageRights};
use nyala_wire::{ErrorCode, InodeId, WireError, message_type};
use std::sync::Arc;
use std::time::Duration;

/// As long as for any request to storage.
const STORAGE_TIMEOUT: Duration = Duration::from_secs(30);
/// It may have forgotten them since, but not again and again.
const MOST: u32 = 8;
/// Before a grant is asked for again: times the number of tries. All of them take longer than a map takes to reach all servers.
const PAUSE: Duration = Duration::from_millis(100);

/// How the files that a request uses are used.
pub(super) type Uses<'a> = &'a [(InodeId, StorageRights)];

/// Whether storage answers this to who has to show something first.
pub(super) fn is_asked_for(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::PROOF_NEEDED | ErrorCode::GRANT_NEEDED)
}

/// Shows what was asked for with `code`. `shown`: how often something was shown already for the same request.
pub(super) async fn show(
    cluster: &Arc<Cluster>,
    what: &'static str,
    endpoint: &Endpoint,
    (code, uses): (ErrorCode, Uses<'_>),
    shown: &mut u32,
) -> Result<()> {
    *shown += 1;
    match code {
        ErrorCode::GRANT_NEEDED => Box::pin(show_grants(cluster, what, endpoint, uses, *shown)).await,
        _ => show_proofs(cluster, what, endpoint, uses, *shown).await,
    }
}

async fn show_proofs(
    cluster: &Cluster,
    what: &'static str,
    endpoint: &Endpoint,
    uses: Uses<'_>,
    shown: u32,
) -> Result<()> {
    let proofs = cluster.proofs.of(uses.iter().map(|(inode, _)| *inode));
    if proofs.is_empty() || shown > MOST {
        let says = "no server has proven that this file is below the directory that this client is kept to";
        return Err(refused(what, says));
    }
    let request = Request::new(message_type::STORAGE_PROOFS, encode(&proofs));
    match say(cluster, what, endpoint, request).await? {
        Some(error) if !error.code.is_transient() => Err(Error::Server { what, error }),
        _ => Ok(()),
    }
}

async fn show_grants(
    cluster: &Arc<Cluster>,
    what: &'static str,
    endpoint: &Endpoint,
    uses: Uses<'_>,
    shown: u32,
) -> Result<()> {
    if shown > MOST {
        return Err(refused(what, "storage takes no grant of this file that its metadata server gives this client"));
    }
    let mut grants = Vec::with_capacity(uses.len());
    for (inode, rights) in uses {
        grants.push(match cluster.proofs.grants.of((*inode, *rights)) {
            Some(grant) => grant,
            None => {
                let granted = cluster.grant_fetches.fetch((*inode, *rights), || ask(cluster, what, *inode)).await?;
                if granted.rights < *rights {
                    return Err(refused(what, "no user whom this client may act as may write the file"));
                }
                granted
            }
        });
    }
    let request = Request::new(message_type::STORAGE_GRANTS, encode(&grants));
    match say(cluster, what, endpoint, request).await? {
        Some(error) if error.code == ErrorCode::ACCESS => {
            cluster.proofs.grants.drop_all(&grants);
            // The first one may be of long ago.
            tokio::time::sleep(PAUSE * (shown - 1)).await;
            Ok(())
        }
        Some(error) if !error.code.is_transient() => Err(Error::Server { what, error }),
        _ => Ok(()),
    }
}

/// Asks the file's metadata server.
async fn ask(cluster: &Arc<Cluster>, what: &'static str, inode: InodeId) -> Result<StorageGrant> {
    match cluster.meta(what, MetaOp::StorageGrant(inode), Owner::default()).await? {
        MetaReply::StorageGrant(grant) if grant.inode == inode => {
            cluster.proofs.grants.learn(grant);
            Ok(grant)
        }
        _ => Err(unexpected_reply(what)),
    }
}

/// Says it; the error that it was answered with. What the network does is found out by the request itself.
async fn say(
    cluster: &Cluster,
    what: &'static str,
    endpoint: &Endpoint,
    request: Request,
) -> Result<Option<WireError>> {
    match cluster.rpc.call(endpoint, request.with_timeout(STORAGE_TIMEOUT)).await {
        Ok(frame) if frame.is_error() => Ok(Some(decode(&frame.body).map_err(Error::server(what))?)),
        Ok(_) | Err(_) => Ok(None),
    }
}
