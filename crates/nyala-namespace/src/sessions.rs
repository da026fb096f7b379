// SPDX-License-Identifier: Apache-2.0

//! Who is known, since when, and which of their requests may still change something. Pure: time is an argument.
//!
//! Failure model: a client may vanish, come back after its session ended, repeat requests late, or say less than it
//! could. This server may be stopped for a while or lose its lease: nobody could be heard then, so that time does not
//! count against anybody. A request that was under way when its session ended must not change anything any more, even if
//! the same session has been opened again: its client repeats it with a new sequence number.
//! This server may lose power: a session's record is on disk before its client hears that it is open, or the next run would
//! give its delegations to others without a fence. If the end of one is lost, all that others did since is lost with it: it ends again.

use crate::keys::REPLY_WINDOW;
use nyala_wire::meta::MetaRequest;
use nyala_wire::{ErrorCode, SessionId, WireError};
use std::collections::{BTreeSet, HashMap};

/// Longer between two looks than this means that this process did not run.
const STALL_MS: u64 = 3_000;

#[derive(Debug)]
struct Live {
    seen_ms: u64,
    /// Which opening of this session it is.
    opening: u64,
    acked_below: u64,
    /// Largest sequence number that was heard since the session was opened.
    heard: u64,
    /// Changes that were refused since another server does them now: a late copy must not be done here after all.
    refused: BTreeSet<u64>,
}

/// A request's leave to change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leave {
    session: SessionId,
    sequence: u64,
    opening: u64,
    new: bool,
}

impl Leave {
    /// Of the server itself, for what it does by itself.
    pub const OWN: Leave = Leave { session: SessionId(0), sequence: 0, opening: 0, new: true };

    /// Whether this is surely the first copy of the request, so that no reply to it can have been kept.
    pub fn is_new(self) -> bool {
        self.new
    }
}

/// The sessions of a server. Times are milliseconds of a monotonic clock.
#[derive(Debug, Default)]
pub struct Sessions {
    live: HashMap<SessionId, Live>,
    /// Sessions whose end is under way (true) or has to be tried again.
    ending: HashMap<SessionId, bool>,
    openings: u64,
    looked_ms: u64,
    /// Silence counts from here at the earliest.
    counting_from_ms: u64,
}

