// SPDX-License-Identifier: Apache-2.0

//! Waits without servers: tables in memory, waits and time that are moved by hand.

use super::*;
use LockKind::{Read, Unlock, Write};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

const FILE: InodeId = InodeId(5);
const OTHER: InodeId = InodeId(6);

/// A server, and the one that it asks.
#[derive(Default)]
struct Server {
    waits: LockWaits,
    tables: RefCell<HashMap<InodeId, FileLocks>>,
    peer: RefCell<Option<Rc<Server>>>,
    asked: Cell<u32>,
    now: Rc<Cell<Duration>>,
    /// Done while it is asked, the first time.
    meanwhile: RefCell<Option<Box<dyn FnOnce()>>>,
}

impl Around for Rc<Server> {
    fn locks(&self, inode: InodeId) -> Result<FileLocks, WireError> {
        Ok(self.tables.borrow().get(&inode).cloned().unwrap_or_default())
    }

    async fn others(&self) -> Vec<LockEdge> {
        self.asked.set(self.asked.get() + 1);
        let peer = self.peer.borrow().clone();
        let edges = peer.map_or_else(Vec::new, |peer| peer.waits.edges(&peer));
        if let Some(meanwhile) = self.meanwhile.borrow_mut().take() {
            meanwhile();
        }
        edges
    }

    fn now(&self) -> Duration {
        self.now.get()
    }

    async fn sleep(&self, time: Duration) {
        let until = self.now.get() + time;
        // Who waits is polled by hand after the time was moved.
        std::future::poll_fn(|_| if self.now.get() >= until { Poll::Ready(()) } else { Poll::Pending }).await;
    }
}

impl Server {
    fn later(&self, ms: u64) {
        self.now.set(self.now.get() + Duration::from_millis(ms));
    }

    fn set(&self, owner: u64, inode: InodeId, lock: FileLock) -> bool {
        let mut tables = self.tables.borrow_mut();
        let took = tables.entry(inode).or_default().set(SessionId(owner), &lock).is_ok();
        drop(tables);
        if took {
            self.waits.applied(SessionId(owner), inode, &lock);
        }
        took
    }
}

fn lock(owner: u64, kind: LockKind, start: u64, end: u64) -> FileLock {
    FileLock { owner, pid: 1, kind, flock: false, start, end }
}

fn pair() -> (Rc<Server>, Rc<Server>) {
    let a = Rc::new(Server::default());
    let b = Rc::new(Server { now: a.now.clone(), ..Server::default() });
    *a.peer.borrow_mut() = Some(b.clone());
    *b.peer.borrow_mut() = Some(a.clone());
    (a, b)
}

/// Session `owner` waits for a lock; sessions and owners have the same numbers here.
fn wait(server: &Rc<Server>, owner: u64, inode: InodeId, lock: FileLock) -> Pin<Box<dyn Future<Output = Answer>>> {
    let server = server.clone();
    Box::pin(async move { server.waits.wait(SessionId(owner), inode, lock, &server).await.map_err(|error| error.code) })
}

type Answer = Result<MetaReply, ErrorCode>;

