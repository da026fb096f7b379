// SPDX-License-Identifier: Apache-2.0

//! Delegations that come and go: withdrawals, silent and restarted servers, ended sessions, too many of them.

use crate::fake::{Cluster, Faults, ROOT, STORAGE_TARGETS, make, read, two, within};
use nyala_client::{CacheListener, FileEnd, OpenOptions, Withdraw};
use nyala_wire::InodeId;
use nyala_wire::meta::{DelegationMode, SetAttr};
use parking_lot::Mutex;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// A layer above that keeps nothing, and whose withdrawals can be made to wait.
#[derive(Default)]
struct Above {
    asked: Mutex<Vec<(InodeId, Withdraw)>>,
    /// The next withdrawal of content waits for this.
    blocked: Mutex<Option<Arc<Notify>>>,
    /// When one began to wait.
    waits_since: Mutex<Option<Instant>>,
    behind: Mutex<Vec<(InodeId, u64)>>,
    /// It takes files for shorter than that, bytes.
    lacks_above: Mutex<Option<u64>>,
    ends: Mutex<Vec<(InodeId, FileEnd)>>,
}

impl CacheListener for Above {
    fn lacks_end(&self, _: InodeId, size: u64) -> bool {
        self.lacks_above.lock().is_some_and(|known| size > known)
    }

    fn note_end(&self, inode: InodeId, end: FileEnd) {
        assert!(self.asked.lock().iter().all(|(asked, _)| *asked != inode), "it comes before the withdrawal");
        self.ends.lock().push((inode, end));
    }

    fn withdraw(&self, inode: InodeId, what: Withdraw) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.asked.lock().push((inode, what));
        let blocked = self.blocked.lock().take();
        if blocked.is_some() {
            *self.waits_since.lock() = Some(Instant::now());
        }
        Box::pin(async move {
            if let Some(blocked) = blocked {
                blocked.notified().await;
            }
        })
    }

    fn withdraw_behind(&self, inode: InodeId, from: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.behind.lock().push((inode, from));
        Box::pin(async {})
    }
}

#[tokio::test]
async fn a_new_file_is_open_without_saying_so_until_somebody_asks_or_its_reply_is_lost() {
    let (cluster, one, two) = two(47).await;
    let held = |inode| cluster.is_held(inode);
    let new = make(&one, "new").await;
    assert!(!held(new.inode()), "nobody has to be told");
    assert_eq!(new.write(0, b"words").await.unwrap(), 5);
    within(two.unlink(ROOT, b"new")).await.unwrap();
    assert!(held(new.inode()), "its holder has said so");
    assert_eq!(within(read(&new, 0, 9)).await, b"words");
    new.release().await.unwrap();
    cluster.set_faults(Faults { lose_reply: 500, ..Faults::default() });
    let mut files = Vec::new();
    for n in 0..20 {
        files.push(make(&one, &format!("lost{n}")).await);
    }
    cluster.set_faults(Faults::default());
    let noted = files.iter().filter(|file| held(file.inode())).count();
    assert!((1..20).contains(&noted), "{noted}: those whose reply was sent again, which brings no delegation");
    for (n, file) in files.iter().enumerate() {
        within(two.unlink(ROOT, format!("lost{n}").as_bytes())).await.unwrap();
        assert!(within(read(file, 0, 1)).await.is_empty());
    }
    for file in files {
        file.release().await.unwrap();
    }
    one.shutdown().await.unwrap();
    cluster.check();
}

