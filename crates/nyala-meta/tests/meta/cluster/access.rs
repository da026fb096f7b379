// SPDX-License-Identifier: Apache-2.0

//! Clients that access rules keep to a directory, or do not let in: one that is honest, and one that speaks the protocol itself, names inodes that it
//! was never shown, and makes up proofs.

use crate::cluster::harness::{Cluster, LARGE, content};
use crate::cluster::keys::{answer, key, until_known, with, write};
use crate::cluster::{OWNER, rename};
use nyala_client::{Client, ClientConfig, OpenOptions};
use nyala_transport::secret::key_file::{KeyEntry, KeyFile};
use nyala_transport::{Connection, Grant, HandshakeConfig, Request, Role, Secret};
use nyala_wire::access_rules::{AccessRule, Admit, Subtree};
use nyala_wire::key_rules::KeyRule;
use nyala_wire::map::TargetKind;
use nyala_wire::message_type::{META, MGMT, STORAGE, STORAGE_PROOFS, STORAGE_READ, STORAGE_WRITE};
use nyala_wire::meta::{Grants, MetaOp, MetaReply, MetaRequest, Owner, SetAttr, Want};
use nyala_wire::mgmt::{MgmtReply, MgmtRequest};
use nyala_wire::storage::{ChunkFileId, ReadHeader, StorageOp, StorageRequest, WriteHeader, decode_bulk, encode_bulk};
use nyala_wire::subtree_proofs::{InodeProof, Proven};
use nyala_wire::{ErrorCode, InodeId, Name, SessionId, TargetId, Time, WireError, codec};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

const ROOT: InodeId = InodeId::ROOT;

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).unwrap()
}

/// A key's holder that speaks the protocol itself, and remembers what it was proven.
struct Liar {
    to: Connection,
    session: SessionId,
    sequence: u64,
    proofs: HashMap<InodeId, InodeProof>,
}

impl Liar {
    async fn connect(meta: SocketAddr, key: &KeyEntry, session: u64) -> Liar {
        let to = Connection::connect(meta, &with(key, "client", Role::Client)).await.unwrap();
        Liar { to, session: SessionId(session), sequence: 0, proofs: HashMap::new() }
    }

    async fn ask(&mut self, op: MetaOp, shown: &[InodeProof]) -> Result<MetaReply, ErrorCode> {
        let sequence = if op.is_change() { self.sequence + 1 } else { 0 };
        self.sequence = self.sequence.max(sequence);
        let (owner, now, want) = (Owner::default(), Time { seconds: 1_700_000_000, nanos: 0 }, Want::NOTHING);
        let (session, acked_below) = (self.session, 0);
        let request = MetaRequest { session, sequence, acked_below, owner, now, op, want, caller: None, user: None };
        let payload = if shown.is_empty() { Vec::new() } else { vec![codec::encode(&shown.to_vec()).into()] };
        let frame = self.to.call(Request::new(META, codec::encode(&request)).with_payload(payload)).await.unwrap();
        if frame.is_error() {
            return Err(codec::decode::<WireError>(&frame.body).unwrap().code);
        }
        if let Ok(proven) = codec::decode::<Proven>(&frame.payload) {
            self.proofs.extend(proven.proofs.into_iter().map(|proof| (proof.inode, proof)));
        }
        Ok(codec::decode(Grants::split(&frame.body).unwrap().1).unwrap())
    }
}

async fn order(mgmt: SocketAddr, admin: &HandshakeConfig, request: MgmtRequest) {
    let to = Connection::connect(mgmt, admin).await.unwrap();
    let answered = answer(&to, MGMT, codec::encode(&request)).await.map(|body| codec::decode(&body));
    assert_eq!(answered, Ok(Ok(MgmtReply::Done)), "{request:?}");
}

async fn client(mgmt: SocketAddr, key: &KeyEntry, name: &str) -> nyala_client::Result<Client> {
    let secret = Secret::from_keys(&KeyFile { keys: vec![key.clone()] });
    Client::connect(ClientConfig {
        retry_timeout: Duration::from_secs(60),
        ..ClientConfig::new(vec![mgmt], secret, name)
    })
    .await
}