fn poll(wait: &mut Pin<Box<dyn Future<Output = Answer>>>) -> Option<Answer> {
    match wait.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

#[test]
fn answered_at_once_or_when_the_lock_goes_or_when_patience_ends() {
    let server = Rc::new(Server::default());
    assert_eq!(poll(&mut wait(&server, 1, FILE, lock(1, Write, 0, 9))), Some(Ok(MetaReply::Done)));
    assert!(server.set(2, FILE, lock(2, Read, 5, 5)));
    let (mut writer, mut patient) =
        (wait(&server, 1, FILE, lock(1, Write, 0, 9)), wait(&server, 3, FILE, lock(3, Write, 5, 6)));
    assert_eq!((poll(&mut writer), poll(&mut patient)), (None, None));
    assert!(server.set(3, FILE, lock(3, Read, 5, 6)), "the patient one takes what it can get");
    server.set(2, FILE, lock(2, Unlock, 0, 9));
    assert_eq!(poll(&mut writer), None, "another reader is left");
    assert_eq!(poll(&mut patient), Some(Ok(MetaReply::Done)));
    server.later(4_990);
    assert_eq!(poll(&mut writer), None);
    server.later(20);
    assert_eq!(poll(&mut writer), Some(Ok(MetaReply::Done)));
    drop((writer, patient));
    assert!(server.waits.is_empty() && server.waits.waits.borrow().by_owner.is_empty());
    assert!(server.waits.waits.borrow().bells.is_empty());
}

#[test]
fn what_cannot_be_waited_for() {
    let server = Rc::new(Server::default());
    let refused = |lock| poll(&mut wait(&server, 1, FILE, lock));
    assert_eq!(refused(lock(1, Read, 2, 1)), Some(Err(ErrorCode::INVALID)));
}

#[test]
fn who_closes_a_circle_is_refused_and_the_others_go_on() {
    let server = Rc::new(Server::default());
    for owner in 1..=3 {
        assert!(server.set(owner, FILE, lock(owner, Write, owner, owner)));
    }
    let mut first = wait(&server, 1, FILE, lock(1, Write, 2, 2));
    let mut second = wait(&server, 2, FILE, lock(2, Read, 3, 3));
    assert_eq!((poll(&mut first), poll(&mut second)), (None, None));
    let mut third = wait(&server, 3, FILE, lock(3, Write, 0, 1));
    assert_eq!(poll(&mut third), Some(Err(ErrorCode::DEADLOCK)));
    assert_eq!((poll(&mut first), poll(&mut second)), (None, None));
    server.set(3, FILE, lock(3, Unlock, 0, u64::MAX));
    assert_eq!(poll(&mut second), Some(Ok(MetaReply::Done)));
}

#[test]
fn a_circle_that_a_new_holder_closes_is_found_by_who_waits_for_it() {
    let server = Rc::new(Server::default());
    server.set(1, FILE, lock(1, Write, 1, 1));
    server.set(3, FILE, lock(3, Read, 2, 2));
    let mut first = wait(&server, 1, FILE, lock(1, Write, 2, 2));
    let mut second = wait(&server, 2, FILE, lock(2, Write, 1, 1));
    assert_eq!((poll(&mut first), poll(&mut second)), (None, None));
    // A second thread of the waiting process.
    server.set(2, FILE, lock(2, Read, 2, 2));
    let answers = (poll(&mut first), poll(&mut second));
    assert!(matches!(answers, (Some(Err(ErrorCode::DEADLOCK)), None)), "{answers:?}");
}

#[test]
fn who_gave_up_closes_no_circle() {
    let server = Rc::new(Server::default());
    server.set(1, FILE, lock(1, Write, 1, 1));
    server.set(2, FILE, lock(2, Write, 2, 2));
    let mut first = wait(&server, 1, FILE, lock(1, Write, 2, 2));
    assert_eq!(poll(&mut first), None);
    server.set(1, FILE, lock(1, Unlock, 3, 9));
    assert_eq!(poll(&mut first), None, "something else was given up");
    // Interrupted: its client says so, and keeps what it has.
    assert_eq!(poll(&mut wait(&server, 1, FILE, lock(1, Unlock, 2, 2))), Some(Ok(MetaReply::Done)));
    let mut second = wait(&server, 2, FILE, lock(2, Write, 1, 1));
    assert_eq!(poll(&mut second), None);
    assert_eq!(poll(&mut first), Some(Ok(MetaReply::Done)));
    assert_eq!(server.locks(FILE).unwrap().all().len(), 2, "nobody lost a lock");
    let mut again = wait(&server, 1, FILE, lock(1, Write, 3, 3));
    server.set(2, FILE, lock(2, Write, 3, 3));
    server.waits.forget(SessionId(2));
    assert_eq!(poll(&mut second), Some(Ok(MetaReply::Done)), "its session has ended");
    assert_eq!(poll(&mut again), None);
}

#[test]
fn flock_waits_without_a_search_for_circles() {
    let server = Rc::new(Server::default());
    let flock = |owner, kind| FileLock { flock: true, ..lock(owner, kind, 0, u64::MAX) };
    server.set(1, FILE, flock(1, Write));
    server.set(2, OTHER, flock(2, Write));
    let (mut first, mut second) = (wait(&server, 1, OTHER, flock(1, Write)), wait(&server, 2, FILE, flock(2, Write)));
    assert_eq!((poll(&mut first), poll(&mut second)), (None, None));
    server.later(4_000);
    assert_eq!((poll(&mut first), poll(&mut second)), (None, None));
    assert_eq!(server.asked.get(), 0);
    server.set(1, FILE, flock(1, Unlock));
    assert_eq!(poll(&mut second), Some(Ok(MetaReply::Done)));
}

#[test]
fn a_circle_over_two_servers_has_one_victim() {
    for (low_waits_first, low_first) in [(true, true), (true, false), (false, true), (false, false)] {
        let (a, b) = pair();
        a.set(2, FILE, lock(2, Write, 0, 0));
        b.set(1, OTHER, lock(1, Write, 0, 0));
        let (mut low, mut high) = (wait(&a, 1, FILE, lock(1, Write, 0, 0)), wait(&b, 2, OTHER, lock(2, Write, 0, 0)));
        if low_waits_first {
            assert_eq!(poll(&mut low), None);
            a.later(300);
        }
        assert_eq!(poll(&mut high), None);
        assert_eq!(poll(&mut low), None);
        a.later(1_001);
        let answers = match low_first {
            true => (poll(&mut low), poll(&mut high)),
            false => {
                let high = poll(&mut high);
                (poll(&mut low), high)
            }
        };
        assert_eq!(answers, (None, Some(Err(ErrorCode::DEADLOCK))));
        b.set(1, OTHER, lock(1, Unlock, 0, 0));
    }
}

#[test]
fn edges_of_different_moments_are_no_circle() {
    let (a, b) = pair();
    a.set(1, FILE, lock(1, Write, 0, 0));
    b.set(2, OTHER, lock(2, Write, 0, 0));
    let mut other = wait(&b, 1, OTHER, lock(1, Write, 0, 0));
    let mut me = wait(&a, 2, FILE, lock(2, Write, 0, 0));
    assert_eq!((poll(&mut other), poll(&mut me)), (None, None));
    // While it is asked, the other server's wait ends and another one begins: the circle is not sure.
    let other = Rc::new(RefCell::new(Some(other)));
    let (taken, server) = (other.clone(), b.clone());
    let next = Rc::new(RefCell::new(None));
    let began = next.clone();
    *a.meanwhile.borrow_mut() = Some(Box::new(move || {
        drop(taken.borrow_mut().take());
        let guard = server.waits.next.get();
        server.waits.next.set(guard + 1);
        *began.borrow_mut() = Some(wait(&server, 1, OTHER, lock(1, Write, 0, 0)));
    }));
    a.later(1_001);
    assert_eq!(poll(&mut me), None);
    assert_eq!(a.asked.get(), 2, "asked again to be sure");
    let mut next = next.borrow_mut().take().expect("it was asked");
    assert_eq!(poll(&mut next), None);
    a.later(1_000);
    assert_eq!(poll(&mut me), Some(Err(ErrorCode::DEADLOCK)), "this time it lasts");
}
