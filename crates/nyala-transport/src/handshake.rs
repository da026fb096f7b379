// SPDX-License-Identifier: Apache-2.0

//! Mutual proof of one of the cluster's keys at the start of every connection. `docs/protocol.md` shows the bytes.
//!
//! ```text
//! client → server   preamble, Noise message 1 (psk, e; hello of the client)
//! server → client   preamble, Noise message 2 (e, ee; hello of the server)
//! client → server   preamble, first transport message (empty)
//! ```
//!
//! Message 1 does not say which key it was made with: whoever accepts tries all of its own, which costs no more than a few hashes for
//! each. A client whose newest key the server does not know connects once more with the one before ([`with_keys`]).
//!
//! **Failure model.** The other side may be anybody, and a holder of a key may claim to be what the key is not for: it is refused. Nothing but a bounded length is believed before the secret was
//! proven. Message 1 may be a recording of an earlier one: the server takes a client for real only after the third
//! message, which needs the keys of this very handshake. Everything together has one deadline. Who reaches the wrong
//! cluster or version is told, in words that a stranger learns nothing from; cluster ids travel encrypted only.

pub use crate::hello::Role;

use crate::crypto;
use crate::error::TransportError;
use crate::hello::{Hello, MAX_MESSAGE, PREAMBLE_BYTES, Preamble, Status, Verdict};
use crate::path::directory::RelayDirectory;
use crate::record_key::{RecordKey, Suite, TAG_BYTES, offered};
use crate::secret::Secret;
use crate::secret::key::{Grant, Key};
use crate::trace::Tracer;
use nyala_wire::frame::PROTOCOL_VERSION;
use snow::HandshakeState;
use std::future::Future;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Who we are and what we insist on. Cheap to clone.
#[derive(Debug, Clone)]
pub struct HandshakeConfig {
    /// The cluster's secret.
    pub secret: Secret,
    /// Our cluster; 0 while we do not know it, which fits any.
    pub cluster_id: u128,
    /// What we are.
    pub role: Role,
    /// Our node id; 0 where there is none yet.
    pub node_id: u32,
    /// Our software version, for people; at most 64 bytes of it are sent.
    pub software: Arc<str>,
    /// Encrypt all traffic; the same on every node.
    pub encrypt: bool,
    /// Longest wait for a TCP connection. Zero: peers are reached through others only.
    pub connect_timeout: Duration,
    /// Longest wait for the whole handshake.
    pub handshake_timeout: Duration,
    /// A peer that acknowledges or reads nothing for so long is taken for dead.
    pub dead_after: Duration,
    /// Who passes connections on to peers that cannot be reached otherwise. Clones share it.
    pub relays: RelayDirectory,
    /// Follows requests of our connections.
    pub tracer: Option<Arc<Tracer>>,
}

impl HandshakeConfig {
    /// Plain traffic and the default times: connect 2 s, handshake 5 s, dead after 10 s.
    pub fn new(secret: Secret, cluster_id: u128, role: Role, node_id: u32) -> HandshakeConfig {
        HandshakeConfig {
            secret,
            cluster_id,
            role,
            node_id,
            software: Arc::from(concat!("nyala ", env!("CARGO_PKG_VERSION"))),
            encrypt: false,
            connect_timeout: Duration::from_secs(2),
            handshake_timeout: Duration::from_secs(5),
            dead_after: Duration::from_secs(10),
            relays: RelayDirectory::default(),
            tracer: None,
        }
    }

    fn hello(&self, verdict: Verdict) -> Hello {
        Hello {
            role: self.role,
            verdict,
            node_id: self.node_id,
            cluster_id: self.cluster_id,
            software: self.software.to_string(),
            ciphers: offered(),
        }
    }
}

/// The other side of an established connection, as it said of itself after proving a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerInfo {
    /// Where it is.
    pub address: SocketAddr,
    /// What it is: something that the key is for.
    pub role: Role,
    /// What the key gives that both sides have proven.
    pub grant: Grant,
    /// Its node id; 0 where there is none yet.
    pub node_id: u32,
    /// Its cluster id; 0 if it did not know.
    pub cluster_id: u128,
    /// Its software version, for people.
    pub software: String,
    /// Never the same for two connections of this process.
    pub connection_id: u64,
}

/// A connection whose peer has proven the secret; with keys for records if traffic is encrypted.
pub(crate) struct Established {
    pub stream: TcpStream,
    /// What seals our records, and what opens theirs.
    pub records: Option<(RecordKey, RecordKey)>,
    pub peer: PeerInfo,
    /// What both sides have proven.
    pub key: Key,
    /// Through another server.
    pub relayed: bool,
}

/// One handshake under way.
struct Talk<'a> {
    stream: TcpStream,
    address: SocketAddr,
    config: &'a HandshakeConfig,
    relayed: bool,
}

