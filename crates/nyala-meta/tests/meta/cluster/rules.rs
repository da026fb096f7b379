// SPDX-License-Identifier: Apache-2.0

//! Clients whose keys have rules: one that is honest about its users, and one that lies. What they get is what their keys are for.

use crate::cluster::harness::Cluster;
use crate::cluster::keys::{answer, key, until_known, with, write};
use crate::cluster::rename;
use nyala_client::{ActingUser, Client, ClientConfig, OpenOptions};
use nyala_transport::secret::key_file::{KeyEntry, KeyFile};
use nyala_transport::{Connection, HandshakeConfig, Role, Secret};
use nyala_wire::key_rules::{IdRange, KeyRule, NOBODY, Squash};
use nyala_wire::message_type::{META, MGMT};
use nyala_wire::meta::{Caller, Grants, MetaOp, MetaReply, MetaRequest, Owner, SetAttr, SetTime, Want};
use nyala_wire::mgmt::{MgmtReply, MgmtRequest};
use nyala_wire::{ErrorCode, InodeId, Name, SessionId, Time, codec};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

const ROOT: InodeId = InodeId::ROOT;

/// A key's holder that speaks the protocol itself.
pub struct Liar {
    to: Connection,
    session: SessionId,
    sequence: u64,
}

impl Liar {
    pub async fn connect(meta: SocketAddr, key: &KeyEntry, session: u64) -> Liar {
        let to = Connection::connect(meta, &with(key, "client", Role::Client)).await.unwrap();
        let mut liar = Liar { to, session: SessionId(session), sequence: 0 };
        liar.ask(MetaOp::SessionOpen { client: "liar".to_owned() }, None).await.unwrap();
        liar
    }

    pub async fn ask(&mut self, op: MetaOp, says: Option<(u32, u32)>) -> Result<MetaReply, ErrorCode> {
        let sequence = if op.is_change() { self.sequence + 1 } else { 0 };
        self.sequence = self.sequence.max(sequence);
        let user = |(uid, gid)| {
            // It also says that it is bound by nothing.
            let anybody = Some(Box::new(KeyRule::none("mine")));
            Box::new(Caller { uid, gid, groups: vec![0], anybody })
        };
        let owner = Owner { uid: 0, gid: 0 };
        let now = Time { seconds: 1_700_000_000, nanos: 0 };
        let (want, caller) = (Want::NOTHING, says.map(user));
        let request =
            MetaRequest { session: self.session, sequence, acked_below: 0, owner, now, op, want, caller, user: None };
        let body = answer(&self.to, META, codec::encode(&request)).await?;
        Ok(codec::decode(Grants::split(&body).unwrap().1).unwrap())
    }
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).unwrap()
}

pub async fn set_rule(mgmt: SocketAddr, admin: &HandshakeConfig, rule: KeyRule) {
    let to = Connection::connect(mgmt, admin).await.unwrap();
    assert_eq!(
        answer(&to, MGMT, codec::encode(&MgmtRequest::SetKeyRule(rule))).await.map(|body| codec::decode(&body)),
        Ok(Ok(MgmtReply::Done))
    );
}

pub async fn client(mgmt: SocketAddr, key: &KeyEntry, name: &str) -> Client {
    // Under the name that servers have for the key, as `nyala secret export` writes it.
    let secret = Secret::from_keys(&KeyFile { keys: vec![key.clone()] });
    let config = ClientConfig { retry_timeout: Duration::from_secs(60), ..ClientConfig::new(vec![mgmt], secret, name) };
    Client::connect(config).await.unwrap()
}

pub fn user(uid: u32) -> ActingUser {
    ActingUser { uid, gid: uid, pid: 0, groups: |_| Vec::new() }
}

pub fn refused<T>(outcome: nyala_client::Result<T>, code: ErrorCode, what: &str) {
    let outcome = outcome.map(drop);
    assert!(outcome.as_ref().is_err_and(|error| error.is(code)), "{what}: {outcome:?}");
}

/// What is everybody's, user 1000's, user 2000's and root's.
struct Files {
    secret: InodeId,
    theirs: InodeId,
    open: InodeId,
}

async fn files(owner: &Client) -> Files {
    owner.setattr(ROOT, SetAttr { perm: Some(0o1777), ..SetAttr::default() }).await.unwrap();
    let make = async |name: &str, perm: u16, uid: u32| {
        let owned = Owner { uid, gid: uid };
        let (attr, handle) = owner.create(ROOT, name.as_bytes(), perm, owned, true).await.unwrap();
        handle.write(0, b"content").await.unwrap();
        handle.fsync(false).await.unwrap();
        handle.release().await.unwrap();
        attr.inode
    };
    let files = Files {
        secret: make("secret", 0o600, 0).await,
        theirs: make("theirs", 0o600, 2000).await,
        open: make("open", 0o644, 0).await,
    };
    owner.mkdir(ROOT, b"closed", 0o700, Owner::default()).await.unwrap();
    files
}

