// SPDX-License-Identifier: Apache-2.0

//! Locks exclude: while a client has one, no other has. A client that was away for longer than a session's timeout has it no
//! more, though it may not know yet. Pure.

use super::ClientId;

/// Who is inside.
#[derive(Default)]
pub struct Inside(Vec<ClientId>);

impl Inside {
    /// A client was given the lock.
    pub fn enter(&mut self, client: ClientId) -> Option<String> {
        let other = self.0.first().copied();
        self.0.push(client);
        other.map(|other| format!("{client} was given the lock that {other} has"))
    }

    /// It gives it up, or may have lost it.
    pub fn leave(&mut self, client: ClientId) {
        self.0.retain(|other| *other != client);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_inside() {
        let mut inside = Inside::default();
        assert_eq!(inside.enter(1), None);
        assert!(inside.enter(2).is_some());
        inside.leave(1);
        inside.leave(2);
        assert_eq!(inside.enter(2), None);
    }
}
