// SPDX-License-Identifier: Apache-2.0

//! Which files and directories are the busiest, by path: asks all metadata and storage services, and metadata for the names.
//!
//! **Failure model.** A service may be away, hang, be of an older version, or not know the sender as an operator: the others are shown, and who
//! is silent and why. All are asked at once, and nobody is waited for longer than [`ANSWER`]. Names are looked for as [`crate::paths`] says.

use crate::ask::ANSWER;
use crate::logic::busy::{BusyRates, BusyRow, Measure, join_paths};
use crate::names::Servers;
use crate::paths::{Found, Paths};
use futures_util::future::join_all;
use nyala_transport::{Endpoint, HandshakeConfig, Pool, PoolOptions, Request};
use nyala_wire::busiest::{BusiestReply, BusiestRequest, MAX_BUSIEST, NamesReply, NamesRequest};
use nyala_wire::locate::{LocateReply, LocateRequest};
use nyala_wire::map::{ClusterMap, Node, Role};
use nyala_wire::meta::EntryInfo;
use nyala_wire::{ErrorCode, FileKind, InodeId, WireError, codec, message_type};
use serde::Serialize;

/// Payload buffers that are kept, bytes: answers have no payload.
const BUFFERS: usize = 64 << 10;
/// Rows that may turn out to be directories among files.
const SPARE: usize = 32;

/// The busiest.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Busy {
    /// Files and whatever else is no directory.
    pub files: Vec<BusyRow>,
    /// Directories, by requests about names in them.
    pub directories: Vec<BusyRow>,
    /// How many services were asked.
    pub asked: usize,
    /// Who did not answer, and why.
    pub silent: Vec<(String, String)>,
}

/// Asks services. What it learnt of names it keeps for a while.
pub struct BusyAsker {
    pool: Pool,
    paths: Paths,
}

impl BusyAsker {
    /// Greets services in this way: as an operator or management. Does not connect yet.
    pub fn new(handshake: HandshakeConfig) -> BusyAsker {
        let handshake = HandshakeConfig { connect_timeout: ANSWER, handshake_timeout: ANSWER, ..handshake };
        let options = PoolOptions { kept_buffer_bytes: BUFFERS, ..PoolOptions::default() };
        BusyAsker { pool: Pool::new(handshake, options), paths: Paths::default() }
    }

    /// Asks once. At most `most` files, in the order of that measure, and as many directories.
    pub async fn ask(&mut self, map: &ClusterMap, by: Measure, most: usize) -> Busy {
        let asked = map.nodes.iter().filter(|node| matches!(node.role, Role::Meta | Role::Storage));
        let said = join_all(asked.map(|node| self.said(node, map))).await;
        let (mut rates, mut silent, asked) = (BusyRates::default(), Vec::new(), said.len());
        for (name, said) in said {
            match said {
                Ok(said) => rates.add(&said),
                Err(error) => silent.push((name, error.to_string())),
            }
        }
        let mut files = rates.files(by, most + SPARE);
        let mut directories = rates.directories(most);
        let servers = MetaServers { pool: &self.pool, map };
        let inodes: Vec<InodeId> = files.iter().map(|row| row.inode).collect();
        let mut found = self.paths.of(&servers, &inodes).await.into_iter();
        files.retain_mut(|row| {
            let Found { path, kind } = found.next().unwrap_or(Found { path: None, kind: None });
            row.path = path;
            kind != Some(FileKind::Directory)
        });
        files.truncate(most);
        let inodes: Vec<InodeId> = directories.iter().map(|row| row.inode).collect();
        let found = self.paths.of(&servers, &inodes).await;
        directories.iter_mut().zip(found).for_each(|(row, found)| row.path = found.path);
        Busy { files, directories: join_paths(directories, Measure::Requests), asked, silent }
    }

    async fn said(&self, node: &Node, map: &ClusterMap) -> (String, Result<BusiestReply, WireError>) {
        let asked = codec::encode(&BusiestRequest { most: MAX_BUSIEST });
        let reply = call(&self.pool, node, map, message_type::BUSIEST, asked).await;
        (node.alias.clone(), reply.and_then(|body| codec::decode(&body)))
    }
}

/// Metadata servers, as a map says where they are.
struct MetaServers<'a> {
    pool: &'a Pool,
    map: &'a ClusterMap,
}

impl MetaServers<'_> {
    async fn of(&self, inode: InodeId, message: u16, body: Vec<u8>) -> Result<Vec<u8>, WireError> {
        let server = self.map.slot_target(inode.slot()).and_then(|server| self.map.server_node(server));
        let node = server.ok_or_else(|| ErrorCode::NOT_READY.with("no node serves this inode now"))?;
        call(self.pool, node, self.map, message, body).await
    }
}

impl Servers for MetaServers<'_> {
    async fn info(&self, inode: InodeId) -> Result<EntryInfo, WireError> {
        let asked = codec::encode(&LocateRequest { inode, name: None });
        let reply: LocateReply = codec::decode(&self.of(inode, message_type::META_LOCATE, asked).await?)?;
        reply.info.ok_or_else(|| ErrorCode::BAD_MESSAGE.with("the answer is to another question"))
    }

    async fn names(&self, request: &NamesRequest) -> Result<NamesReply, WireError> {
        let of = request.dir.or(request.inodes.first().copied()).unwrap_or(InodeId::ROOT);
        codec::decode(&self.of(of, message_type::META_NAMES, codec::encode(request)).await?)
    }
}

async fn call(pool: &Pool, node: &Node, map: &ClusterMap, message: u16, body: Vec<u8>) -> Result<Vec<u8>, WireError> {
    let endpoint = Endpoint { addresses: node.addresses.clone() };
    let request = Request::new(message, body).at(map.version.0, 0).with_timeout(ANSWER);
    let frame = pool.call(&endpoint, request).await.map_err(|error| ErrorCode::IO.with(error.to_string()))?;
    if frame.is_error() {
        return Err(codec::decode(&frame.body)?);
    }
    Ok(frame.body.to_vec())
}