async fn large(client: &Client, parent: InodeId, name: &str, byte: u8) -> InodeId {
    let (attr, handle) = client.create(parent, name.as_bytes(), 0o644, OWNER, true).await.unwrap();
    handle.write(0, &vec![byte; LARGE]).await.unwrap();
    handle.fsync(false).await.unwrap();
    handle.release().await.unwrap();
    attr.inode
}

fn refused<T>(outcome: nyala_client::Result<T>, code: ErrorCode, what: &str) {
    let outcome = outcome.map(drop);
    assert!(outcome.as_ref().is_err_and(|error| error.is(code)), "{what}: {outcome:?}");
}

/// What there is: a tree with directories on both servers and a file on storage, and one outside.
struct Tree {
    top: InodeId,
    inside: InodeId,
    outside: InodeId,
}

async fn tree(owner: &Client) -> Tree {
    owner.setattr(ROOT, SetAttr { perm: Some(0o777), ..SetAttr::default() }).await.unwrap();
    let top = owner.mkdir(ROOT, b"tree", 0o777, OWNER).await.unwrap().inode;
    for n in 0..8 {
        let dir = owner.mkdir(top, format!("dir{n}").as_bytes(), 0o777, OWNER).await.unwrap().inode;
        owner.mkdir(dir, b"deep", 0o777, OWNER).await.unwrap();
    }
    let inside = large(owner, top, "inside", 1).await;
    Tree { top, inside, outside: large(owner, ROOT, "outside", 2).await }
}

/// Everything below works as if nothing else were there.
async fn honest(client: &Client, tree: &Tree) {
    assert_eq!(client.getattr(ROOT).await.unwrap().inode, tree.top, "its root is the directory");
    assert_eq!(client.resolve(b"/../inside", false).await.unwrap().inode, tree.inside, "nothing is above the root");
    assert_eq!(content(client, tree.inside).await.unwrap(), vec![1; LARGE]);
    let listed = client.readdir(ROOT, 0, 1000, true).await.unwrap();
    assert_eq!(listed.entries.len(), 9);
    for n in 0..8 {
        let dir = client.lookup(ROOT, format!("dir{n}").as_bytes()).await.unwrap().inode;
        let deep = client.lookup(dir, b"deep").await.unwrap().inode;
        let made = large(client, deep, "new", 3).await;
        assert_eq!(content(client, made).await.unwrap(), vec![3; LARGE]);
        client.rename(rename((deep, "new"), (ROOT, "moved"))).await.unwrap();
        client.link(made, dir, b"link").await.unwrap();
        client.setattr(made, SetAttr { size: Some(10), ..SetAttr::default() }).await.unwrap();
        client.unlink(ROOT, b"moved").await.unwrap();
        client.unlink(dir, b"link").await.unwrap();
        client.rmdir(dir, b"deep").await.unwrap();
        client.mkdir(dir, b"deep", 0o777, OWNER).await.unwrap();
    }
    refused(client.getattr(tree.outside).await, ErrorCode::ACCESS, "an inode outside");
    refused(client.open(tree.outside, OpenOptions::default()).await, ErrorCode::ACCESS, "the same");
    assert_eq!(client.parent(ROOT).await.unwrap(), ROOT, "the root is its own parent");
}

