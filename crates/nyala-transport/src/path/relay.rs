// SPDX-License-Identifier: Apache-2.0

//! A server passes a connection on to another server of its cluster.
//!
//! **Failure model.** Who asks has proven the secret, and may still be wrong, or want to reach what it should not: only servers of the
//! cluster as this one knows it are connected to, only a handshake of this protocol that says that it is relayed is let through, and only
//! over a connection that is not relayed itself, so that none goes in circles. All else that passes is neither understood nor trusted.
//! The number of relayed connections is bounded, and with it memory: two buffers each. Either end may die, stop reading, lose packets, or
//! forget the connection: both ends are closed ([`watch_relayed`]).

use crate::error::TransportError;
use crate::frame_writer::{OutFrame, Sink};
use crate::handshake::HandshakeConfig;
use crate::handshake::PeerInfo;
use crate::hello::{PREAMBLE_BYTES, Preamble};
use crate::path::delivery::watch_relayed;
use crate::reader::FrameReader;
use crate::socket;
use crate::stream::{read_some, unite};
use crate::tcp_option::reset_when_closed;
use nyala_wire::error::WireError;
use nyala_wire::frame::Frame;
use nyala_wire::frame::{Header, flags};
use nyala_wire::relay::{MAX_RELAY_ADDRESSES, RelayRequest};
use nyala_wire::{ErrorCode, codec};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Longest wait for the other server's host.
const CONNECT: Duration = Duration::from_millis(800);
/// Of each of the two buffers of a relayed connection, bytes.
const BUFFER: usize = 64 << 10;

/// What a server needs to relay.
pub(crate) struct Relaying<'a> {
    pub config: &'a HandshakeConfig,
    pub slots: &'a Arc<Semaphore>,
    pub peer: &'a PeerInfo,
    /// The connection on which it is asked comes through another server already.
    pub relayed: bool,
}

impl Relaying<'_> {
    /// Answers a request to relay, and relays until one end closes. `may` says which addresses are those of servers.
    pub(crate) async fn serve(
        self,
        reader: FrameReader,
        sink: Option<Sink>,
        request: Frame,
        may: impl Fn(SocketAddr) -> bool,
    ) {
        let Some(mut sink) = sink else { return };
        let begun = self.begin(&request, may).await;
        let answered = answer(&mut sink, &request, begun.as_ref().err()).await;
        let ends = reader.into_side().zip(sink.into_side()).and_then(|(read, write)| unite(read, write));
        let why = match (begun, ends.filter(|_| answered)) {
            (Err(error), _) => error.to_string(),
            (Ok((to, _slot)), Some(from)) => pass(from, to, self.config.handshake_timeout).await.to_owned(),
            (Ok(_), None) => "who asked is gone, or did not wait for the answer".to_owned(),
        };
        tracing::debug!(peer = %self.peer.address, why, "connection not relayed, or no more");
    }

    async fn begin(
        &self,
        request: &Frame,
        may: impl Fn(SocketAddr) -> bool,
    ) -> Result<(TcpStream, OwnedSemaphorePermit), WireError> {
        let refused = |why: &str| Err(ErrorCode::UNAUTHORIZED.with(why));
        if self.relayed {
            return refused("a relayed connection is not relayed once more");
        }
        let RelayRequest { addresses } = codec::decode(&request.body)?;
        if addresses.is_empty() || addresses.len() > MAX_RELAY_ADDRESSES || !addresses.iter().all(|to| may(*to)) {
            return refused("that is no server of this cluster");
        }
        let full = |_| ErrorCode::NOT_READY.with("this server relays as many connections as it can");
        let slot = self.slots.clone().try_acquire_owned().map_err(full)?;
        let mut last = TransportError::NoAddress;
        for to in addresses {
            match socket::connect(to, CONNECT, self.config.dead_after, None).await {
                Ok(stream) => return Ok((stream, slot)),
                Err(error) => last = error,
            }
        }
        Err(ErrorCode::NOT_READY.with(last.to_string()))
    }
}

/// True: it went out.
async fn answer(sink: &mut Sink, request: &Frame, error: Option<&WireError>) -> bool {
    let flags = if error.is_some() { flags::REPLY | flags::ERROR } else { flags::REPLY };
    let (message_type, request_id) = (request.header.message_type, request.header.request_id);
    let header = Header { flags, message_type, request_id, ..Header::default() };
    let body = error.map(codec::encode).unwrap_or_default();
    let Ok(frame) = OutFrame::new(header, body.into(), Vec::new()) else { return false };
    sink.push(frame);
    sink.flush().await.is_ok()
}

/// Both ways, until both ends have closed, or one does not get what is sent to it.
async fn pass(mut from: TcpStream, mut to: TcpStream, greet: Duration) -> &'static str {
    if !tokio::time::timeout(greet, greeting(&mut from, &mut to)).await.unwrap_or(false) {
        return "no handshake came";
    }
    let both = async { tokio::try_join!(copy(&from, &to), copy(&to, &from)) };
    tokio::select! {
        done = both => match done {
            Ok(_) => "both ends have closed it",
            Err(_) => {
                // Not in order: nobody is to take it for a peer that has ended.
                [&from, &to].into_iter().for_each(reset_when_closed);
                "one end broke"
            }
        },
        why = watch_relayed([&from, &to]) => why,
    }
}

/// One way, until there is no more.
async fn copy(from: &TcpStream, to: &TcpStream) -> std::io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = read_some(from, &mut buffer).await?;
        if read == 0 {
            return Ok(rustix::net::shutdown(to, rustix::net::Shutdown::Write)?);
        }
        let mut rest = &buffer[..read];
        while !rest.is_empty() {
            match to.try_write(rest) {
                Ok(0) => return Err(std::io::ErrorKind::WriteZero.into()),
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => to.writable().await?,
                Err(error) => return Err(error),
            }
        }
    }
}

/// The first bytes of a handshake that says that it is relayed.
async fn greeting(from: &mut TcpStream, to: &mut TcpStream) -> bool {
    let mut bytes = [0; PREAMBLE_BYTES];
    let read = from.read_exact(&mut bytes).await.is_ok();
    let relayed = read && Preamble::decode(&bytes).is_ok_and(|preamble| preamble.relayed);
    relayed && to.write_all(&bytes).await.is_ok()
}
