// SPDX-License-Identifier: Apache-2.0

//! Ending this client's session with a metadata server.
//!
//! **Failure model.** The server may be away: then the session times out there. It may have been started again, and take no end of a session
//! before it has heard what its client was told; sending the first request says that.

use crate::error::{Error, Result};
use crate::rpc::cluster::Cluster;
use crate::rpc::meta::SendOutcome;
use crate::rpc::session::Session;
use nyala_wire::SessionId;
use nyala_wire::meta::{MetaOp, Owner};

/// Ends it. One try, and another one each time it has heard of a new run of the server.
pub(crate) async fn close_session(cluster: &Cluster, session: &Session) -> Result<()> {
    close_session_as(cluster, session, session.id()).await
}

pub(super) async fn close_session_as(cluster: &Cluster, session: &Session, id: SessionId) -> Result<()> {
    if session.generation() == 0 {
        return Ok(());
    }
    let run = || session.with_replay_log(|log| log.run());
    let mut known = run();
    loop {
        let mut request = cluster.request(MetaOp::SessionClose, Owner::default());
        match cluster.send_meta_as(session, id, "close the session", &mut request).await? {
            SendOutcome::Reply(_) => return Ok(()),
            SendOutcome::Again(_) if run() != known => known = run(),
            SendOutcome::Again(_) | SendOutcome::Stale(_) => break,
            SendOutcome::Elsewhere(_) | SendOutcome::NotHere(_) => break,
        }
    }
    Err(Error::Protocol { what: "close the session", detail: "the server is not there; it will time out" })
}
