// SPDX-License-Identifier: Apache-2.0

//! A client that must not leave a directory asks which one that is.
//!
//! **Failure model.** The directory is asked for once, when the root is used for the first time; a rule that comes later refuses a client that
//! goes on as before, which has to begin anew.

use crate::error::Result;
use crate::rpc::cluster::Cluster;
use nyala_wire::InodeId;
use nyala_wire::meta::{MetaOp, Owner};
use nyala_wire::restriction::may_hold;
use std::sync::Arc;

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
