// SPDX-License-Identifier: Apache-2.0

//! A way to a drive, as a trait: it may be of this host or another one.

use nyala_raid::{Effect, Reply};

/// What does the effects of one drive, one after the other.
pub trait DriveAccess: Send + Sync {
    /// Where it is, for messages.
    fn location(&self) -> &str;
    /// Whether it is still where it was.
    fn is_there(&self) -> bool;
    /// Bytes in all, and free ones; none if that is not known.
    fn space(&self) -> Option<(u64, u64)>;
    /// Does an effect. What fails is logged there: the set only knows that it failed.
    fn run(&self, effect: Effect) -> Reply;
    /// The value of a key of its table, if it has one, where that is known without waiting for anything.
    fn peek(&self, key: &[u8]) -> Option<Reply> {
        let _ = key;
        None
    }
    /// Somebody else has taken the set over: it must not go on here.
    fn is_taken(&self) -> bool {
        false
    }
    /// Of a drive of another host: what changes there when something that was not synced may be lost.
    fn instance(&self) -> Option<String> {
        None
    }
}