impl Sessions {
    /// Number of live sessions.
    pub fn len(&self) -> usize {
        self.live.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// Opens a session or keeps it alive; whether it was known. NOT_READY while its end is under way.
    pub fn open(&mut self, session: SessionId, now_ms: u64) -> Result<bool, WireError> {
        if session.0 == 0 {
            return Err(ErrorCode::INVALID.with("session 0 is nobody's"));
        }
        if self.ending.contains_key(&session) {
            return Err(ErrorCode::NOT_READY.with("the session is being ended; open it again in a moment"));
        }
        if let Some(live) = self.live.get_mut(&session) {
            live.seen_ms = now_ms;
            return Ok(true);
        }
        self.openings += 1;
        self.live.insert(
            session,
            Live { seen_ms: now_ms, opening: self.openings, acked_below: 0, heard: 0, refused: BTreeSet::new() },
        );
        Ok(false)
    }

    /// Takes up a session of an earlier run. What was heard then is not known.
    pub fn take_up(&mut self, session: SessionId, now_ms: u64) {
        self.openings += 1;
        let (opening, refused) = (self.openings, BTreeSet::new());
        let live = Live { seen_ms: now_ms, opening, acked_below: 0, heard: u64::MAX, refused };
        self.live.insert(session, live);
    }

    /// Whether it is open, or on its way to its end.
    pub fn is_known(&self, session: SessionId) -> bool {
        self.live.contains_key(&session) || self.ending.contains_key(&session)
    }

    /// A session could not be opened after all, or all that it held is another one's.
    pub fn forget(&mut self, session: SessionId) {
        self.live.remove(&session);
    }

    /// Hears a request: STALE_SESSION if its session is not known, BAD_MESSAGE if its client has given it up.
    pub fn hear(&mut self, request: &MetaRequest, now_ms: u64) -> Result<Leave, WireError> {
        let live = self.live.get_mut(&request.session).ok_or_else(stale)?;
        live.seen_ms = now_ms;
        if request.acked_below > live.acked_below {
            live.acked_below = request.acked_below;
            live.refused = live.refused.split_off(&request.acked_below);
        }
        let new = request.sequence > live.heard;
        live.heard = live.heard.max(request.sequence);
        let leave = Leave { session: request.session, sequence: request.sequence, opening: live.opening, new };
        self.check(leave)?;
        Ok(leave)
    }

    /// Leave for a change that this session's client was told is done: it has the reply, and the change is done again.
    pub fn again(&self, session: SessionId) -> Result<Leave, WireError> {
        let live = self.live.get(&session).ok_or_else(stale)?;
        Ok(Leave { session, sequence: 0, opening: live.opening, new: false })
    }

    /// Whether a request may still change something, asked at the moment when it does.
    pub fn check(&self, leave: Leave) -> Result<(), WireError> {
        if leave == Leave::OWN {
            return Ok(());
        }
        let live = self.live.get(&leave.session).filter(|live| live.opening == leave.opening).ok_or_else(stale)?;
        if leave.sequence != 0 && leave.sequence < live.acked_below {
            return Err(ErrorCode::BAD_MESSAGE.with("the client has the reply to this request or has given it up"));
        }
        if !live.refused.is_empty() && live.refused.contains(&leave.sequence) {
            return Err(ErrorCode::WRONG_SERVER.with("this request was refused, since another server does it"));
        }
        Ok(())
    }

    /// A change is refused for good: its client does it at another server.
    pub fn refuse(&mut self, leave: Leave) {
        let live = self.live.get_mut(&leave.session).filter(|live| live.opening == leave.opening);
        let Some(live) = live.filter(|live| leave.sequence != 0 && leave.sequence >= live.acked_below) else { return };
        if live.refused.len() < REPLY_WINDOW as usize {
            live.refused.insert(leave.sequence);
        }
    }

    /// Begins to end a session: from now on its requests change nothing. False if that is under way already.
    pub fn begin_end(&mut self, session: SessionId) -> bool {
        self.live.remove(&session);
        !matches!(self.ending.insert(session, true), Some(true))
    }

    /// The end is over, or has to be tried again.
    pub fn ended(&mut self, session: SessionId, over: bool) {
        if over {
            self.ending.remove(&session);
        } else {
            self.ending.insert(session, false);
        }
    }

    /// Sessions to be ended: silent for longer than the timeout, or whose end failed. `serving`: whether requests are
    /// answered at all (the lease is good).
    pub fn to_end(&mut self, now_ms: u64, timeout_ms: u64, serving: bool) -> Vec<SessionId> {
        if !serving || now_ms.saturating_sub(self.looked_ms) > STALL_MS {
            self.counting_from_ms = now_ms;
        }
        self.looked_ms = now_ms;
        let silent = |live: &Live| now_ms.saturating_sub(live.seen_ms.max(self.counting_from_ms)) > timeout_ms;
        let silent = self.live.iter().filter(|(_, live)| silent(live)).map(|(session, _)| *session);
        let again = self.ending.iter().filter(|(_, under_way)| !**under_way).map(|(session, _)| *session);
        let mut sessions: Vec<SessionId> = silent.chain(again).collect();
        sessions.sort_unstable();
        sessions
    }
}

fn stale() -> WireError {
    ErrorCode::STALE_SESSION.with("the session is not known here; open it again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::meta::{MetaOp, Owner, Want};
    use nyala_wire::{InodeId, Time};

    const A: SessionId = SessionId(7);

    fn request(sequence: u64, acked_below: u64) -> MetaRequest {
        let op = MetaOp::Open { inode: InodeId::ROOT };
        MetaRequest {
            session: A,
            sequence,
            acked_below,
            owner: Owner::default(),
            now: Time::default(),
            op,
            want: Want::NOTHING,
            caller: None,
            user: None,
        }
    }

    fn code<T: std::fmt::Debug>(result: Result<T, WireError>) -> ErrorCode {
        result.unwrap_err().code
    }

    #[test]
    fn a_request_of_an_ended_session_changes_nothing_even_when_it_is_open_again() {
        let mut sessions = Sessions::default();
        assert_eq!(code(sessions.hear(&request(1, 1), 0)), ErrorCode::STALE_SESSION);
        assert_eq!(sessions.open(A, 0), Ok(false));
        assert_eq!(sessions.open(A, 0), Ok(true));
        let leave = sessions.hear(&request(1, 1), 0).unwrap();
        assert!(sessions.begin_end(A) && !sessions.begin_end(A), "one end at a time");
        assert_eq!(code(sessions.check(leave)), ErrorCode::STALE_SESSION);
        assert_eq!(code(sessions.open(A, 0)), ErrorCode::NOT_READY, "not while its end is under way");
        sessions.ended(A, true);
        assert_eq!(sessions.open(A, 0), Ok(false));
        assert_eq!(code(sessions.check(leave)), ErrorCode::STALE_SESSION, "another opening");
        let again = sessions.hear(&request(2, 1), 0).unwrap();
        assert!(sessions.check(again).is_ok());
    }

    #[test]
    fn requests_given_up_by_their_client_are_refused_early_and_late() {
        let mut sessions = Sessions::default();
        sessions.open(A, 0).unwrap();
        let slow = sessions.hear(&request(5, 5), 0).unwrap();
        assert!(sessions.hear(&request(5, 5), 0).is_ok(), "sent again");
        sessions.hear(&request(9, 6), 0).unwrap();
        assert_eq!(code(sessions.check(slow)), ErrorCode::BAD_MESSAGE);
        assert_eq!(code(sessions.hear(&request(5, 5), 0)), ErrorCode::BAD_MESSAGE);
        assert!(sessions.hear(&request(0, 5), 0).is_ok(), "one that changes nothing has no number");
    }

    #[test]
    fn only_the_first_copy_of_a_request_is_new_and_after_a_restart_none_surely_is() {
        let mut sessions = Sessions::default();
        sessions.open(A, 0).unwrap();
        let mut new = |sequence| sessions.hear(&request(sequence, 0), 0).unwrap().is_new();
        assert_eq!([1, 1, 3, 2, 3, 4].map(&mut new), [true, false, true, false, false, true]);
        sessions.begin_end(A);
        sessions.ended(A, true);
        sessions.open(A, 0).unwrap();
        assert!(sessions.hear(&request(1, 0), 0).unwrap().is_new(), "what was kept went with the session");
        let mut sessions = Sessions::default();
        sessions.take_up(A, 0);
        assert!(!sessions.hear(&request(9, 0), 0).unwrap().is_new());
    }

    #[test]
    fn silence_counts_only_while_somebody_listened() {
        let mut sessions = Sessions::default();
        sessions.open(A, 0).unwrap();
        let mut now = 0;
        let mut look = |sessions: &mut Sessions, ms: u64, serving| {
            (0..ms / 1000).for_each(|_| {
                now += 1000;
                sessions.to_end(now, 30_000, serving);
            });
            !sessions.to_end(now, 30_000, serving).is_empty()
        };
        assert!(!look(&mut sessions, 29_000, true));
        assert!(!look(&mut sessions, 60_000, false), "no lease: nobody was answered");
        assert!(!look(&mut sessions, 30_000, true));
        assert!(look(&mut sessions, 2_000, true));
        let mut sessions = Sessions::default();
        sessions.open(A, 0).unwrap();
        sessions.to_end(1_000, 30_000, true);
        assert!(sessions.to_end(90_000, 30_000, true).is_empty(), "this process was stopped");
        sessions.begin_end(A);
        assert!(sessions.to_end(91_000, 30_000, true).is_empty());
        sessions.ended(A, false);
        assert_eq!(sessions.to_end(92_000, 30_000, true), [A], "an end that failed is tried again");
    }
}
