// SPDX-License-Identifier: Apache-2.0

//! The drive service.
//!
//! **Failure model.** See the crate. Whoever asks has proven a key of the cluster that storage services have; everybody else is refused. Requests wait for disks on threads
//! of their own, as many as there are requests under way.

use crate::export::Export;
use crate::location::is_name;
use bytes::Bytes;
use nyala_raid::member::SetId;
use nyala_transport::{
    Frame, HandshakeConfig, PeerInfo, Reply, Role, Secret, Server, ServerOptions, Service, ShutdownHandle,
    TransportError,
};
use nyala_wire::drive::{DriveOrder, DriveReply, DriveRequest};
use nyala_wire::{ClusterId, ErrorCode, WireError, codec, message_type};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// A drive to lend out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportSpec {
    /// Its name, unique at the service.
    pub name: String,
    /// Its directory, where its file system is mounted.
    pub dir: PathBuf,
}

/// Why a drive service does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A drive cannot have that name.
    #[error("{name:?} is no name for a drive: 1 to 64 letters, digits, '-', '_' and '.', each name once")]
    Name {
        /// The name.
        name: String,
    },
    /// Nothing to lend out.
    #[error("a drive service needs at least one drive")]
    NoDrive,
    /// No listening socket.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// A drive service that listens.
pub struct DriveServer {
    server: Server,
    service: DriveService,
}

struct DriveService {
    exports: HashMap<String, Arc<Export>>,
}

impl DriveServer {
    /// Listens. `secret` has a key for storage.
    pub fn bind(
        listen: SocketAddr,
        secret: Secret,
        encrypt: bool,
        exports: Vec<ExportSpec>,
    ) -> Result<DriveServer, ServeError> {
        if exports.is_empty() {
            return Err(ServeError::NoDrive);
        }
        let mut by_name = HashMap::new();
        for ExportSpec { name, dir } in exports {
            if !is_name(&name) || by_name.insert(name.clone(), Arc::new(Export::new(dir))).is_some() {
                return Err(ServeError::Name { name });
            }
        }
        let handshake = HandshakeConfig { encrypt, ..HandshakeConfig::new(secret, 0, Role::Storage, 0) };
        let server = Server::bind(&[listen], handshake, ServerOptions::default())?;
        Ok(DriveServer { server, service: DriveService { exports: by_name } })
    }

    /// Where it listens.
    pub fn address(&self) -> Option<SocketAddr> {
        self.server.local_addresses().first().copied()
    }

    /// Ends [`DriveServer::serve`].
    pub fn shutdown_handle(&self) -> ShutdownHandle {
        self.server.shutdown_handle()
    }

    /// Serves until told to stop. Must run in a `LocalSet` on a current-thread runtime.
    pub async fn serve(self) -> Result<(), TransportError> {
        self.server.serve(Rc::new(self.service)).await
    }
}

impl Service for DriveService {
    async fn call(&self, peer: &PeerInfo, request: Frame) -> Reply {
        match self.answer(peer, request).await {
            Ok((reply, payload)) => {
                let payload = Some(payload).filter(|payload| !payload.is_empty());
                Reply::ok(reply).with_payload(payload.into_iter().collect())
            }
            Err(error) => Reply::error(codec::encode(&error)),
        }
    }
}

impl DriveService {
    async fn answer(&self, peer: &PeerInfo, request: Frame) -> Result<(Bytes, Bytes), WireError> {
        match request.message_type() {
            message_type::PING => return Ok((Bytes::new(), Bytes::new())),
            _ if peer.role != Role::Storage => {
                return Err(ErrorCode::UNAUTHORIZED.with("drives are for storage services"));
            }
            message_type::DRIVE => {}
            other => {
                return Err(
                    ErrorCode::UNKNOWN_MESSAGE.with(format!("a drive service has no message type {other:#06x}"))
                );
            }
        }
        let DriveRequest { drive, order } = codec::decode(&request.body)?;
        let export = self.exports.get(&drive).cloned();
        let export = export.ok_or_else(|| ErrorCode::NOT_FOUND.with(format!("there is no drive {drive:?} here")))?;
        let payload = request.payload;
        let done = tokio::task::spawn_blocking(move || obey(&export, order, payload)).await;
        let (reply, payload) = done.map_err(|error| ErrorCode::IO.with(error.to_string()))??;
        Ok((codec::encode(&reply).into(), payload))
    }
}

fn obey(export: &Export, order: DriveOrder, payload: Bytes) -> Result<(DriveReply, Bytes), WireError> {
    let bare = |reply| (reply, Bytes::new());
    Ok(match order {
        DriveOrder::Look => bare(DriveReply::Looked(export.look())),
        DriveOrder::Make => bare(export.make().map(|()| DriveReply::Done)?),
        DriveOrder::Take { set } => bare(export.take(set_id(set)).map(|()| DriveReply::Done)?),
        DriveOrder::Release { set } => bare(export.release(set_id(set)).map(|()| DriveReply::Done)?),
        DriveOrder::Delete { set, finish } => bare(export.delete(set_id(set), finish).map(|()| DriveReply::Done)?),
        DriveOrder::Attach { hold, instance } => bare(export.attach(hold, instance.as_deref())?),
        DriveOrder::Run { attachment, effect } => export.run(attachment, effect, payload)?,
    })
}

fn set_id(set: ClusterId) -> SetId {
    SetId(u128::from_le_bytes(set.0))
}
