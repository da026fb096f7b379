// SPDX-License-Identifier: Apache-2.0

//! Who is told of what happens to sockets and counters: for each, the epolls and the descriptors by which they know it. Pure.
//!
//! Without it, each byte that arrives would be a search through what all processes of a cluster wait for.

use super::fds::Object;
use std::ffi::c_int;

/// A descriptor in an epoll.
pub type Watcher = (usize, c_int);

/// Of each object, in the order of epolls and descriptors.
#[derive(Default)]
pub struct Watchers {
    sockets: Vec<Vec<Watcher>>,
    counters: Vec<Vec<Watcher>>,
}

impl Watchers {
    fn watchers_of(&mut self, object: Object) -> Option<&mut Vec<Watcher>> {
        let (all, number) = match object {
            Object::Socket(number) => (&mut self.sockets, number),
            Object::Counter(number) => (&mut self.counters, number),
            // Nothing happens to them that another epoll would be told.
            Object::Epoll(_) => return None,
        };
        if all.len() <= number {
            all.resize(number + 1, Vec::new());
        }
        all.get_mut(number)
    }

    pub fn add(&mut self, object: Object, watcher: Watcher) {
        if let Some(known) = self.watchers_of(object)
            && let Err(at) = known.binary_search(&watcher)
        {
            known.insert(at, watcher);
        }
    }

    pub fn remove(&mut self, object: Object, watcher: Watcher) {
        if let Some(known) = self.watchers_of(object) {
            known.retain(|other| *other != watcher);
        }
    }

    /// One of an object's, by its place.
    pub fn get(&self, object: Object, at: usize) -> Option<Watcher> {
        let all = match object {
            Object::Socket(number) => self.sockets.get(number),
            Object::Counter(number) => self.counters.get(number),
            Object::Epoll(_) => None,
        };
        all?.get(at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(watchers: &Watchers, object: Object) -> Vec<Watcher> {
        (0..).map_while(|at| watchers.get(object, at)).collect()
    }

    #[test]
    fn each_object_has_its_own_in_order() {
        let (mut watchers, socket, counter) = (Watchers::default(), Object::Socket(3), Object::Counter(3));
        for watcher in [(2, 5), (0, 9), (2, 4), (2, 5)] {
            watchers.add(socket, watcher);
        }
        watchers.add(counter, (1, 1));
        watchers.add(Object::Epoll(0), (1, 2));
        assert_eq!(all(&watchers, socket), [(0, 9), (2, 4), (2, 5)]);
        assert_eq!(all(&watchers, counter), [(1, 1)]);
        watchers.remove(socket, (2, 4));
        watchers.remove(socket, (1, 1));
        assert_eq!(all(&watchers, socket), [(0, 9), (2, 5)]);
        assert!(all(&watchers, Object::Socket(70)).is_empty() && all(&watchers, Object::Epoll(0)).is_empty());
    }
}
