// SPDX-License-Identifier: Apache-2.0

//! Content that comes with a look-up: where it is asked for, and when it must not be believed.

use crate::fake::{Cluster, Faults};
use nyala_client::{Client, ClientConfig, FileHandle, OpenOptions};
use nyala_wire::InodeId;
use nyala_wire::meta::{DelegationMode, Owner, Rename, SetAttr};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

const ROOT: InodeId = InodeId::ROOT;
pub const WRITE: OpenOptions = OpenOptions { truncate: false, append: false, write: true, buffered: false };

async fn make(client: &Client, dir: InodeId, name: &str, content: &[u8]) -> InodeId {
    let (attr, handle) = client.create(dir, name.as_bytes(), 0o644, Owner::default(), true).await.unwrap();
    handle.write(0, content).await.unwrap();
    handle.release().await.unwrap();
    attr.inode
}

async fn read(handle: &FileHandle) -> Vec<u8> {
    handle.read(0, 10_000).await.unwrap().concat()
}

/// Opens by number, reads and closes.
async fn look(client: &Client, inode: InodeId) -> Vec<u8> {
    let handle = client.open(inode, OpenOptions::default()).await.unwrap();
    let data = read(&handle).await;
    handle.release().await.unwrap();
    data
}

async fn look_at(client: &Client, name: &str) -> Vec<u8> {
    look(client, client.lookup(ROOT, name.as_bytes()).await.unwrap().inode).await
}

/// Of a few closed files is kept what there is.
pub fn little_room(config: &mut ClientConfig) {
    config.read_cache_bytes = 8_000;
}

pub async fn forget_closed_files(client: &Client) {
    for n in 0..8 {
        look_at(client, &format!("f{n}")).await;
    }
}

impl Cluster {
    /// Look-ups so far that asked for content, and that brought some.
    fn content(&self) -> (usize, usize) {
        let inner = self.0.lock();
        (inner.seen.content_asked, inner.seen.content_given)
    }
}

/// A reader that has learned that files of the root are opened, somebody who made them, and a file of 100 ones that the
/// reader knows nothing of.
async fn learned(seed: u64, change: impl Fn(&mut ClientConfig)) -> (Cluster, Client, Client, InodeId) {
    let cluster = Cluster::new(seed);
    let mut config = cluster.config();
    change(&mut config);
    let (reader, maker) = (cluster.client_with(config).await, cluster.client().await);
    for n in 0..8 {
        make(&maker, ROOT, &format!("f{n}"), b"words").await;
        assert_eq!(look_at(&reader, &format!("f{n}")).await, b"words");
    }
    let file = make(&maker, ROOT, "file", &[1; 100]).await;
    maker.shutdown().await.unwrap();
    (cluster.clone(), reader, cluster.client().await, file)
}

