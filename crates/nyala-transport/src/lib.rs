// SPDX-License-Identifier: Apache-2.0

//! Connections, handshake, request and response, streamed payloads.
//!
//! Clients use a [`Pool`] (or a single [`Connection`]) and send a [`Request`]; servers implement [`Service`] and run a
//! [`Server`] in a `LocalSet` of a current-thread runtime. A server cannot send on its own account: what it has to tell
//! a client (a revoked delegation, a new cluster map) is the reply to a standing request that the client keeps open.
//!
//! **Failure model.** A peer can be absent, refuse, be a stranger, belong to another cluster, speak another version,
//! send garbage, stop in the middle of anything, never answer, or vanish. Every one of these is a [`TransportError`];
//! none hangs for ever where a timeout was given, panics, or makes us allocate more than a checked, bounded length. The
//! network may lose a reply after the request was executed: **the transport never repeats a request by itself**;
//! exactly-once is the business of sessions and sequence numbers above.

pub mod admission;
pub mod advertise;
pub mod aligned;
pub mod budget;
pub mod buffers;
pub mod connection;
pub mod endpoint;
pub mod error;
#[doc(hidden)]
pub mod fuzzing;
pub mod handshake;
pub mod host_report;
pub mod links;
pub mod member;
pub mod path;
pub mod peer;
pub mod pool;
pub mod process;
pub mod reach;
pub mod request;
pub mod secret;
pub mod server;
pub mod trace;

mod crypto;
mod file_part;
mod frame_writer;
mod hello;
mod reader;
mod record_key;
mod server_connection;
mod socket;
mod strangers;
mod stream;
mod sync;
mod tcp_option;
mod wall_clock;

pub use admission::Admission;
pub use budget::MemoryBudget;
pub use connection::Connection;
pub use endpoint::Endpoint;
pub use error::TransportError;
pub use file_part::{FilePart, FileSource};
pub use handshake::{HandshakeConfig, PeerInfo, Role};
pub use nyala_wire::frame::{Frame, FrameError, Header};
pub use path::directory::RelayDirectory;
pub use path::relay_rule::may_relay;
pub use peer::Peer;
pub use pool::{Pool, PoolOptions};
pub use request::{Reply, Request};
pub use secret::clients_key::check_clients_key;
pub use secret::grants::{GrantHolder, GrantMaker};
pub use secret::key::{Grant, KeyRoles, KeyRules};
pub use secret::proofs::Prover;
pub use secret::{Secret, SecretError};
pub use server::{Server, ServerOptions, Service, ShutdownHandle};
pub use trace::Tracer;
pub use wall_clock::wall_clock;
