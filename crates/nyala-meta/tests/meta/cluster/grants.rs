// SPDX-License-Identifier: Apache-2.0

//! Clients whose rule is about users, at storage: one that is honest, and one that names inodes by number and lies about its grants.

use crate::cluster::access::read_of;
use crate::cluster::harness::{Cluster, LARGE, content};
use crate::cluster::keys::{answer, key, until_known, with, write};
use crate::cluster::rules::{Liar, client, refused, set_rule, user};
use nyala_client::{Client, OpenOptions};
use nyala_transport::secret::key_file::KeyEntry;
use nyala_transport::{Connection, HandshakeConfig, Request, Role};
use nyala_wire::key_rules::{KeyRule, Squash};
use nyala_wire::map::{ClusterMap, MemberState, TargetKind};
use nyala_wire::message_type::{MGMT, STORAGE, STORAGE_GRANTS, STORAGE_GROUP, STORAGE_READ, STORAGE_WRITE};
use nyala_wire::meta::{MetaOp, MetaReply, Owner, SetAttr};
use nyala_wire::mgmt::{GroupOrder, MgmtRequest};
use nyala_wire::mirror::GroupHeader;
use nyala_wire::storage::{ChunkFileId, StorageOp, StorageRequest, WriteHeader, decode_bulk, encode_bulk};
use nyala_wire::storage_grants::{StorageGrant, StorageRights};
use nyala_wire::{ErrorCode, GroupId, InodeId, Pattern, SessionId, StripePattern, TargetId, WireError, codec};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

const ROOT: InodeId = InodeId::ROOT;

async fn large(client: &Client, name: &str, perm: u16, uid: u32) -> InodeId {
    let (attr, handle) = client.create(ROOT, name.as_bytes(), perm, Owner { uid, gid: uid }, true).await.unwrap();
    handle.write(0, &vec![uid as u8; LARGE]).await.unwrap();
    handle.fsync(false).await.unwrap();
    handle.release().await.unwrap();
    attr.inode
}

async fn overwrite(client: &Client, inode: InodeId) -> nyala_client::Result<()> {
    let handle = client.open(inode, OpenOptions::default()).await?;
    let written = match handle.write(0, &[9; LARGE]).await {
        Ok(_) => handle.fsync(false).await,
        Err(error) => Err(error),
    };
    // why ignored: what was refused is told once.
    let _ = handle.release().await;
    written
}

/// Large files of root and of user 40; some are on a mirror group.
struct Files {
    secret: InodeId,
    public: InodeId,
    theirs: InodeId,
    mirrored_secret: InodeId,
    mirrored_theirs: InodeId,
}