/// Whatever is asked about what is outside, and whatever is shown for it.
async fn lies_to_metadata(liar: &mut Liar, tree: &Tree) {
    liar.ask(MetaOp::SessionOpen { client: "liar".to_owned() }, &[]).await.unwrap();
    let found = liar.ask(MetaOp::Lookup { parent: tree.top, name: name("inside") }, &[]).await;
    assert!(matches!(found, Ok(MetaReply::Entry(entry)) if entry.inode == tree.inside));
    let real = liar.proofs[&tree.inside];
    assert_eq!(
        liar.ask(MetaOp::FileInfo { inode: tree.inside }, &[]).await.map(drop),
        Err(ErrorCode::ACCESS),
        "not shown"
    );
    assert_eq!(liar.ask(MetaOp::FileInfo { inode: tree.inside }, &[real]).await.map(drop), Ok(()));
    let forged: Vec<Vec<InodeProof>> = [tree.outside, ROOT]
        .into_iter()
        .flat_map(|inode| [InodeProof { inode, ..real }, InodeProof { inode, proof: [0; 16].into() }])
        .map(|proof| vec![proof, real])
        .chain([Vec::new(), vec![real]])
        .collect();
    let (outside, top) = (tree.outside, tree.top);
    let ops = [
        MetaOp::GetAttr { inode: outside },
        MetaOp::GetAttrs { inodes: vec![top, outside] },
        MetaOp::FileInfo { inode: outside },
        MetaOp::Open { inode: outside },
        MetaOp::EntryInfo { inode: outside },
        MetaOp::SetAttr { inode: outside, set: SetAttr { size: Some(0), ..SetAttr::default() } },
        MetaOp::Link { inode: outside, parent: top, name: name("mine") },
        MetaOp::Lookup { parent: ROOT, name: name("outside") },
        MetaOp::ReadDir { dir: ROOT, after: 0, max_entries: 10, plus: true },
        MetaOp::Unlink { parent: ROOT, name: name("outside") },
        MetaOp::Rename(rename((ROOT, "outside"), (top, "mine"))),
        MetaOp::Rename(rename((top, "inside"), (ROOT, "gone"))),
        MetaOp::GetParent { dir: top },
    ];
    for op in ops {
        for shown in &forged {
            assert_eq!(liar.ask(op.clone(), shown).await.map(drop), Err(ErrorCode::ACCESS), "{op:?} with {shown:?}");
        }
    }
}

pub fn read_of(target: TargetId, inode: InodeId) -> Vec<u8> {
    let header = ReadHeader {
        target: target.0.into(),
        inode: inode.0.into(),
        len: 4096.into(),
        ..decode_bulk(&[0; size_of::<ReadHeader>()]).unwrap().0
    };
    encode_bulk(&header, &[])
}

/// The same at storage.
async fn lies_to_storage(storage: (SocketAddr, TargetId), kept: &KeyEntry, liar: &Liar, tree: &Tree) {
    let (address, target) = storage;
    let to = Connection::connect(address, &with(kept, "client", Role::Client)).await.unwrap();
    let needed = Err(ErrorCode::PROOF_NEEDED);
    let code = async |message_type, body| answer(&to, message_type, body).await.map(drop);
    let write = |inode: InodeId| {
        let (target, inode, session) = (target.0.into(), inode.0.into(), 7.into());
        encode_bulk(
            &WriteHeader { target, inode, session, ..decode_bulk(&[0; size_of::<WriteHeader>()]).unwrap().0 },
            &[],
        )
    };
    let op = |inode: InodeId, op: StorageOp| {
        let asked = StorageRequest::new(target, ChunkFileId { inode, index: 0 }, op);
        codec::encode(&asked.of_session(SessionId(7)))
    };
    let real = liar.proofs[&tree.inside];
    let proofs = |shown: &[InodeProof]| codec::encode(&shown.to_vec());
    let copy =
        |from| StorageOp::Copy { from: ChunkFileId { inode: from, index: 0 }, from_offset: 0, offset: 0, len: 4096 };
    // The honest client with the same directory has shown this one already; who has the same root has it, too.
    assert_eq!(code(STORAGE_PROOFS, proofs(&[real])).await, Ok(()));
    assert_eq!(code(STORAGE_READ, read_of(target, tree.inside)).await, Ok(()));
    for forged in
        [InodeProof { inode: tree.outside, ..real }, InodeProof { inode: tree.outside, proof: [0; 16].into() }]
    {
        assert_eq!(code(STORAGE_PROOFS, proofs(&[real, forged])).await, Err(ErrorCode::ACCESS));
        assert_eq!(code(STORAGE_READ, read_of(target, tree.outside)).await, needed);
        assert_eq!(code(STORAGE_WRITE, write(tree.outside)).await, needed);
        assert_eq!(code(STORAGE, op(tree.inside, copy(tree.outside))).await, needed, "copied from");
        assert_eq!(code(STORAGE, op(tree.outside, copy(tree.inside))).await, needed, "copied to");
        for change in [
            StorageOp::Truncate { len: 0 },
            StorageOp::Punch { offset: 0, len: 4096 },
            StorageOp::Stat,
            StorageOp::Seek { offset: 0, hole: false },
            StorageOp::Allocate { offset: 0, len: 4096 },
        ] {
            assert_eq!(code(STORAGE, op(tree.outside, change.clone())).await, needed, "{change:?}");
        }
    }
}