/// Whoever it says that it is, it is not root.
async fn lies(liar: &mut Liar, files: &Files) {
    let set = |inode, set| MetaOp::SetAttr { inode, set };
    let chown = SetAttr { uid: Some(1000), ..SetAttr::default() };
    let chmod = SetAttr { perm: Some(0o4777), ..SetAttr::default() };
    let cut = SetAttr { size: Some(0), ..SetAttr::default() };
    let date = SetAttr { mtime: Some(SetTime::At(Time::default())), ..SetAttr::default() };
    let capability = MetaOp::SetXattr {
        inode: files.open,
        name: b"security.capability".to_vec().into(),
        value: vec![1].into(),
        create: false,
        replace: false,
        kill_sgid: false,
    };
    for says in [Some((0, 0)), Some((1000, 0)), Some((u32::MAX, 0)), None] {
        let (access, permitted) = (Err(ErrorCode::ACCESS), Err(ErrorCode::NOT_PERMITTED));
        let table = [
            (MetaOp::FileInfo { inode: files.secret }, &access),
            (MetaOp::Acquire { inode: files.secret }, &access),
            (MetaOp::Open { inode: files.secret }, &access),
            (set(files.secret, cut.clone()), &access),
            (set(files.open, cut.clone()), &access),
            (set(files.secret, chmod.clone()), &permitted),
            (set(files.open, chown.clone()), &permitted),
            (set(files.open, date.clone()), &permitted),
            (capability.clone(), &permitted),
            (MetaOp::Unlink { parent: ROOT, name: name("secret") }, &permitted),
            (MetaOp::Rmdir { parent: ROOT, name: name("closed") }, &permitted),
            (MetaOp::Rename(rename((ROOT, "open"), (ROOT, "mine"))), &permitted),
            (MetaOp::Rename(rename((ROOT, "closed"), (ROOT, "mine"))), &permitted),
            (MetaOp::Link { inode: files.secret, parent: ROOT, name: name("mine") }, &permitted),
        ];
        for (op, want) in table {
            let what = format!("{op:?} as {says:?}");
            assert_eq!(liar.ask(op, says).await.map(drop), want.clone(), "{what}");
        }
    }
    // What it makes is never root's.
    let entry = nyala_wire::meta::NewEntry { parent: ROOT, name: name("trap"), perm: 0o4755, umask: 0 };
    let made = liar.ask(MetaOp::Create { entry, exclusive: true }, Some((0, 0))).await.unwrap();
    let MetaReply::Created { file: Some(file), .. } = made else { panic!("{made:?}") };
    assert_eq!((file.attr.uid, file.attr.gid), (NOBODY, NOBODY));
}

/// An honest client's root is nobody, and its users are who they are.
async fn squashed(honest: &Client, files: &Files) {
    let (attr, handle) =
        honest.on_behalf(user(0), honest.create(ROOT, b"of root", 0o644, Owner::default(), true)).await.unwrap();
    handle.write(0, b"mine").await.unwrap();
    handle.fsync(false).await.unwrap();
    handle.release().await.unwrap();
    assert_eq!((attr.uid, attr.gid), (NOBODY, NOBODY));
    let open = OpenOptions::default();
    refused(
        honest.on_behalf(user(0), honest.open(files.theirs, open)).await,
        ErrorCode::ACCESS,
        "root reads user 2000's",
    );
    refused(
        honest.on_behalf(user(1000), honest.open(files.theirs, open)).await,
        ErrorCode::ACCESS,
        "user 1000 as well",
    );
    let theirs = honest.on_behalf(user(2000), honest.open(files.theirs, open)).await.unwrap();
    assert_eq!(theirs.read(0, 10).await.unwrap().concat(), b"content");
    theirs.write(0, b"CONTENT").await.unwrap();
    theirs.fsync(false).await.unwrap();
    theirs.release().await.unwrap();
    let owner = Owner { uid: 1000, gid: 1000 };
    let (attr, handle) =
        honest.on_behalf(user(1000), honest.create(ROOT, b"of 1000", 0o444, owner, true)).await.unwrap();
    assert_eq!((attr.uid, attr.gid), (1000, 1000));
    handle.write(0, b"written although it is 0444").await.unwrap();
    handle.fsync(false).await.unwrap();
    handle.release().await.unwrap();
    refused(
        honest.on_behalf(user(2000), honest.unlink(ROOT, b"of 1000")).await,
        ErrorCode::NOT_PERMITTED,
        "it is sticky",
    );
    honest.on_behalf(user(1000), honest.unlink(ROOT, b"of 1000")).await.unwrap();
    // Directories may be on the other metadata server.
    for n in 0..8 {
        let text = format!("dir of 1000 {n}");
        honest.on_behalf(user(1000), honest.mkdir(ROOT, text.as_bytes(), 0o755, owner)).await.unwrap();
        refused(
            honest.on_behalf(user(2000), honest.rmdir(ROOT, text.as_bytes())).await,
            ErrorCode::NOT_PERMITTED,
            &text,
        );
        refused(honest.on_behalf(user(0), honest.rmdir(ROOT, text.as_bytes())).await, ErrorCode::NOT_PERMITTED, &text);
        honest.on_behalf(user(1000), honest.rmdir(ROOT, text.as_bytes())).await.unwrap();
    }
}

