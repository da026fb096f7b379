// SPDX-License-Identifier: Apache-2.0

//! The connection to a drive service, and what it was given there.
//!
//! **Failure model.** See the crate. A connection that breaks is made again and the drive attached again, which ends what was sent over the one before.

use crate::error::NetError;
use crate::location::DriveLocation;
use bytes::Bytes;
use nyala_transport::{Connection, Frame, HandshakeConfig, Request, TransportError};
use nyala_wire::drive::{DriveHold, DriveLook, DriveOrder, DriveReply, DriveRequest};
use nyala_wire::{ErrorCode, WireError, codec, message_type};
use std::time::{Duration, Instant};

/// Longest wait for a reply: a drive that takes longer hangs.
pub const REPLY_WITHIN: Duration = Duration::from_secs(10);

/// Between two looks at a drive that does not answer.
const AGAIN: Duration = Duration::from_millis(100);

/// Why there is no reply.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum AskError {
    /// The service cannot be reached, or its reply is no reply: it can be tried again.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// It says no.
    #[error("{0}")]
    Refused(#[from] WireError),
    /// The name of its host says nothing.
    #[error("the host of {service} is not known: {error}")]
    Host { service: String, error: String },
    /// It did not answer before.
    #[error("it was given up, since it did not answer")]
    GivenUp,
    /// It says something else than was asked.
    #[error("the drive service does not answer what was asked")]
    Nonsense,
}

impl AskError {
    fn is(&self, code: ErrorCode) -> bool {
        matches!(self, AskError::Refused(error) if error.code == code)
    }

    /// Somebody else has the drive.
    pub fn is_taken(&self) -> bool {
        self.is(ErrorCode::WRONG_EPOCH)
    }

    /// The drive has to be attached again.
    pub fn is_detached(&self) -> bool {
        self.is(ErrorCode::STALE_SESSION)
    }

    /// Nobody listens there, though the host is up.
    pub fn is_dead(&self) -> bool {
        matches!(self, AskError::Transport(TransportError::ConnectRefused { .. }))
    }
}

/// Where a drive is asked for.
#[derive(Clone)]
pub(crate) struct Address {
    pub service: String,
    pub drive: String,
}

/// A connection over which a drive is held.
#[derive(Clone)]
pub(crate) struct Attachment {
    pub connection: Connection,
    pub number: u64,
    pub instance: String,
}

impl Address {
    /// Of a drive of another host.
    pub fn of(location: &DriveLocation) -> Result<Address, NetError> {
        match location {
            DriveLocation::Dir(_) => Err(NetError::Directory { location: location.clone() }),
            DriveLocation::Net { service, name } => Ok(Address { service: service.clone(), drive: name.clone() }),
        }
    }

    /// How a drive is; asked until it is there, or it is too late.
    pub async fn look_until(self, handshake: HandshakeConfig, until: Instant) -> Option<DriveLook> {
        loop {
            let look = async { self.look(&self.connect(&handshake).await?).await };
            match look.await {
                Ok(look) if look.missing.is_none() => return Some(look),
                Ok(_) | Err(_) if Instant::now() < until => tokio::time::sleep(AGAIN).await,
                found => return found.ok(),
            }
        }
    }

    pub async fn connect(&self, handshake: &HandshakeConfig) -> Result<Connection, AskError> {
        let unknown =
            |error: std::io::Error| AskError::Host { service: self.service.clone(), error: error.to_string() };
        let mut found = tokio::net::lookup_host(&self.service).await.map_err(unknown)?;
        let address = found.next().ok_or_else(|| unknown(std::io::ErrorKind::NotFound.into()))?;
        Ok(Connection::connect(address, handshake).await?)
    }

    /// One request and its reply.
    pub async fn ask(
        &self,
        connection: &Connection,
        order: DriveOrder,
        payload: Bytes,
    ) -> Result<(DriveReply, Bytes), AskError> {
        let body = codec::encode(&DriveRequest { drive: self.drive.clone(), order });
        let request = Request::new(message_type::DRIVE, body)
            .with_payload(Some(payload).filter(|payload| !payload.is_empty()).into_iter().collect())
            .with_timeout(REPLY_WITHIN);
        let frame = connection.call(request).await?;
        if frame.is_error() {
            return Err(codec::decode::<WireError>(&frame.body).unwrap_or_else(|error| error).into());
        }
        let Frame { body, payload, .. } = frame;
        Ok((codec::decode(&body)?, payload))
    }

    pub async fn look(&self, connection: &Connection) -> Result<DriveLook, AskError> {
        match self.ask(connection, DriveOrder::Look, Bytes::new()).await? {
            (DriveReply::Looked(look), _) => Ok(look),
            _ => Err(AskError::Nonsense),
        }
    }

    /// Holds the drive over a connection.
    pub async fn attach(
        &self,
        connection: Connection,
        hold: DriveHold,
        instance: Option<String>,
    ) -> Result<Attachment, AskError> {
        match self.ask(&connection, DriveOrder::Attach { hold, instance }, Bytes::new()).await? {
            (DriveReply::Attached { attachment, instance }, _) => {
                Ok(Attachment { connection, number: attachment, instance })
            }
            _ => Err(AskError::Nonsense),
        }
    }
}
