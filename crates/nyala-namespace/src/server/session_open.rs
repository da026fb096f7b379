// SPDX-License-Identifier: Apache-2.0

//! Opening a session. The bookkeeping, and its failure model, is [`crate::sessions`].

use super::grants;
use super::io::{Durability, Note, Ticket, Token};
use super::state::{Progress, State, Task};
use super::waits::Wait;
use crate::keys;
use crate::records::SessionRecord;
use nyala_kv::Batch;
use nyala_wire::meta::{MetaReply, SessionReply};
use nyala_wire::{SessionId, WireError, codec};

/// Most characters of a client's name that are kept.
const MAX_CLIENT_CHARS: usize = 256;

/// Opens a session, or keeps it alive. `caches`: its client keeps what it is granted.
pub fn open(state: &mut State, token: Token, session: SessionId, client: &str, caches: bool) {
    match note(state, session, client, caches) {
        Ok(known) => state.run(Opened { token, known, logging: None }),
        Err(error) => state.reply(token, Err(error)),
    }
}

fn note(state: &mut State, session: SessionId, client: &str, caches: bool) -> Result<bool, WireError> {
    let known = state.sessions.open(session, state.now.ms)?;
    if !known {
        let name: String = client.chars().take(MAX_CLIENT_CHARS).collect();
        state.note(Note::SessionOpened(session, name.clone()));
        let mut batch = Batch::new();
        let record = SessionRecord { client: name, caches: caches.then_some(true), guest: None };
        batch.put(keys::session(session), codec::encode(&record));
        if let Err(error) = state.apply(&batch) {
            state.sessions.forget(session);
            return Err(error);
        }
    }
    Ok(known)
}

/// Answers once the session's record is on disk. Also when it is known: the record may have been applied by another copy of this
/// request, and not be on disk yet.
struct Opened {
    token: Token,
    known: bool,
    logging: Option<Ticket>,
}

impl Task for Opened {
    fn step(&mut self, state: &mut State) -> Progress {
        let Some(ticket) = self.logging else {
            self.logging = Some(state.log(Durability::OnDisk));
            return Progress::Wait(Wait::COMPLETION);
        };
        let Some(logged) = state.logged(ticket) else { return Progress::Wait(Wait::COMPLETION) };
        let map = state.ground.map();
        let (timeout_ms, map_version) = (map.settings.session_timeout_ms, map.version);
        let reply = MetaReply::Session(SessionReply { timeout_ms, map_version, known: self.known, boot: state.boot });
        state.reply(self.token, logged.map(|()| grants::plain(&reply)));
        Progress::Done
    }
}
