// SPDX-License-Identifier: Apache-2.0

//! The client that empties a target whose disk fails: one at a time gets the list of what is on it, so that no two move the same file.
//!
//! **Failure model.** A client that ends says nothing: it is taken to be gone when it has not asked for a minute, and the next one that asks takes its
//! place. After the end of the list nobody begins anew for a minute: what is left there could not be moved. A client may name another one's
//! number: it gets what every client that may use all files could find out anyway, and what it does with it is checked where it does it. After
//! a start of the service whoever asks first is the one.

use nyala_wire::storage::Stamp;
use nyala_wire::{ErrorCode, WireError};
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// Without a word for so long, a client is taken to be gone; and so long is the pause between two passes.
const PAUSE: Duration = Duration::from_secs(60);

/// A pass through the list.
#[derive(Clone, Copy, Debug)]
struct Pass {
    client: u64,
    /// When the client was heard last.
    heard: Instant,
    ended: bool,
}

/// Who empties a target.
#[derive(Debug, Default)]
pub(super) struct Evacuator(Mutex<Option<Pass>>);

impl Evacuator {
    /// Whether a client gets the list; `stamp` has its number, and does not number the request.
    pub fn admit(&self, failing: bool, stamp: Option<Stamp>, now: Instant) -> Result<(), WireError> {
        if !failing {
            return Err(ErrorCode::UNAUTHORIZED.with("clients list the chunk files of targets whose disks fail only"));
        }
        let client = stamp.map(|stamp| stamp.client).filter(|client| *client != 0);
        let client = client.ok_or_else(|| ErrorCode::BAD_MESSAGE.with("a client that lists chunk files says which"))?;
        let mut pass = self.0.lock();
        let lasts = |pass: &Pass| now.saturating_duration_since(pass.heard) < PAUSE;
        if pass.filter(lasts).is_some_and(|pass| pass.ended || pass.client != client) {
            return Err(ErrorCode::AGAIN.with("another client empties this target, or has just done what it could"));
        }
        *pass = Some(Pass { client, heard: now, ended: false });
        Ok(())
    }

    /// The list has come to its end.
    pub fn ended(&self, now: Instant) {
        if let Some(pass) = &mut *self.0.lock() {
            (pass.heard, pass.ended) = (now, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_at_a_time_empties_a_target_that_fails() {
        let (who, began) = (Evacuator::default(), Instant::now());
        let at = |after: u64| began + Duration::from_secs(after);
        let asks = |failing, client, after: u64| {
            let stamp = (client != 99).then_some(Stamp { client, ..Stamp::default() });
            who.admit(failing, stamp, at(after)).map_err(|error| error.code)
        };
        let again = Err(ErrorCode::AGAIN);
        assert_eq!(asks(false, 1, 0), Err(ErrorCode::UNAUTHORIZED));
        assert_eq!((asks(true, 99, 0), asks(true, 0, 0)), (Err(ErrorCode::BAD_MESSAGE), Err(ErrorCode::BAD_MESSAGE)));
        assert_eq!((asks(true, 1, 0), asks(true, 2, 1)), (Ok(()), again));
        assert_eq!((asks(true, 1, 50), asks(true, 2, 109)), (Ok(()), again), "it is heard again");
        assert_eq!((asks(true, 2, 110), asks(true, 1, 111)), (Ok(()), again), "it was silent");
        who.ended(at(120));
        assert_eq!((asks(true, 2, 179), asks(true, 1, 179)), (again, again), "nothing is left to do");
        assert_eq!(asks(true, 1, 180), Ok(()));
    }
}