impl Talk<'_> {
    fn failed(&self, reason: impl Into<String>) -> TransportError {
        TransportError::Handshake { address: self.address, reason: reason.into() }
    }

    fn io_failed(&self, error: std::io::Error) -> TransportError {
        match error.kind() {
            ErrorKind::UnexpectedEof => self.failed("the other side hung up"),
            _ => self.failed(error.to_string()),
        }
    }

    fn preamble(&self, status: Status, length: usize) -> Preamble {
        Preamble { relayed: self.relayed, ..Preamble::new(self.config.encrypt, status, length) }
    }

    async fn send(&mut self, status: Status, message: &[u8]) -> Result<(), TransportError> {
        let preamble = self.preamble(status, message.len());
        let bytes = [&preamble.encode()[..], message].concat();
        self.stream.write_all(&bytes).await.map_err(|e| self.io_failed(e))
    }

    async fn receive(&mut self) -> Result<(Preamble, [u8; PREAMBLE_BYTES], Vec<u8>), TransportError> {
        let mut bytes = [0; PREAMBLE_BYTES];
        self.stream.read_exact(&mut bytes).await.map_err(|e| self.io_failed(e))?;
        let preamble = Preamble::decode(&bytes).map_err(|reason| self.failed(reason))?;
        let mut message = vec![0; preamble.length];
        self.stream.read_exact(&mut message).await.map_err(|e| self.io_failed(e))?;
        Ok((preamble, bytes, message))
    }

    /// Is the cluster of that hello ours?
    fn check_cluster(&self, hello: &Hello) -> Result<(), TransportError> {
        let (ours, theirs) = (self.config.cluster_id, hello.cluster_id);
        let fits = ours == theirs || ours == 0 || theirs == 0;
        if fits { Ok(()) } else { Err(TransportError::WrongCluster { address: self.address, ours, theirs }) }
    }

    fn noise(&self, key: &Key, preamble: &[u8], initiator: bool) -> Result<HandshakeState, TransportError> {
        crypto::start(&key.psk, preamble, initiator).map_err(|e| self.failed(e.to_string()))
    }

    /// Finds the key that message 1 was made with, and reads it.
    fn read_first(&self, preamble: &[u8], message: &[u8]) -> Result<(HandshakeState, Key, Hello), TransportError> {
        self.config.secret.refresh();
        for key in self.config.secret.keys().iter().rev() {
            let mut noise = self.noise(key, preamble, false)?;
            match self.read_hello(&mut noise, message) {
                Err(TransportError::WrongSecret { .. }) => {}
                hello => return Ok((noise, key.clone(), hello?)),
            }
        }
        Err(TransportError::WrongSecret { address: self.address })
    }

    /// Is the key for what that hello claims?
    fn check_role(&self, hello: &Hello, grant: &Grant) -> Result<(), TransportError> {
        let (address, role) = (self.address, hello.role);
        let unproven = || TransportError::RoleNotProven { address, role, key: grant.key.clone() };
        grant.roles.covers(role).then_some(()).ok_or_else(unproven)
    }

    fn write_message(&self, noise: &mut HandshakeState, hello: &Hello) -> Result<Vec<u8>, TransportError> {
        let mut message = vec![0; MAX_MESSAGE];
        let len = noise.write_message(&hello.encode(), &mut message).map_err(|e| self.failed(e.to_string()))?;
        message.truncate(len);
        Ok(message)
    }

    fn read_hello(&self, noise: &mut HandshakeState, message: &[u8]) -> Result<Hello, TransportError> {
        let mut plain = vec![0; MAX_MESSAGE];
        // Whatever is wrong with the message, a wrong key is the likeliest reason, and the others look the same.
        let len = noise
            .read_message(message, &mut plain)
            .map_err(|_| TransportError::WrongSecret { address: self.address })?;
        Hello::decode(&plain[..len]).map_err(|reason| self.failed(reason))
    }

    /// `sealing` and `opening`: Noise's keys of the two directions, and the numbers of their first records.
    fn into_established(
        self,
        sealing: ([u8; 32], u64),
        opening: ([u8; 32], u64),
        hello: Hello,
        key: Key,
    ) -> Established {
        static NEXT_CONNECTION: AtomicU64 = AtomicU64::new(1);
        let peer = PeerInfo {
            address: self.address,
            role: hello.role,
            grant: key.grant.clone(),
            node_id: hello.node_id,
            cluster_id: hello.cluster_id,
            software: hello.software,
            connection_id: NEXT_CONNECTION.fetch_add(1, Ordering::Relaxed),
        };
        let suite = Suite::of(offered(), hello.ciphers);
        let record_key = |(noise, first)| RecordKey::new(suite, noise, first);
        let records = self.config.encrypt.then(|| (record_key(sealing), record_key(opening)));
        Established { stream: self.stream, records, peer, key, relayed: self.relayed }
    }
}

/// Connects by `attempt`: with the newest key, and with older ones as long as the other side does not know it.
pub(crate) async fn with_keys<T, F: Future<Output = Result<T, TransportError>>>(
    config: &HandshakeConfig,
    attempt: impl Fn(HandshakeConfig) -> F,
) -> Result<T, TransportError> {
    config.secret.refresh();
    config.secret.require(config.role)?;
    let mut config = config.clone();
    loop {
        let failed = match attempt(config.clone()).await {
            Err(error @ TransportError::WrongSecret { .. }) => error,
            other => return other,
        };
        config.secret = config.secret.older(config.role).ok_or(failed)?;
    }
}

