// SPDX-License-Identifier: Apache-2.0

//! Asking a server to pass a connection on.
//!
//! **Failure model.** The server may be down, too old to know this request, have no room, or not know or reach the peer: an error, and the
//! next one is asked. It may do something else than what was asked: then the handshake with the peer fails, which goes through it.

use crate::buffers::Buffers;
use crate::endpoint::Endpoint;
use crate::error::TransportError;
use crate::frame_writer::{OutFrame, Sink};
use crate::handshake::HandshakeConfig;
use crate::handshake::{self, Established};
use crate::reader::FrameReader;
use crate::socket;
use crate::stream::{split, unite};
use nyala_wire::error::WireError;
use nyala_wire::frame::Header;
use nyala_wire::relay::{MAX_RELAY_ADDRESSES, RelayRequest};
use nyala_wire::{codec, message_type};
use std::net::SocketAddr;
use std::time::Duration;

/// Longest wait for a relay's host.
const CONNECT: Duration = Duration::from_millis(800);
/// Longest wait for everything together.
const WITHIN: Duration = Duration::from_millis(2500);

/// A connection to a peer through the server at these addresses, with its handshake done.
pub(crate) async fn open(
    relay: Vec<SocketAddr>,
    peer: &Endpoint,
    config: &HandshakeConfig,
) -> Result<Established, TransportError> {
    let mut last = TransportError::NoAddress;
    for address in relay {
        let opened = tokio::time::timeout(WITHIN, open_at(address, peer, config)).await;
        match opened.unwrap_or(Err(TransportError::HandshakeTimeout { address, after: WITHIN })) {
            Ok(established) => return Ok(established),
            Err(error) => last = error,
        }
    }
    Err(last)
}

async fn open_at(relay: SocketAddr, peer: &Endpoint, config: &HandshakeConfig) -> Result<Established, TransportError> {
    let attempt = async |config: HandshakeConfig| {
        let stream = socket::connect(relay, CONNECT, config.dead_after, None).await?;
        through(handshake::connect(stream, relay, &config, false).await?, peer, &config).await
    };
    handshake::with_keys(config, attempt).await
}

/// Has the server at the other end of a fresh connection pass it on.
async fn through(fresh: Established, peer: &Endpoint, config: &HandshakeConfig) -> Result<Established, TransportError> {
    let relay = fresh.peer.address;
    let failed = |reason: &str| TransportError::Connect { address: relay, reason: format!("cannot relay: {reason}") };
    let addresses: Vec<SocketAddr> = peer.addresses.iter().take(MAX_RELAY_ADDRESSES).copied().collect();
    let to = addresses.first().copied().ok_or(TransportError::NoAddress)?;
    let (read, write) = split(fresh);
    let (mut reader, mut sink) = (FrameReader::new(read, Buffers::new(0), None, WITHIN), Sink::new(write));
    let header = Header { message_type: message_type::RELAY, request_id: 1, ..Header::default() };
    sink.push(OutFrame::new(header, codec::encode(&RelayRequest { addresses }).into(), Vec::new())?);
    sink.flush().await.map_err(|error| failed(&error.to_string()))?;
    let reply = reader.next().await.map_err(|error| failed(&error.to_string()))?;
    if reply.is_error() {
        let why = codec::decode::<WireError>(&reply.body);
        return Err(failed(&why.map_or("an error that cannot be read".to_owned(), |error| error.to_string())));
    }
    let united = reader.into_side().zip(sink.into_side()).and_then(|(read, write)| unite(read, write));
    let stream = united.ok_or_else(|| failed("it sends what was not asked for"))?;
    handshake::connect(stream, to, config, true).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handshake::PeerInfo;
    use crate::hello::Role;
    use crate::request::Reply;
    use crate::secret::Secret;
    use crate::server::{Server, ServerOptions, Service};
    use nyala_wire::frame::Frame;
    use std::rc::Rc;

    /// Relays to anybody.
    struct Open;

    impl Service for Open {
        fn relays_to(&self, _peer: &PeerInfo, _address: SocketAddr) -> bool {
            true
        }

        async fn call(&self, _peer: &PeerInfo, _request: Frame) -> Reply {
            Reply::default()
        }
    }

    #[tokio::test]
    async fn a_relayed_connection_is_not_relayed_once_more() {
        let config = HandshakeConfig::new(Secret::from_bytes(&[b's'; 32]).unwrap(), 7, Role::Client, 0);
        let serving = config.clone();
        let serve = || {
            let config = HandshakeConfig { role: Role::Meta, ..serving.clone() };
            Server::bind(&[([127, 0, 0, 1], 0).into()], config, ServerOptions::default()).unwrap()
        };
        let local = tokio::task::LocalSet::new();
        let servers = [serve(), serve()];
        let [first, second] = [0, 1].map(|index: usize| servers[index].local_addresses()[0]);
        servers.into_iter().for_each(|server| drop(local.spawn_local(server.serve(Rc::new(Open)))));
        let asked = async {
            let once = open(vec![first], &second.into(), &config).await.unwrap();
            assert!(once.relayed && once.peer.role == Role::Meta);
            through(once, &first.into(), &config).await.map(drop).unwrap_err()
        };
        let error = local.run_until(asked).await.to_string();
        assert!(error.contains("not relayed once more"), "{error}");
    }
}
