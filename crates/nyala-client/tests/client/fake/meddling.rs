// SPDX-License-Identifier: Apache-2.0

//! What happens to metadata requests on their way to the servers and back: accidents that tests ask for, counts, and rules that a
//! client has to keep.

use super::{Inner, has_content};
use nyala_wire::codec::{decode, encode};
use nyala_wire::meta::*;
use nyala_wire::{ErrorCode, InodeId, Name, WireError};

/// Accidents that tests ask for.
#[derive(Default)]
pub struct Accidents {
    /// Commits and small files' content are refused.
    pub fail_commits: Option<ErrorCode>,
    /// So many openings of sessions are done and time out before their client hears of it.
    pub late_openings: usize,
    /// After so many openings of sessions are done, the server loses power before their client hears of it.
    pub cut_openings: usize,
    /// Nobody who insists is given an exclusive delegation, as while others ask for the same all the time.
    pub never_exclusive: bool,
    /// What clients say again after a power cut cannot be done: as if it rested on changes of somebody who is gone.
    pub lost_for_good: bool,
    /// There is no memory for what clients say again.
    pub no_memory_for_replays: bool,
    /// Files that were written encoded are refused.
    pub takes_nothing_encoded: bool,
}

/// What went by.
#[derive(Default)]
pub struct Seen {
    /// Sessions opened, and signs of life of those that were.
    pub openings: usize,
    pub signs_of_life: usize,
    /// Delegations that came back.
    pub returns: usize,
    /// Moves that clients named after a restart.
    pub moving: Vec<InodeId>,
    /// Waits for locks that were given up.
    pub waits_taken_back: usize,
    /// Look-ups that asked for content, and that brought some.
    pub content_asked: usize,
    pub content_given: usize,
    /// Requests by name, and the answers that showed that a client broke a rule.
    pub log: Vec<String>,
    pub violations: Vec<String>,
}

pub fn name(op: &MetaOp) -> String {
    let text = format!("{op:?}");
    let flat: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let close = if flat.contains("close:true") { "+close" } else { "" };
    let end = flat.find(|c: char| !c.is_alphanumeric()).unwrap_or(flat.len());
    format!("{}{close}", &flat[..end])
}

impl Seen {
    /// A request sets out.
    pub fn request(&mut self, request: &MetaRequest) {
        match &request.op {
            MetaOp::SessionOpen { .. } => self.openings += 1,
            MetaOp::DelegationPoll { moving, .. } => self.moving.extend(moving),
            MetaOp::DelegationReturn { delegations } => {
                self.signs_of_life += usize::from(delegations.is_empty());
                self.returns += delegations.len();
            }
            MetaOp::LockWait { lock, .. } => self.waits_taken_back += usize::from(lock.kind == LockKind::Unlock),
            MetaOp::Lookup { .. } => self.content_asked += usize::from(request.want.has(Want::CONTENT)),
            _ => {}
        }
        if !request.op.is_change() && request.sequence != 0 {
            self.violations.push(format!("a sequence number on {}, which changes nothing", name(&request.op)));
        }
    }

    /// A reply sets out.
    pub fn reply(&mut self, request: &MetaRequest, reply: &Result<Vec<u8>, WireError>) {
        self.content_given += usize::from(matches!(request.op, MetaOp::Lookup { .. }) && has_content(reply));
        match reply {
            // A reply was acknowledged that was still waited for, or a change has no number.
            Err(error) if error.code == ErrorCode::BAD_MESSAGE => {
                self.violations.push(format!("{}: {error}", name(&request.op)));
            }
            // Nobody looked at the request.
            Err(error) if error.code == ErrorCode::STALE_SESSION || error.code == ErrorCode::NOT_READY => {}
            _ => match request.op {
                MetaOp::SessionOpen { .. } | MetaOp::DelegationPoll { .. } | MetaOp::DelegationReturn { .. } => {}
                _ => self.log.push(name(&request.op)),
            },
        }
    }
}

impl Accidents {
    /// The answer of a server that cannot take what it is sent, if that is to be it.
    pub fn refuse(&self, request: &MetaRequest) -> Option<Result<Vec<u8>, WireError>> {
        if let MetaOp::Replay(said) = &request.op
            && self.no_memory_for_replays
            && !said.changes.is_empty()
        {
            return Some(Err(ErrorCode::TOO_BIG.with("test")));
        }
        if let MetaOp::Commit(Commit { encoded: Some(_), .. }) = &request.op
            && self.takes_nothing_encoded
        {
            return Some(Err(ErrorCode::AGAIN.with("test")));
        }
        let error = self.fail_commits?.with("test");
        match &request.op {
            MetaOp::Commit(_) | MetaOp::PutInline(_) => Some(Err(error)),
            MetaOp::PutInlines { puts } => {
                let refused = puts.iter().map(|_| PutOutcome::Refused(error.clone())).collect();
                let mut body = Grants::default().head_bytes().to_vec();
                body.extend(encode(&MetaReply::Inlines(refused)));
                Some(Ok(body))
            }
            _ => None,
        }
    }

    /// A request as it arrives.
    pub fn change(&self, request: &mut MetaRequest) {
        if self.never_exclusive && request.want.has(Want::WRITE) && request.want.has(Want::CACHED) {
            request.want = Want::NOTHING;
        }
        if let MetaOp::Replay(said) = &mut request.op
            && self.lost_for_good
        {
            for change in &mut said.changes {
                let mut other: MetaRequest = decode(&change.request).unwrap();
                other.op = MetaOp::Unlink { parent: InodeId::ROOT, name: Name::new(b"not there").unwrap() };
                change.request = encode(&other).into();
            }
        }
    }
}

impl Inner {
    /// Inline content is given up only when its copy is on disk: it all lies in the first chunk.
    pub fn check_only_copy(&mut self, request: &MetaRequest) {
        let MetaOp::Commit(Commit { inode, spilled: Some(version), .. }) = &request.op else { return };
        let inode = *inode;
        let Some(stored) = self.metas.stored(inode) else { return };
        let file = stored.record.file.as_ref().expect("a file");
        let copy = (file.layout.targets[0].0, inode, 0);
        let holds = stored.inline.is_some_and(|content| !content.is_empty());
        if file.inline_version == Some(*version) && holds && self.storage.unsynced.contains(&copy) {
            self.seen.violations.push("inline content is given up before its copy is on disk".into());
        }
    }
}