/// Users of the client's host are others in the cluster, and see themselves as they know themselves.
async fn mapped(honest: &Client, plain: &Client) {
    let owner = Owner { uid: 5, gid: 5 };
    let (attr, handle) = honest.on_behalf(user(5), honest.create(ROOT, b"mapped", 0o640, owner, true)).await.unwrap();
    handle.release().await.unwrap();
    assert_eq!((attr.uid, attr.gid), (5, 5));
    let seen = plain.getattr(attr.inode).await.unwrap();
    assert_eq!((seen.uid, seen.gid), (70_005, 70_005));
    let theirs = honest.lookup(ROOT, b"theirs").await.unwrap();
    assert_eq!((theirs.uid, theirs.gid), (NOBODY, NOBODY), "user 2000 is nobody's on that host");
    let listed = honest.readdir(ROOT, 0, 1000, true).await.unwrap();
    let own = listed.entries.iter().find(|entry| entry.name == name("mapped")).unwrap();
    assert_eq!(own.attr.as_ref().map(|attr| attr.uid), Some(5));
    let given = honest.on_behalf(user(5), honest.setattr(attr.inode, SetAttr { gid: Some(6), ..SetAttr::default() }));
    refused(given.await, ErrorCode::NOT_PERMITTED, "it is not in that group");
    honest
        .on_behalf(user(5), honest.setattr(attr.inode, SetAttr { perm: Some(0o600), ..SetAttr::default() }))
        .await
        .unwrap();
    honest.on_behalf(user(5), honest.unlink(ROOT, b"mapped")).await.unwrap();
}

#[test]
fn clients_get_no_more_than_the_rules_of_their_key() {
    let cluster = Cluster::start();
    let (secret, mgmt, metas) = (cluster.path("secret"), cluster.mgmt, cluster.metas);
    cluster.run(|plain| async move {
        let keys = [key("all", "all", false), key("ruled", "client", false)];
        let [all, ruled] = &keys;
        let (bytes, _) = nyala_transport::secret::file::read(&secret).unwrap();
        let first = KeyEntry { grant: Default::default(), made: 0, secret: bytes.trim_ascii_end().to_vec() };
        write(&secret, vec![first, all.clone(), ruled.clone()]);
        until_known(&[mgmt, metas[0], metas[1]], ruled).await;
        let admin = with(all, "all", Role::Cli);
        let files = files(&plain).await;
        // On a connection that exists already.
        let meta = plain
            .map()
            .slot_target(ROOT.slot())
            .and_then(|server| plain.map().server_node(server).cloned())
            .unwrap()
            .addresses[0];
        let mut liar = Liar::connect(meta, ruled, 0x1100).await;
        assert!(
            liar.ask(MetaOp::FileInfo { inode: files.secret }, None).await.is_ok(),
            "without rules clients are trusted"
        );
        let honest = client(mgmt, ruled, "honest").await;
        set_rule(mgmt, &admin, KeyRule { squash: Squash::Root, ..KeyRule::none("ruled") }).await;
        let began = Instant::now();
        while liar.ask(MetaOp::FileInfo { inode: files.secret }, None).await.is_ok() {
            assert!(began.elapsed() < Duration::from_secs(10), "the rule does not arrive");
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        while honest.map().key_rules.is_empty() {
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        lies(&mut liar, &files).await;
        squashed(&honest, &files).await;
        let range = vec![IdRange { client: 0, server: 70_000, count: 100 }];
        let lab = KeyRule { users: range.clone(), groups: range, ..KeyRule::none("ruled") };
        set_rule(mgmt, &admin, lab).await;
        // What was cached has the ids of before.
        honest.shutdown().await.unwrap();
        let honest = client(mgmt, ruled, "honest again").await;
        while honest.map().key_rule("ruled").is_none_or(|rule| !rule.maps_ids()) {
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // sleeps: the rule reaches servers with the next map, which tests do not see
        tokio::time::sleep(Duration::from_millis(500)).await;
        // The first client reads its key from a file that has the ruled one by now.
        let trusted = client(mgmt, all, "trusted").await;
        mapped(&honest, &trusted).await;
        trusted.shutdown().await.unwrap();
        assert_eq!(
            liar.ask(MetaOp::FileInfo { inode: files.secret }, Some((0, 0))).await.map(drop),
            Err(ErrorCode::ACCESS)
        );
        honest.shutdown().await.unwrap();
    });
}
