// SPDX-License-Identifier: Apache-2.0

//! Numbers of open files and directories.

use crate::{Errno, Fh};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Things that are open, by the number that the kernel knows them by.
pub struct Handles<T> {
    next: AtomicU64,
    open: RwLock<HashMap<u64, T>>,
}

impl<T: Clone> Handles<T> {
    /// None yet.
    pub fn new() -> Handles<T> {
        Handles { next: AtomicU64::new(1), open: RwLock::default() }
    }

    /// Gives a number that was never used before.
    pub fn add(&self, thing: T) -> Fh {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.open.write().insert(number, thing);
        Fh(number)
    }

    /// What is open under a number.
    pub fn get(&self, fh: Fh) -> Result<T, Errno> {
        self.open.read().get(&fh.0).cloned().ok_or(Errno::EBADF)
    }

    /// Takes it out.
    pub fn remove(&self, fh: Fh) -> Result<T, Errno> {
        self.open.write().remove(&fh.0).ok_or(Errno::EBADF)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_not_reused() {
        let handles = Handles::new();
        let first = handles.add('a');
        assert_eq!(handles.get(first), Ok('a'));
        assert_eq!(handles.remove(first), Ok('a'));
        assert_ne!(handles.add('b'), first);
        assert_eq!(handles.get(first), Err(Errno::EBADF));
    }
}