/// Looks a name up whose answer, with content, is held up until the other one is told.
async fn look_up_held(cluster: &Cluster, client: &Client, name: &'static str) -> (JoinHandle<u64>, Arc<Notify>) {
    let hold = Arc::new(Notify::new());
    let before = {
        let mut inner = cluster.0.lock();
        inner.hold = Some(hold.clone());
        inner.held
    };
    let client = client.clone();
    let looked = tokio::spawn(async move { client.lookup(ROOT, name.as_bytes()).await.unwrap().size });
    while cluster.0.lock().held == before {
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    cluster.0.lock().hold = None;
    (looked, hold)
}

#[tokio::test]
async fn who_opens_what_he_looks_up_needs_one_request_and_who_only_looks_is_brought_nothing() {
    let cluster = Cluster::new(81);
    let maker = cluster.client().await;
    let dir = maker.mkdir(ROOT, b"looked at", 0o755, Owner::default()).await.unwrap().inode;
    for n in 0..100 {
        make(&maker, ROOT, &format!("f{n}"), &[n; 50]).await;
        make(&maker, dir, &format!("f{n}"), &[n; 50]).await;
    }
    maker.shutdown().await.unwrap();
    let reader = cluster.client().await;
    reader.lookup(ROOT, b"looked at").await.unwrap();
    for n in 0..100 {
        reader.lookup(dir, format!("f{n}").as_bytes()).await.unwrap();
    }
    assert_eq!(cluster.content(), (0, 0));
    for n in 0..10 {
        assert_eq!(look_at(&reader, &format!("f{n}")).await, [n; 50]);
    }
    let (asked, given) = cluster.content();
    assert!(asked == given && given >= 6, "{given}: it learns after a few");
    cluster.take_log();
    for n in 10..40 {
        assert_eq!(look_at(&reader, &format!("f{n}")).await, [n; 50]);
        assert_eq!(cluster.take_log(), ["Lookup"]);
        assert_eq!(look_at(&reader, &format!("f{n}")).await, [n; 50]);
        assert_eq!(cluster.take_log(), [""; 0], "and what came is kept");
        assert_eq!(
            reader.getattr(reader.lookup(ROOT, format!("f{n}").as_bytes()).await.unwrap().inode).await.unwrap().size,
            50
        );
        assert_eq!(cluster.take_log(), [""; 0]);
    }
    // A new habit: a few come in vain, then none.
    let asked = cluster.content().0;
    for n in 40..100 {
        reader.lookup(ROOT, format!("f{n}").as_bytes()).await.unwrap();
    }
    assert!(cluster.content().0 - asked < 60, "{}", cluster.content().0 - asked);
    let asked = cluster.content().0;
    for n in 40..100 {
        assert_eq!(look_at(&reader, &format!("f{n}")).await, [n; 50]);
    }
    assert_eq!(cluster.content().0, asked, "names are kept: nothing was looked up");
    cluster.check();
}

#[tokio::test]
async fn where_only_the_name_is_kept_it_is_asked_for_again_with_content() {
    let (cluster, reader, ..) = learned(92, little_room).await;
    look_at(&reader, "file").await;
    forget_closed_files(&reader).await;
    cluster.take_log();
    assert_eq!(look_at(&reader, "file").await, [1; 100]);
    assert_eq!(cluster.take_log(), ["Lookup"]);
    cluster.check();
}

#[tokio::test]
async fn removing_and_moving_bring_no_content() {
    let (cluster, reader, ..) = learned(82, |_| {}).await;
    let mine = reader.create(ROOT, b"mine", 0o644, Owner::default(), true).await.unwrap().1;
    let other = cluster.client().await;
    for n in 0..4 {
        make(&other, ROOT, &format!("g{n}"), b"words").await;
    }
    let asked = cluster.content().0;
    reader.unlink(ROOT, b"g0").await.unwrap();
    let name = |name: &[u8]| nyala_wire::Name::new(name).unwrap();
    let rename = |from: &[u8], to: &[u8]| Rename {
        from_parent: ROOT,
        from_name: name(from),
        to_parent: ROOT,
        to_name: name(to),
        no_replace: false,
        exchange: false,
    };
    reader.rename(rename(b"g1", b"g2")).await.unwrap();
    assert_eq!(cluster.content().0, asked);
    mine.release().await.unwrap();
    cluster.check();
}

#[tokio::test]
async fn content_from_before_an_own_write_is_not_believed_though_the_file_was_forgotten_since() {
    let (cluster, reader, other, file) = learned(83, little_room).await;
    for round in 2..5 {
        // From the second round on the reader has had the right to write all the time.
        make(&other, ROOT, &format!("takes the names back {round}"), b"").await;
        let (looked, hold) = look_up_held(&cluster, &reader, "file").await;
        let handle = reader.open(file, WRITE).await.unwrap();
        handle.write(0, &[round; 200]).await.unwrap();
        handle.release().await.unwrap();
        forget_closed_files(&reader).await;
        hold.notify_one();
        looked.await.unwrap();
        assert_eq!(reader.getattr(file).await.unwrap().size, 200);
        assert_eq!(look(&reader, file).await, [round; 200]);
    }
    cluster.check();
}

#[tokio::test]
async fn content_does_not_take_the_place_of_what_is_written_and_not_sent() {
    let (cluster, reader, other, file) = learned(84, |config| config.max_dirty_age = Duration::from_secs(60)).await;
    let (looked, hold) = look_up_held(&cluster, &reader, "file").await;
    let handle = reader.open(file, WRITE).await.unwrap();
    handle.write(50, &[2; 100]).await.unwrap();
    let mut expected = vec![1; 50];
    expected.resize(150, 2);
    hold.notify_one();
    assert_eq!(looked.await.unwrap(), 150, "own unsent changes are laid over what the server says");
    assert_eq!(read(&handle).await, expected);
    // The same asked for while they are there.
    make(&other, ROOT, "takes the names back", b"").await;
    let given = cluster.content().1;
    assert_eq!(reader.lookup(ROOT, b"file").await.unwrap().size, 150);
    assert_eq!(cluster.content().1, given + 1);
    assert_eq!(read(&handle).await, expected);
    handle.release().await.unwrap();
    assert_eq!(look(&reader, file).await, expected);
    reader.sync_all().await.unwrap();
    assert_eq!(cluster.inline(file).unwrap(), expected);
    cluster.check();
}

#[tokio::test]
async fn content_from_before_an_own_truncate_is_not_believed() {
    let (cluster, reader, _, file) = learned(85, |_| {}).await;
    let (looked, hold) = look_up_held(&cluster, &reader, "file").await;
    reader.setattr(file, SetAttr { size: Some(10), ..SetAttr::default() }).await.unwrap();
    hold.notify_one();
    looked.await.unwrap();
    assert_eq!(reader.getattr(file).await.unwrap().size, 10);
    assert_eq!(look(&reader, file).await, [1; 10]);
    cluster.check();
}

#[tokio::test]
async fn what_an_own_removal_of_an_unknown_name_did_is_not_undone() {
    let (cluster, reader, other, file) = learned(95, |_| {}).await;
    other.link(file, ROOT, b"again").await.unwrap();
    let (looked, hold) = look_up_held(&cluster, &reader, "file").await;
    reader.unlink(ROOT, b"again").await.unwrap();
    hold.notify_one();
    looked.await.unwrap();
    assert_eq!(reader.getattr(file).await.unwrap().nlink, 1);
    cluster.check();
}

#[tokio::test]
async fn changes_of_other_files_do_not_make_content_old() {
    let (cluster, reader, _, file) = learned(94, |_| {}).await;
    let other = reader.lookup(ROOT, b"f0").await.unwrap().inode;
    let (looked, hold) = look_up_held(&cluster, &reader, "file").await;
    reader.setattr(other, SetAttr { perm: Some(0o600), ..SetAttr::default() }).await.unwrap();
    make(&reader, ROOT, "new", b"new").await;
    hold.notify_one();
    looked.await.unwrap();
    cluster.take_log();
    assert_eq!(look(&reader, file).await, [1; 100]);
    assert_eq!(cluster.take_log(), [""; 0]);
    cluster.check();
}

#[tokio::test]
async fn content_from_before_does_not_make_an_open_file_longer() {
    let (cluster, reader, _, file) = learned(93, |_| {}).await;
    let (looked, hold) = look_up_held(&cluster, &reader, "file").await;
    let handle = reader.open(file, OpenOptions::default()).await.unwrap();
    assert_eq!(read(&handle).await, [1; 100]);
    reader.setattr(file, SetAttr { size: Some(10), ..SetAttr::default() }).await.unwrap();
    hold.notify_one();
    looked.await.unwrap();
    assert_eq!(read(&handle).await, [1; 10]);
    assert_eq!(reader.getattr(file).await.unwrap().size, 10);
    handle.release().await.unwrap();
    cluster.check();
}

#[tokio::test]
async fn content_whose_delegation_was_wanted_back_on_the_way_is_not_believed() {
    let (cluster, reader, writer, file) = learned(86, |_| {}).await;
    let (looked, hold) = look_up_held(&cluster, &reader, "file").await;
    let handle = writer.open(file, WRITE).await.unwrap();
    handle.write(0, &[3; 120]).await.unwrap();
    handle.release().await.unwrap();
    hold.notify_one();
    looked.await.unwrap();
    assert_eq!(reader.delegation(file), DelegationMode::None);
    assert_eq!(look(&reader, file).await, [3; 120]);
    cluster.check();
}

#[tokio::test]
async fn content_that_was_not_used_is_gone_when_somebody_writes() {
    let (cluster, reader, writer, file) = learned(87, |_| {}).await;
    let given = cluster.content().1;
    assert_eq!(reader.lookup(ROOT, b"file").await.unwrap().size, 100);
    assert_eq!(cluster.content().1, given + 1);
    let handle = writer.open(file, WRITE).await.unwrap();
    handle.write(0, &[3; 120]).await.unwrap();
    assert_eq!(look(&reader, file).await, [3; 120]);
    // While the other one may have changes of its own, a look-up waits for them, and guesses nothing.
    handle.write(0, &[4; 120]).await.unwrap();
    make(&writer, ROOT, "more", b"").await;
    assert_eq!(look_at(&reader, "file").await, [4; 120]);
    handle.release().await.unwrap();
    cluster.check();
}

#[tokio::test]
async fn content_of_before_a_restart_or_of_a_lost_session_is_not_kept() {
    for lost in [false, true] {
        let (cluster, reader, writer, file) = learned(88, |_| {}).await;
        let (looked, hold) = look_up_held(&cluster, &reader, "file").await;
        if lost {
            cluster.forget_sessions();
        } else {
            cluster.restart_meta();
        }
        let handle = writer.open(file, WRITE).await.unwrap();
        handle.write(0, &[5; 120]).await.unwrap();
        handle.flush().await.unwrap();
        // The reader has heard of it.
        reader.lookup(ROOT, b"none").await.unwrap_err();
        hold.notify_one();
        looked.await.unwrap();
        assert_eq!(look(&reader, file).await, [5; 120], "lost {lost}");
        handle.release().await.unwrap();
    }
}

#[tokio::test]
async fn many_files_that_are_not_opened_take_no_more_room_than_open_ones() {
    let (cluster, reader, maker, _) = learned(89, |config| config.read_cache_bytes = 40_000).await;
    for n in 0..200 {
        make(&maker, ROOT, &format!("g{n}"), &[7; 1000]).await;
    }
    maker.shutdown().await.unwrap();
    let given = cluster.content().1;
    for n in 0..50 {
        reader.lookup(ROOT, format!("g{n}").as_bytes()).await.unwrap();
    }
    let brought = cluster.content().1 - given;
    assert!((1..50).contains(&brought), "{brought}");
    cluster.take_log();
    for n in 0..50 {
        assert_eq!(look_at(&reader, &format!("g{n}")).await, [7; 1000]);
    }
    let asked = cluster.take_log().len();
    assert!(asked >= 45, "{asked}: a quarter of 40,000 bytes is room for a handful of files");
    cluster.check();
}

#[tokio::test]
async fn without_delegations_and_with_lost_replies_it_works_as_before() {
    let (cluster, reader, ..) = learned(90, |config| config.delegations = false).await;
    assert_eq!(look_at(&reader, "file").await, [1; 100]);
    assert_eq!(cluster.content(), (0, 0));
    let (cluster, reader, maker, _) = learned(91, |_| {}).await;
    for n in 0..60 {
        make(&maker, ROOT, &format!("g{n}"), &[n; 60]).await;
    }
    maker.shutdown().await.unwrap();
    let given = cluster.content().1;
    cluster.set_faults(Faults { lose_reply: 300, twice: 200, slow: 200, ..Faults::default() });
    for n in 0..60 {
        assert_eq!(look_at(&reader, &format!("g{n}")).await, [n; 60]);
    }
    cluster.set_faults(Faults::default());
    assert!(cluster.content().1 > given + 30);
    cluster.check();
}