/// Runs the connecting side, with the key that the configuration offers. `stream` is connected; `relayed`: through another server.
pub(crate) async fn connect(
    stream: TcpStream,
    address: SocketAddr,
    config: &HandshakeConfig,
    relayed: bool,
) -> Result<Established, TransportError> {
    let after = config.handshake_timeout;
    tokio::time::timeout(after, connect_untimed(Talk { stream, address, config, relayed }))
        .await
        .unwrap_or(Err(TransportError::HandshakeTimeout { address, after }))
}

async fn connect_untimed(mut talk: Talk<'_>) -> Result<Established, TransportError> {
    let address = talk.address;
    let (hello, key) = (talk.config.hello(Verdict::Accepted), talk.config.secret.offer(talk.config.role)?);
    // The length of message 1 is known beforehand, so the whole preamble can be bound into the handshake:
    // an ephemeral key, the hello, and one authentication tag.
    let length = 32 + hello.encode().len() + 16;
    let preamble = talk.preamble(Status::Ok, length).encode();
    let mut noise = talk.noise(&key, &preamble, true)?;
    let message = talk.write_message(&mut noise, &hello)?;
    talk.send(Status::Ok, &message).await?;

    let (answer, _, message) = talk.receive().await?;
    if answer.version != PROTOCOL_VERSION || answer.status == Status::Version as u16 {
        return Err(TransportError::VersionMismatch { address, theirs: answer.version });
    }
    if answer.encrypt != talk.config.encrypt || answer.status == Status::Encryption as u16 {
        return Err(TransportError::EncryptionMismatch { address, ours: talk.config.encrypt });
    }
    if answer.status == Status::WrongSecret as u16 {
        return Err(TransportError::WrongSecret { address });
    }
    if answer.status != Status::Ok as u16 {
        return Err(talk.failed(format!("refused with unknown status {}", answer.status)));
    }
    let server = talk.read_hello(&mut noise, &message)?;
    talk.check_cluster(&server)?;
    match server.verdict {
        Verdict::Accepted => {}
        Verdict::Role => {
            return Err(TransportError::RoleNotProven { address, role: hello.role, key: key.grant.key });
        }
        Verdict::Cluster | Verdict::Refused => return Err(talk.failed("refused by the server")),
    }
    let (to_server, to_client) = noise.dangerously_get_raw_split();
    let mut proof = [0; TAG_BYTES];
    RecordKey::new(Suite::ChaChaPoly, to_server, 0).seal(&mut proof).map_err(|e| talk.io_failed(e))?;
    talk.send(Status::Ok, &proof).await?;
    // The proof was the first record to the server.
    Ok(talk.into_established((to_server, 1), (to_client, 0), server, key))
}

/// Runs the accepting side.
pub(crate) async fn accept(
    stream: TcpStream,
    address: SocketAddr,
    config: &HandshakeConfig,
) -> Result<Established, TransportError> {
    let after = config.handshake_timeout;
    tokio::time::timeout(after, accept_untimed(Talk { stream, address, config, relayed: false }))
        .await
        .unwrap_or(Err(TransportError::HandshakeTimeout { address, after }))
}

async fn accept_untimed(mut talk: Talk<'_>) -> Result<Established, TransportError> {
    let address = talk.address;
    let (preamble, preamble_bytes, message) = talk.receive().await?;
    talk.relayed = preamble.relayed;
    if preamble.version != PROTOCOL_VERSION {
        talk.send(Status::Version, &[]).await?;
        return Err(TransportError::VersionMismatch { address, theirs: preamble.version });
    }
    if preamble.encrypt != talk.config.encrypt {
        talk.send(Status::Encryption, &[]).await?;
        return Err(TransportError::EncryptionMismatch { address, ours: talk.config.encrypt });
    }
    let (mut noise, key, client) = match talk.read_first(&preamble_bytes, &message) {
        Err(error @ TransportError::WrongSecret { .. }) => {
            talk.send(Status::WrongSecret, &[]).await?;
            return Err(error);
        }
        other => other?,
    };
    let (verdict, checked) = match (talk.check_cluster(&client), talk.check_role(&client, &key.grant)) {
        (Err(error), _) => (Verdict::Cluster, Err(error)),
        (_, Err(error)) => (Verdict::Role, Err(error)),
        _ => (Verdict::Accepted, Ok(())),
    };
    let message = talk.write_message(&mut noise, &talk.config.hello(verdict))?;
    talk.send(Status::Ok, &message).await?;
    checked?;
    let (to_server, to_client) = noise.dangerously_get_raw_split();
    let (_, _, mut proof) = talk.receive().await?;
    match RecordKey::new(Suite::ChaChaPoly, to_server, 0).open(&mut proof) {
        Ok(0) => Ok(talk.into_established((to_client, 0), (to_server, 1), client, key)),
        _ => Err(TransportError::WrongSecret { address }),
    }
}