#[test]
fn a_client_that_is_kept_to_a_directory_reaches_nothing_else_whatever_it_says() {
    let cluster = Cluster::start();
    let (secret, mgmt, metas) = (cluster.path("secret"), cluster.mgmt, cluster.metas);
    cluster.run(|plain| async move {
        let [all, kept, stranger] =
            [key("all", "all", false), key("kept", "client", false), key("stranger", "client", false)];
        let (bytes, _) = nyala_transport::secret::file::read(&secret).unwrap();
        let first = KeyEntry { grant: Grant::default(), made: 0, secret: bytes.trim_ascii_end().to_vec() };
        // The newest one is what the first client shows.
        write(&secret, vec![kept.clone(), stranger.clone(), all.clone(), first]);
        let tree = tree(&plain).await;
        let map = plain.map();
        let info = plain.entry_info(tree.outside).await.unwrap();
        let target = info.layout.unwrap().targets[0];
        assert_eq!(map.target(target).map(|target| target.kind), Some(TargetKind::Storage));
        let storage = (map.node_of(target).unwrap().addresses[0], target);
        until_known(&[mgmt, metas[0], metas[1], storage.0], &stranger).await;
        let admin = with(&all, "all", Role::Cli);
        let server_of = |inode: InodeId| {
            map.slot_target(inode.slot()).and_then(|server| map.server_node(server)).unwrap().addresses[0]
        };
        // On connections that exist already.
        let mut liar = Liar::connect(server_of(tree.top), &kept, 0x2100).await;
        let mut other = Liar::connect(metas[0], &stranger, 0x2200).await;
        other.ask(MetaOp::SessionOpen { client: "stranger".to_owned() }, &[]).await.unwrap();
        let subtree = Some(Subtree { inode: tree.top, path: "/tree".to_owned() });
        let rule = AccessRule { rule: KeyRule::none("kept"), network: None, subtree, admit: Admit::Held };
        order(mgmt, &admin, MgmtRequest::SetAccessRule(rule)).await;
        let here = Some("127.0.0.0/8".parse().unwrap());
        let nobody = AccessRule { rule: KeyRule::none("*"), network: here, subtree: None, admit: Admit::Refused };
        order(mgmt, &admin, MgmtRequest::SetAccessRule(nobody)).await;
        let free = AccessRule { rule: KeyRule::none("plain"), network: here, subtree: None, admit: Admit::Free };
        order(mgmt, &admin, MgmtRequest::SetAccessRule(free)).await;
        let began = Instant::now();
        while other.ask(MetaOp::StatFs, &[]).await != Err(ErrorCode::ACCESS) {
            assert!(began.elapsed() < Duration::from_secs(10), "the rules do not arrive");
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // sleeps: the rule reaches servers with the next map, which tests do not see
        tokio::time::sleep(Duration::from_millis(500)).await;

        let kept_client = client(mgmt, &kept, "kept").await.unwrap();
        honest(&kept_client, &tree).await;
        lies_to_metadata(&mut liar, &tree).await;
        lies_to_storage(storage, &kept, &liar, &tree).await;
        kept_client.shutdown().await.unwrap();

        // Who is refused gets nothing, at either service; the map alone everybody reads.
        let refused_client = client(mgmt, &stranger, "stranger").await.unwrap();
        refused(refused_client.getattr(ROOT).await, ErrorCode::ACCESS, "a refused client");
        let to = Connection::connect(storage.0, &with(&stranger, "client", Role::Client)).await.unwrap();
        assert_eq!(answer(&to, STORAGE_READ, read_of(target, tree.outside)).await, Err(ErrorCode::ACCESS));
        // why ignored: it never had a session.
        let _ = refused_client.shutdown().await;

        assert_eq!(content(&plain, tree.outside).await.unwrap(), vec![2; LARGE], "what was outside is as it was");
        order(mgmt, &admin, MgmtRequest::RemoveAccessRule { key: "*".to_owned(), network: here }).await;
        let began = Instant::now();
        while other.ask(MetaOp::StatFs, &[]).await.is_err() {
            assert!(began.elapsed() < Duration::from_secs(10), "the rule does not end");
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
}