#[tokio::test]
async fn a_withdrawal_that_waits_for_an_operation_at_the_gate_is_let_through_and_done_again() {
    let (cluster, one, two) = two(48).await;
    let above = Arc::new(Above::default());
    one.set_listener(above.clone());
    for (number, write) in [false, true].into_iter().enumerate() {
        let handle = make(&two, &format!("f{number}")).await;
        handle.write(0, &vec![1; 100_000]).await.unwrap();
        handle.flush().await.unwrap();
        let inode = handle.inode();
        let mine = one.open(inode, OpenOptions { buffered: true, ..OpenOptions::default() }).await.unwrap();
        assert_eq!(read(&mine, 0, 10).await, [1; 10]);
        above.asked.lock().clear();
        let locked = Arc::new(Notify::new());
        *above.blocked.lock() = Some(locked.clone());
        // The other client's write needs the delegation back; the layer above cannot forget before the page is read or written.
        let other = async { handle.write(50, &[2; 10]).await.unwrap() };
        let blocked = async {
            while above.asked.lock().is_empty() {
                // sleeps: between two looks
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            assert_eq!(one.delegation(inode), DelegationMode::None, "nothing may be kept that is on its way back");
            if write {
                mine.write(10, &[3; 10]).await.unwrap();
                assert_eq!(*above.behind.lock(), [(inode, 20)], "what it does not hold itself is forgotten before");
            } else {
                assert_eq!(read(&mine, 0, 60).await, [1; 60]);
            }
            // The gate opens after five: however late this comes to ask, on a busy machine, it is not let through before.
            let waited = above.waits_since.lock().expect("it waits").elapsed();
            assert!(waited >= Duration::from_millis(4), "the gate was open after {waited:?}");
            locked.notify_one();
        };
        within(async { tokio::join!(other, blocked) }).await;
        let asked = above.asked.lock().iter().filter(|(asked, what)| *asked == inode && what.data).count();
        assert!(asked >= 2, "asked {asked} times");
        let mut model = vec![1; 100_000];
        model[50..60].fill(2);
        if write {
            model[10..20].fill(3);
        }
        assert!(read(&mine, 0, 100_000).await == model);
        assert!(read(&handle, 0, 100_000).await == model);
    }
    cluster.check();
}

/// Content with the metadata, on storage, and not sent yet.
#[tokio::test]
async fn a_layer_above_that_takes_a_file_for_shorter_hears_how_it_ends_before_it_is_to_forget() {
    let (cluster, one, two) = two(52).await;
    for (number, (len, sent, known)) in
        [(90, true, 0), (100_000, true, 99_999), (70_000, false, 0), (100_000, true, 100_000), (0, true, 0)]
            .into_iter()
            .enumerate()
    {
        let above = Arc::new(Above::default());
        *above.lacks_above.lock() = Some(known);
        one.set_listener(above.clone());
        let file = make(&one, &format!("f{number}")).await;
        let content: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
        file.write(0, &content).await.unwrap();
        if sent {
            file.fsync(false).await.unwrap();
        }
        let other = within(two.open(file.inode(), OpenOptions::default())).await.unwrap();
        other.write(len, b"more").await.unwrap();
        let end = content.last().map(|last| (file.inode(), FileEnd { size: len, last: *last }));
        assert_eq!(*above.ends.lock(), Vec::from_iter(end.filter(|_| len > known)), "of {len} bytes");
        assert!(above.asked.lock().iter().any(|(asked, what)| *asked == file.inode() && what.data));
    }
    cluster.check();
}

/// Its storage targets do not answer: it forgets all the same, and soon.
#[tokio::test]
async fn a_layer_above_is_made_to_forget_a_file_whose_end_cannot_be_read() {
    let (cluster, one, two) = two(53).await;
    let above = Arc::new(Above::default());
    *above.lacks_above.lock() = Some(0);
    one.set_listener(above.clone());
    let file = make(&one, "file").await;
    file.write(0, &vec![1; 100_000]).await.unwrap();
    file.fsync(false).await.unwrap();
    let inode = file.inode();
    file.release().await.unwrap();
    let again = one.open(inode, OpenOptions { buffered: true, ..OpenOptions::default() }).await.unwrap();
    cluster.0.lock().down = (3..=2 + STORAGE_TARGETS).collect();
    within(two.setattr(inode, SetAttr { perm: Some(0o600), ..SetAttr::default() })).await.unwrap();
    assert!(above.ends.lock().is_empty() && above.asked.lock().iter().any(|(asked, _)| *asked == inode));
    cluster.0.lock().down.clear();
    assert_eq!(read(&again, 99_999, 9).await, [1]);
    cluster.check();
}

#[tokio::test]
async fn delegations_of_a_silent_server_are_not_used_and_what_was_written_arrives_later() {
    let (cluster, one, two) = two(49).await;
    let handle = make(&one, "file").await;
    handle.write(0, b"written").await.unwrap();
    let inode = handle.inode();
    one.lookup_entry(ROOT, b"file").await.unwrap();
    assert_eq!(one.delegation(inode), DelegationMode::Exclusive);
    let above = Arc::new(Above::default());
    one.set_listener(above.clone());
    cluster.0.lock().down = vec![1];
    // sleeps: delegations are good no longer after that
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(one.delegation(inode), DelegationMode::None);
    assert!(above.asked.lock().iter().any(|(asked, _)| *asked == inode));
    cluster.0.lock().down.clear();
    let other = within(two.open(inode, OpenOptions::default())).await.unwrap();
    assert_eq!(read(&other, 0, 100).await, b"written");
    handle.write(7, b" more").await.unwrap();
    assert_eq!(read(&other, 0, 100).await, b"written more");
    handle.fsync(false).await.unwrap();
    cluster.check();
}

#[tokio::test]
async fn an_ended_session_loses_what_was_not_sent_and_says_so() {
    let cluster = Cluster::new(50);
    let mut config = cluster.config();
    config.max_dirty_age = Duration::from_secs(60);
    let one = cluster.client_with(config).await;
    let (small, big, clean) = (make(&one, "small").await, make(&one, "big").await, make(&one, "clean").await);
    clean.write(0, b"sent").await.unwrap();
    clean.fsync(false).await.unwrap();
    small.write(0, b"lost").await.unwrap();
    big.write(0, &[1; 10_000]).await.unwrap();
    cluster.forget_sessions();
    let error = within(async {
        loop {
            match small.fsync(false).await {
                Err(error) => return error,
                // sleeps: between two looks
                Ok(()) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    });
    assert_eq!(error.await.errno(), 5);
    assert_eq!(big.fsync(false).await.unwrap_err().errno(), 5);
    clean.fsync(false).await.unwrap();
    // Everything goes on, under a session that storage takes data from.
    big.write(0, &[2; 100_000]).await.unwrap();
    big.fsync(false).await.unwrap();
    small.write(0, b"new").await.unwrap();
    small.fsync(false).await.unwrap();
    let two = cluster.client().await;
    let other = two.open(big.inode(), OpenOptions::default()).await.unwrap();
    assert!(read(&other, 0, 200_000).await == [2; 100_000]);
    assert_eq!(one.stats().dirty_bytes, 0);
    cluster.check();
}

#[tokio::test]
async fn a_sign_of_life_opens_no_session() {
    let cluster = Cluster::new(54);
    let client = cluster.client().await;
    client.lookup(ROOT, b"nothing").await.unwrap_err();
    let opened = cluster.0.lock().seen.openings;
    let quiet = within(async {
        while cluster.0.lock().seen.signs_of_life < 3 {
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    quiet.await;
    // One that has ended in between would be there again, under the id whose delegations are others' by now.
    assert_eq!(cluster.0.lock().seen.openings, opened);
    cluster.forget_sessions();
    let noticed = within(async {
        while cluster.0.lock().seen.openings == opened {
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    noticed.await;
    client.lookup(ROOT, b"nothing").await.unwrap_err();
    assert_eq!(cluster.0.lock().seen.openings, opened + 1);
    cluster.check();
}

#[tokio::test]
async fn a_restarted_server_is_told_what_is_dirty_and_open_before_it_goes_on() {
    let cluster = Cluster::new(51);
    let mut config = cluster.config();
    config.max_dirty_age = Duration::from_secs(60);
    let (one, two) = (cluster.client_with(config).await, cluster.client().await);
    let (small, big) = (make(&one, "small").await, make(&one, "big").await);
    let opened = make(&two, "opened").await;
    opened.release().await.unwrap();
    let implicit = one.open(one.lookup(ROOT, b"opened").await.unwrap().inode, OpenOptions::default()).await.unwrap();
    small.write(0, b"small").await.unwrap();
    big.write(0, &[7; 100_000]).await.unwrap();
    cluster.restart_meta();
    let a = within(two.open(small.inode(), OpenOptions::default())).await.unwrap();
    assert_eq!(read(&a, 0, 100).await, b"small");
    let b = two.open(big.inode(), OpenOptions::default()).await.unwrap();
    assert!(read(&b, 0, 200_000).await == [7; 100_000]);
    two.unlink(ROOT, b"opened").await.unwrap();
    assert_eq!(read(&implicit, 0, 10).await, b"");
    assert!(cluster.exists(implicit.inode()));
    small.write(5, b"!").await.unwrap();
    assert_eq!(read(&a, 0, 100).await, b"small!");
    cluster.check();
}

#[tokio::test]
async fn surplus_delegations_go_back() {
    let cluster = Cluster::new(52);
    let mut config = cluster.config();
    config.max_kept_inodes = 32;
    config.max_kept_entries = 40;
    let (one, two) = (cluster.client_with(config).await, cluster.client().await);
    let mut files = Vec::new();
    for number in 0..100 {
        files.push(make(&two, &format!("f{number}")).await);
    }
    for number in 0..100 {
        one.lookup(ROOT, format!("f{number}").as_bytes()).await.unwrap();
    }
    let few = async {
        while files.iter().filter(|file| one.delegation(file.inode()) != DelegationMode::None).count() > 32
            || cluster.0.lock().seen.returns < 60
        {
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within(few).await;
    for (number, file) in files.iter().enumerate() {
        let set = SetAttr { perm: Some(number as u16), ..SetAttr::default() };
        two.setattr(file.inode(), set).await.unwrap();
        assert_eq!(one.getattr(file.inode()).await.unwrap().perm, number as u16);
    }
    cluster.check();
}

/// A layer above that keeps something of everything, and needs a while to forget it.
#[derive(Default)]
struct SlowToForget {
    now: Arc<AtomicUsize>,
    most: AtomicUsize,
    all: AtomicUsize,
}

impl CacheListener for SlowToForget {
    fn withdraw(&self, _: InodeId, _: Withdraw) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed);
        self.all.fetch_add(1, Ordering::Relaxed);
        let done = self.now.clone();
        Box::pin(async move {
            // sleeps: what takes time
            tokio::time::sleep(Duration::from_millis(20)).await;
            done.fetch_sub(1, Ordering::Relaxed);
        })
    }

    fn withdraw_behind(&self, _: InodeId, _: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::ready(()))
    }
}

/// A listing brings more delegations than are kept: few are waited for at a time, however many have to go.
#[tokio::test]
async fn a_large_listing_makes_few_wait_at_a_time() {
    let cluster = Cluster::new(54);
    let mut config = cluster.config();
    config.max_kept_inodes = 64;
    let (one, two) = (cluster.client_with(config).await, cluster.client().await);
    let slow = Arc::new(SlowToForget::default());
    one.set_listener(slow.clone());
    let mut files = Vec::new();
    for number in 0..1500 {
        let file = make(&two, &format!("f{number}")).await;
        files.push(file.inode());
        file.release().await.unwrap();
    }
    // Nobody else holds them any more.
    two.shutdown().await.unwrap();
    let mut after = 0;
    loop {
        let listing = one.readdir(ROOT, after, 500, true).await.unwrap();
        match listing.entries.last() {
            Some(last) if !listing.end => after = last.cookie,
            _ => break,
        }
    }
    let held = || files.iter().filter(|file| one.delegation(**file) != DelegationMode::None).count();
    let few = async {
        while held() > 64 {
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within(few).await;
    let [most, all] = [&slow.most, &slow.all].map(|count| count.load(Ordering::Relaxed));
    assert!(most <= 256 && all >= 1000, "{most} at a time, {all} in all");
    cluster.check();
}

#[tokio::test]
async fn once_many_names_were_not_there_all_are_known() {
    let (cluster, one, two) = two(53).await;
    let lookups = || cluster.0.lock().seen.log.iter().filter(|op| op.starts_with("Lookup")).count();
    for number in 0..300 {
        make(&two, &format!("f{number}")).await.release().await.unwrap();
    }
    let before = lookups();
    for number in 0..100 {
        let name = format!("g{number}");
        assert!(one.lookup(ROOT, name.as_bytes()).await.is_err());
        make(&one, &name).await.release().await.unwrap();
        one.lookup(ROOT, name.as_bytes()).await.unwrap();
    }
    assert!((16..40).contains(&(lookups() - before)), "{}", lookups() - before);
    make(&two, "g100").await.release().await.unwrap();
    within(one.lookup(ROOT, b"g100")).await.expect("others' names are seen");
    one.lookup(ROOT, b"f299").await.unwrap();
    cluster.check();
}
