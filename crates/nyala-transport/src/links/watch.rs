// SPDX-License-Identifier: Apache-2.0

//! Watches one address, over a connection of its own.
//!
//! **Failure model.** As of [`super`]. A connection over which nothing arrives is closed and made anew rather than waited for: TCP would find out that
//! the way is back as late as it had been away. Which errors of the system speak of the network, and which of this process (no
//! descriptors left), is told apart; what is not known counts for nothing.

use super::known::Known;
use super::watched::Address;
use crate::buffers::Buffers;
use crate::connection::Connection;
use crate::handshake::{self, HandshakeConfig};
use crate::reach::WITHIN;
use crate::request::Request;
use crate::socket;
use bytes::Bytes;
use nyala_wire::message_type;
use parking_lot::Mutex;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;

/// Between two questions, and between two attempts to connect to a service that takes none.
const EVERY: Duration = Duration::from_secs(1);
/// Between two attempts to reach an address that does not answer.
const AGAIN: Duration = Duration::from_millis(500);
/// Bytes that are sent and come back: some packets of full size, which may get lost where small ones do not.
const BYTES: usize = 4096;
/// How often a question under way is looked after.
const LOOK: Duration = Duration::from_millis(200);
/// Longest wait for a handshake: a service that is stopped takes connections and does no more.
const HANDSHAKE: Duration = Duration::from_secs(2);

/// What came of an attempt to reach a host.
enum Reached {
    Taken(TcpStream),
    Refused,
    Silent,
    Unknown,
}

/// Watches for ever.
pub(super) async fn watch(address: Address, config: HandshakeConfig, known: Arc<Known>) {
    let config = HandshakeConfig { handshake_timeout: HANDSHAKE, ..config };
    loop {
        let pause = match reach(address.1).await {
            Reached::Taken(stream) => {
                known.note(address, true);
                let lost = follow(stream, address.1, &config).await;
                if lost {
                    known.note(address, false);
                }
                if lost { Duration::ZERO } else { EVERY }
            }
            Reached::Refused => {
                known.note(address, true);
                EVERY
            }
            Reached::Silent => {
                known.note(address, false);
                AGAIN
            }
            Reached::Unknown => EVERY,
        };
        tokio::time::sleep(pause).await;
    }
}

async fn reach(address: SocketAddr) -> Reached {
    match tokio::time::timeout(WITHIN, TcpStream::connect(address)).await {
        Ok(Ok(stream)) => Reached::Taken(stream),
        Err(_) => Reached::Silent,
        Ok(Err(error)) => match error.kind() {
            ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => Reached::Refused,
            // A packet filter of this host says "permission denied".
            ErrorKind::TimedOut
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::AddrNotAvailable
            | ErrorKind::PermissionDenied => Reached::Silent,
            _ => Reached::Unknown,
        },
    }
}

/// Asks over a connection until that ends; true: since what is sent does not arrive.
async fn follow(stream: TcpStream, address: SocketAddr, config: &HandshakeConfig) -> bool {
    let first = Mutex::new(Some(stream));
    let attempt = async |config: HandshakeConfig| {
        let first = first.lock().take();
        let stream = match first {
            Some(stream) => stream,
            // With an older key.
            None => socket::connect(address, WITHIN, config.dead_after, None).await?,
        };
        handshake::connect(stream, address, &config, false).await
    };
    // Why a service that is there does not greet is for those to say who need it.
    let Ok(established) = handshake::with_keys(config, attempt).await else { return false };
    let connection = Connection::over(established, config, Buffers::new(0), Arc::default());
    loop {
        let test =
            Request::new(message_type::PATH_TEST, Bytes::new()).with_payload(vec![Bytes::from_static(&[0; BYTES])]);
        let mut call = std::pin::pin!(connection.call(test));
        loop {
            match tokio::time::timeout(LOOK, &mut call).await {
                Ok(Ok(_)) => break,
                Ok(Err(_)) => return false,
                Err(_) if connection.is_stuck() => return true,
                Err(_) => {}
            }
        }
        tokio::time::sleep(EVERY).await;
    }
}