/// Makes a mirror group of two targets, and waits until both members are good.
async fn mirror(client: &Client, mgmt: SocketAddr, admin: &HandshakeConfig, members: Vec<TargetId>) {
    let order = GroupOrder::Create { group: GroupId(0), kind: TargetKind::Storage, members };
    let to = Connection::connect(mgmt, admin).await.unwrap();
    answer(&to, MGMT, codec::encode(&MgmtRequest::Groups(order))).await.unwrap();
    let began = Instant::now();
    while client.map().groups.first().is_none_or(|group| group.states != [MemberState::Good; 2]) {
        assert!(began.elapsed() < Duration::from_secs(60), "no group: {:?}", client.map().groups);
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn mirrored(client: &Client, name: &str, uid: u32) -> InodeId {
    let pattern = StripePattern { pattern: Pattern::Mirror, num_targets: 1, ..client.map().settings.default_pattern };
    let owner = Owner { uid, gid: uid };
    let inode = client.mkfile(ROOT, name.as_bytes(), 0o600, owner, pattern).await.unwrap().inode;
    let handle = client.open(inode, OpenOptions::default()).await.unwrap();
    handle.write(0, &vec![uid as u8; LARGE]).await.unwrap();
    handle.fsync(false).await.unwrap();
    handle.release().await.unwrap();
    inode
}

/// Its users do with large files what their modes say, and their root is nobody.
async fn honest(client: &Client, plain: &Client, files: &Files) {
    let mine = client.on_behalf(user(30), large(client, "mine", 0o600, 30)).await;
    assert_eq!(client.on_behalf(user(30), content(client, mine)).await.unwrap(), vec![30; LARGE]);
    client.on_behalf(user(30), overwrite(client, mine)).await.unwrap();
    assert_eq!(content(plain, mine).await.unwrap(), vec![9; LARGE]);
    assert_eq!(client.on_behalf(user(40), content(client, files.theirs)).await.unwrap(), vec![40; LARGE]);
    client.on_behalf(user(40), overwrite(client, files.theirs)).await.unwrap();
    refused(client.on_behalf(user(0), content(client, files.secret)).await, ErrorCode::ACCESS, "root's file");
    let theirs = files.mirrored_theirs;
    assert!(client.on_behalf(user(40), content(client, theirs)).await.unwrap() == vec![40; LARGE]);
    client.on_behalf(user(40), overwrite(client, theirs)).await.unwrap();
    assert!(content(plain, theirs).await.unwrap() == vec![9; LARGE]);
    refused(client.on_behalf(user(0), content(client, files.mirrored_secret)).await, ErrorCode::ACCESS, "root's");
    assert_eq!(client.on_behalf(user(0), content(client, files.public)).await.unwrap(), vec![0; LARGE]);
    refused(client.on_behalf(user(0), overwrite(client, files.public)).await, ErrorCode::ACCESS, "to be read alone");
    // What it was granted before is not enough, and it is granted more by now.
    plain.setattr(files.public, SetAttr { perm: Some(0o666), ..SetAttr::default() }).await.unwrap();
    client.on_behalf(user(0), overwrite(client, files.public)).await.unwrap();
    plain.setattr(files.public, SetAttr { perm: Some(0o644), ..SetAttr::default() }).await.unwrap();
    // One without a name is still used by who has it open.
    let open = client.on_behalf(user(30), client.open(mine, OpenOptions::default())).await.unwrap();
    client.on_behalf(user(30), client.unlink(ROOT, b"mine")).await.unwrap();
    open.write(0, &[8; LARGE]).await.unwrap();
    open.fsync(false).await.unwrap();
    assert_eq!(open.read(0, 1000).await.unwrap().concat(), [8; 1000]);
    open.release().await.unwrap();
}

/// What one says to storage that speaks the protocol itself.
struct AtStorage {
    to: Connection,
    target: TargetId,
}

impl AtStorage {
    async fn connect((address, target): (SocketAddr, TargetId), key: &KeyEntry) -> AtStorage {
        AtStorage { to: Connection::connect(address, &with(key, "client", Role::Client)).await.unwrap(), target }
    }

    async fn read(&self, inode: InodeId) -> Result<(), ErrorCode> {
        answer(&self.to, STORAGE_READ, read_of(self.target, inode)).await.map(drop)
    }

    async fn write(&self, inode: InodeId) -> Result<(), ErrorCode> {
        let (target, inode, session) = (self.target.0.into(), inode.0.into(), 7.into());
        let empty = decode_bulk(&[0; size_of::<WriteHeader>()]).unwrap().0;
        let header = WriteHeader { target, inode, session, ..empty };
        answer(&self.to, STORAGE_WRITE, encode_bulk(&header, &[])).await.map(drop)
    }

    async fn op(&self, inode: InodeId, op: StorageOp) -> Result<(), ErrorCode> {
        let asked = StorageRequest::new(self.target, ChunkFileId { inode, index: 0 }, op);
        answer(&self.to, STORAGE, codec::encode(&asked.of_session(SessionId(7)))).await.map(drop)
    }

    /// The same of the member of a mirror group.
    async fn group(&self, map: &ClusterMap, kind: u16, body: Vec<u8>) -> Result<(), ErrorCode> {
        let (group, kind) = (map.groups[0].id.0.into(), kind.into());
        let header =
            GroupHeader { group, kind, pass_on: 0.into(), client: 7.into(), number: 1.into(), lowest: 1.into() };
        let request = Request::new(STORAGE_GROUP, header.wrap(&body)).at(map.version.0, map.groups[0].epoch);
        let frame = self.to.call(request).await.unwrap();
        match frame.is_error() {
            true => Err(codec::decode::<WireError>(&frame.body).unwrap().code),
            false => Ok(()),
        }
    }

    /// Reading and truncating a mirrored file.
    async fn mirrored(&self, map: &ClusterMap, inode: InodeId) -> [Result<(), ErrorCode>; 2] {
        let truncate =
            StorageRequest::new(TargetId(0), ChunkFileId { inode, index: 0 }, StorageOp::Truncate { len: 0 });
        let truncate = codec::encode(&truncate.of_session(SessionId(7)));
        let read = read_of(TargetId(0), inode);
        [self.group(map, STORAGE_READ, read).await, self.group(map, STORAGE, truncate).await]
    }

    async fn show(&self, grant: StorageGrant) -> Result<(), ErrorCode> {
        answer(&self.to, STORAGE_GRANTS, codec::encode(&vec![grant])).await.map(drop)
    }
}

async fn granted(liar: &mut Liar, inode: InodeId) -> Result<StorageGrant, ErrorCode> {
    match liar.ask(MetaOp::StorageGrant(inode), Some((0, 0))).await? {
        MetaReply::StorageGrant(grant) => Ok(grant),
        other => panic!("{other:?}"),
    }
}

/// Whatever it shows, it does with a file what some user may whom it may act as; `public` may be read.
async fn lies(liar: &mut Liar, at: &AtStorage, files: &Files, map: &ClusterMap) {
    let (needed, access) = (Err(ErrorCode::GRANT_NEEDED), Err(ErrorCode::ACCESS));
    assert_eq!(granted(liar, files.secret).await, access.map(|()| unreachable!()));
    let read = granted(liar, files.public).await.unwrap();
    assert_eq!(read.rights, StorageRights::Read);
    assert_eq!(at.show(read).await, Ok(()));
    assert_eq!(at.read(files.public).await, Ok(()));
    let copy =
        StorageOp::Copy { from: ChunkFileId { inode: files.secret, index: 0 }, from_offset: 0, offset: 0, len: 4096 };
    let lies = [
        StorageGrant { inode: files.secret, ..read },
        StorageGrant { rights: StorageRights::Write, ..read },
        StorageGrant { inode: files.secret, rights: StorageRights::Write, code: [0; 16].into() },
    ];
    for lie in lies {
        assert_eq!(at.show(lie).await, access, "{lie:?}");
        assert_eq!(at.read(files.secret).await, needed);
        assert_eq!((at.write(files.secret).await, at.write(files.public).await), (needed, needed));
        for op in [
            StorageOp::Truncate { len: 0 },
            StorageOp::Punch { offset: 0, len: 4096 },
            StorageOp::Allocate { offset: 0, len: 4096 },
            copy.clone(),
        ] {
            assert_eq!(at.op(files.public, op.clone()).await, needed, "{op:?}");
        }
        assert_eq!(at.op(files.secret, StorageOp::Stat).await, needed);
    }
    assert_eq!(at.mirrored(map, files.mirrored_secret).await, [needed; 2]);
    let theirs = granted(liar, files.mirrored_theirs).await.unwrap();
    assert_eq!((at.mirrored(map, files.mirrored_theirs).await, at.show(theirs).await), ([needed; 2], Ok(())));
    let read = read_of(TargetId(0), files.mirrored_theirs);
    assert_eq!(at.group(map, STORAGE_READ, read).await, Ok(()));
    assert_eq!(at.mirrored(map, files.mirrored_secret).await, [needed; 2]);
    let theirs = granted(liar, files.theirs).await.unwrap();
    assert_eq!((theirs.rights, at.show(theirs).await), (StorageRights::Write, Ok(())));
    assert_eq!(at.op(files.theirs, copy).await, needed, "copied from what may not be read");
}

#[test]
fn storage_lets_a_client_use_a_file_as_far_as_its_users_may() {
    let cluster = Cluster::start();
    let (secret, mgmt, metas) = (cluster.path("secret"), cluster.mgmt, cluster.metas);
    cluster.run(|plain| async move {
        let keys = [key("all", "all", false), key("ruled", "client", false)];
        let [all, ruled] = &keys;
        let (bytes, _) = nyala_transport::secret::file::read(&secret).unwrap();
        let first = KeyEntry { grant: Default::default(), made: 0, secret: bytes.trim_ascii_end().to_vec() };
        write(&secret, vec![ruled.clone(), all.clone(), first]);
        plain.setattr(ROOT, SetAttr { perm: Some(0o777), ..SetAttr::default() }).await.unwrap();
        let targets: Vec<TargetId> = plain.map().targets_of(TargetKind::Storage).map(|target| target.id).collect();
        let admin = with(all, "all", Role::Cli);
        until_known(&[mgmt], all).await;
        mirror(&plain, mgmt, &admin, targets[..2].to_vec()).await;
        let files = Files {
            secret: large(&plain, "secret", 0o600, 0).await,
            public: large(&plain, "public", 0o644, 0).await,
            theirs: large(&plain, "theirs", 0o600, 40).await,
            mirrored_secret: mirrored(&plain, "mirrored secret", 0).await,
            mirrored_theirs: mirrored(&plain, "mirrored theirs", 40).await,
        };
        let map = plain.map();
        let target = plain.entry_info(files.secret).await.unwrap().layout.unwrap().targets[0];
        let storage = (map.node_of(target).unwrap().addresses[0], target);
        until_known(&[mgmt, metas[0], metas[1], storage.0], ruled).await;
        let server = map.slot_target(ROOT.slot()).and_then(|server| map.server_node(server)).unwrap().addresses[0];
        let mut liar = Liar::connect(server, ruled, 0x1300).await;
        let at = AtStorage::connect(storage, ruled).await;
        assert_eq!(at.read(files.secret).await, Ok(()), "without rules clients are trusted");
        set_rule(mgmt, &admin, KeyRule { squash: Squash::Root, ..KeyRule::none("ruled") }).await;
        let began = Instant::now();
        while at.read(files.secret).await.is_ok()
            || liar.ask(MetaOp::FileInfo { inode: files.secret }, None).await.is_ok()
        {
            assert!(began.elapsed() < Duration::from_secs(10), "the rule does not arrive");
            // sleeps: between two looks at whether the rule has arrived.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // sleeps: the other services hear of the rule, too, and do not say when.
        tokio::time::sleep(Duration::from_millis(500)).await;
        lies(&mut liar, &at, &files, &plain.map()).await;
        let ours = client(mgmt, ruled, "honest").await;
        let trusted = client(mgmt, all, "trusted").await;
        honest(&ours, &trusted, &files).await;
        // Another rule: what was granted and shown under the one before counts no more.
        let before = granted(&mut liar, files.public).await.unwrap();
        assert_eq!((at.show(before).await, at.read(files.public).await), (Ok(()), Ok(())));
        set_rule(mgmt, &admin, KeyRule { squash: Squash::All, ..KeyRule::none("ruled") }).await;
        let began = Instant::now();
        while at.read(files.public).await != Err(ErrorCode::GRANT_NEEDED) {
            assert!(began.elapsed() < Duration::from_secs(10), "the rule does not arrive");
            // sleeps: between two looks at whether the rule has arrived.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(at.show(before).await, Err(ErrorCode::ACCESS), "a grant of the rule of before");
        assert_eq!(at.read(files.theirs).await, Err(ErrorCode::GRANT_NEEDED));
        assert_eq!(content(&ours, files.public).await.unwrap(), vec![9; LARGE], "an honest client asks again");
        ours.shutdown().await.unwrap();
        assert_eq!(content(&trusted, files.secret).await.unwrap(), vec![0; LARGE], "what is secret is as it was");
        trusted.shutdown().await.unwrap();
    });
}
