// SPDX-License-Identifier: Apache-2.0

//! Requests for attributes that are under way. Pure.
//!
//! The kernel throws away attributes that it asked for before it was made to forget an inode's, the size as well, and shows them to whoever asked all the same: a
//! program that was told of more bytes would then find the file's end where it was before. What this mount has changed
//! itself waits until nobody asks, and what others withdraw for a moment: they wait for it.

use std::collections::HashMap;

/// By inode.
#[derive(Debug, Default)]
pub struct AttrRequests(HashMap<u64, Asked>);

#[derive(Debug, Default)]
struct Asked {
    requests: u32,
    /// The kernel is to forget the inode's attributes when all are answered.
    forget: bool,
}

impl AttrRequests {
    /// A request came.
    pub fn begin(&mut self, ino: u64) {
        self.0.entry(ino).or_default().requests += 1;
    }

    /// Whether one is under way.
    pub fn is_asked(&self, ino: u64) -> bool {
        self.0.contains_key(&ino)
    }

    /// Its answer is with the kernel; whether it is to forget the attributes now.
    pub fn end(&mut self, ino: u64) -> bool {
        let Some(asked) = self.0.get_mut(&ino) else { return false };
        asked.requests -= 1;
        let (is_last, forget) = (asked.requests == 0, asked.forget);
        if is_last {
            self.0.remove(&ino);
        }
        is_last && forget
    }

    /// The kernel is to forget the attributes; whether at once.
    pub fn forget(&mut self, ino: u64) -> bool {
        match self.0.get_mut(&ino) {
            None => true,
            Some(asked) => {
                asked.forget = true;
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_wait_waits_for_those_that_ask() {
        let mut asked = AttrRequests::default();
        assert!(asked.forget(1), "nobody asks");
        asked.begin(1);
        asked.begin(1);
        assert!(asked.forget(2) && !asked.forget(1));
        assert!(asked.is_asked(1) && !asked.is_asked(2));
        assert!(!asked.end(1), "another one is under way");
        assert!(asked.end(1));
        asked.begin(1);
        assert!(!asked.end(1), "it was forgotten before");
        assert!(asked.0.is_empty() && !asked.end(1));
    }
}
