// SPDX-License-Identifier: Apache-2.0

//! The lock of where a file's data is: one at a time moves it (to be encoded, to be written to, to other targets), or sets its size.
//!
//! A move takes long, and nobody here waits for it who is about to change the file: it looks whether there is somebody
//! ([`MoveLock::is_wanted`]), and gives up.

use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Mutex, MutexGuard};

#[derive(Debug, Default)]
pub(crate) struct MoveLock {
    lock: Mutex<()>,
    /// Those that wait for it to change the file.
    changing: AtomicUsize,
}

/// One of those that wait; also when it stops waiting.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl MoveLock {
    /// For who moves data and gives way.
    pub(crate) async fn to_move(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().await
    }

    /// For who is about to change the file: a move gives way.
    pub(crate) async fn to_change(&self) -> MutexGuard<'_, ()> {
        self.changing.fetch_add(1, Ordering::AcqRel);
        let _waiting = Waiting(&self.changing);
        self.lock.lock().await
    }

    /// Whether somebody waits for it to change the file.
    pub(crate) fn is_wanted(&self) -> bool {
        self.changing.load(Ordering::Acquire) > 0
    }

    /// Waits until nobody has it.
    pub(crate) async fn wait(&self) {
        if self.lock.try_lock().is_err() {
            drop(self.lock.lock().await);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_waits_to_change_is_seen_until_it_has_the_lock_or_gives_up() {
        let lock = MoveLock::default();
        let held = lock.to_move().await;
        let change = lock.to_change();
        tokio::pin!(change);
        tokio::select! {
            biased;
            _ = &mut change => panic!("it is held"),
            () = std::future::ready(()) => {}
        }
        assert!(lock.is_wanted());
        drop(held);
        let changing = change.await;
        assert!(!lock.is_wanted());
        {
            let second = lock.to_change();
            tokio::pin!(second);
            tokio::select! {
                biased;
                _ = &mut second => panic!("it is held"),
                () = std::future::ready(()) => {}
            }
            assert!(lock.is_wanted());
        }
        assert!(!lock.is_wanted(), "it was given up");
        drop(changing);
        lock.wait().await;
    }
}
