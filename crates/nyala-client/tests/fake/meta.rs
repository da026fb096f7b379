// SPDX-License-Identifier: Apache-2.0

//! A metadata target in memory: sessions with kept replies, one slot of inodes.

mod content;
mod look;
mod passage;

use super::delegations::{Delegations, Need};
use super::log::Log;
use super::storage::Storage;
pub use nyala_wire::meta::*;
use nyala_wire::*;
use std::collections::{BTreeMap, HashMap, HashSet};

struct Inode {
    attr: Attr,
    inline: Option<(u64, Vec<u8>)>,
    layout: Layout,
    entries: BTreeMap<Vec<u8>, (InodeId, FileKind)>,
    holders: HashSet<SessionId>,
    link: Vec<u8>,
    xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Inode {
    fn set_xattr(&mut self, name: &[u8], value: &[u8]) {
        self.xattrs.insert(name.to_vec(), value.to_vec());
        self.attr.no_xattrs = false;
    }
}

#[derive(Default)]
struct Session {
    replies: HashMap<u64, Result<MetaReply, WireError>>,
    acked_below: u64,
}

pub const SESSION_TIMEOUT_MS: u32 = 1200;

pub struct Meta {
    slot: Slot,
    next: u64,
    inodes: HashMap<InodeId, Inode>,
    sessions: HashMap<SessionId, Session>,
    pub applied: HashMap<(SessionId, u64), usize>,
    pub violations: Vec<String>,
    pub fail_commits: Option<ErrorCode>,
    pub pattern: StripePattern,
    /// Sessions opened, and signs of life of those that were.
    pub openings: usize,
    /// So many openings are done and time out before their client hears of it.
    pub late_openings: usize,
    pub signs_of_life: usize,
    /// Moves that clients named after a restart.
    pub moving: Vec<InodeId>,
    pub boot: u64,
    pub log: Log,
    pub delegations: Delegations,
    locks: Vec<(InodeId, SessionId, FileLock)>,
    pub waits_taken_back: usize,
    /// Look-ups that asked for content, and that brought some.
    pub content_asked: usize,
    pub content_given: usize,
    /// Files that storage may have more of than was committed.
    pub doubtful: HashSet<InodeId>,
}

pub fn name(op: &MetaOp) -> String {
    let text = format!("{op:?}");
    let flat: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let close = if flat.contains("close:true") { "+close" } else { "" };
    let end = flat.find(|c: char| !c.is_alphanumeric()).unwrap_or(flat.len());
    format!("{}{close}", &flat[..end])
}

type Done = Result<MetaReply, WireError>;

impl Meta {
    pub fn new(slot: Slot) -> Meta {
        let mut meta = Meta {
            slot,
            next: 1,
            inodes: HashMap::new(),
            sessions: HashMap::new(),
            applied: HashMap::new(),
            violations: Vec::new(),
            fail_commits: None,
            pattern: StripePattern { chunk_bytes: 65_536, num_targets: 3, ..StripePattern::default() },
            openings: 0,
            late_openings: 0,
            signs_of_life: 0,
            moving: Vec::new(),
            boot: 1,
            log: Log { began: BTreeMap::from([(1, 0)]), ..Log::default() },
            delegations: Delegations::default(),
            locks: Vec::new(),
            waits_taken_back: 0,
            content_asked: 0,
            content_given: 0,
            doubtful: HashSet::new(),
        };
        meta.make(FileKind::Directory, Time::default());
        meta
    }

    /// Ends all sessions as if they had been silent.
    pub fn forget(&mut self, storage: &mut Storage) {
        for (session, _) in self.sessions.drain() {
            self.delegations.end_session(session);
            storage.fenced.insert(session);
        }
        self.locks.clear();
        self.inodes.values_mut().for_each(|inode| inode.holders.clear());
    }

    /// Starts anew: sessions are known, delegations are not.
    pub fn restart(&mut self) {
        self.boot += 1;
        self.log.began.insert(self.boot as u32, self.log.last);
        self.delegations.restart(self.sessions.keys().copied());
    }

    /// The same after a loss of power that took what was not on disk: a file's inline content is an older version again.
    pub fn lose_power(&mut self, inode: InodeId, version: u64, content: &[u8]) {
        let entry = self.inodes.get_mut(&inode).unwrap();
        entry.inline = Some((version, content.to_vec()));
        entry.attr.size = content.len() as u64;
        self.log.last = self.log.durable;
        self.restart();
    }

    /// The same where the file's creation was lost.
    pub fn lose(&mut self, inode: InodeId) {
        self.inodes.remove(&inode);
        self.log.last = self.log.durable;
        self.restart();
    }

    fn lock_wait(&mut self, inode: InodeId, kind: LockKind) -> Result<MetaReply, WireError> {
        if kind == LockKind::Unlock {
            self.waits_taken_back += 1;
        } else if self.locks.iter().any(|held| held.0 == inode) {
            return Err(ErrorCode::BUSY.with("delegations"));
        }
        Ok(MetaReply::Done)
    }

    fn make(&mut self, kind: FileKind, now: Time) -> InodeId {
        let inode = InodeId::new(self.slot, self.next).unwrap();
        self.next += 1;
        let attr = Attr {
            inode,
            kind,
            perm: 0o644,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            size: 0,
            atime: now,
            mtime: now,
            ctime: now,
            btime: now,
            allocated: None,
            no_xattrs: true,
        };
        let layout = Layout {
            pattern: Pattern::Raid0,
            chunk_bytes: self.pattern.chunk_bytes,
            targets: (3..3 + self.pattern.num_targets).map(TargetId).collect(),
        };
        let inline = (self.pattern.inline_bytes > 0).then(|| (0, Vec::new()));
        let entry = Inode {
            attr,
            inline,
            layout,
            entries: BTreeMap::new(),
            holders: HashSet::new(),
            link: Vec::new(),
            xattrs: BTreeMap::new(),
        };
        self.inodes.insert(inode, entry);
        inode
    }

    /// The reply, or `BUSY` while somebody else's delegation is in the way.
    pub fn handle(
        &mut self,
        request: &MetaRequest,
        storage: &mut Storage,
        log: &mut Vec<String>,
    ) -> Result<(Grants, MetaReply), WireError> {
        let session = request.session;
        let unconfirmed = self.delegations.unconfirmed.contains(&session);
        match &request.op {
            MetaOp::SessionOpen { .. } => {
                self.openings += 1;
                let known = self.sessions.contains_key(&session);
                self.sessions.entry(session).or_default();
                if self.late_openings > 0 {
                    self.late_openings -= 1;
                    self.forget(storage);
                    return Err(ErrorCode::NOT_READY.with("the answer was lost"));
                }
                let reply =
                    SessionReply { timeout_ms: SESSION_TIMEOUT_MS, map_version: MapVersion(1), known, boot: self.boot };
                return Ok((Grants::default(), MetaReply::Session(reply)));
            }
            _ if !self.sessions.contains_key(&session) => return Err(ErrorCode::STALE_SESSION.into()),
            MetaOp::DelegationPoll { boot, kept, moving } => {
                let mut list = Vec::new();
                if *boot == self.boot {
                    if self.delegations.unconfirmed.remove(&session) {
                        self.moving.extend(moving);
                        for one in kept {
                            assert_eq!(self.delegations.give(one.inode, session, one.keep), one.keep);
                        }
                    }
                    list = self.delegations.poll(session);
                }
                return Ok((Grants::default(), MetaReply::Revocations { boot: self.boot, list, checks: Vec::new() }));
            }
            MetaOp::DelegationReturn { delegations } => {
                self.signs_of_life += usize::from(delegations.is_empty());
                for returned in delegations {
                    if returned.open
                        && let Some(inode) = self.inodes.get_mut(&returned.inode)
                    {
                        inode.holders.insert(session);
                    }
                    self.delegations.returned(session, returned);
                }
                return Ok((Grants::default(), MetaReply::Done));
            }
            MetaOp::Commit(_) | MetaOp::PutInline(_) | MetaOp::PutInlines { .. } if unconfirmed => {}
            MetaOp::FileInfo { .. } if unconfirmed => {}
            MetaOp::Close { .. } | MetaOp::SessionClose => {}
            _ if !self.delegations.unconfirmed.is_empty() => return Err(ErrorCode::NOT_READY.with("not confirmed")),
            _ => {}
        }
        let again = self.sessions[&session].replies.contains_key(&request.sequence);
        if !again && !self.clear(request) {
            return Err(ErrorCode::BUSY.with("delegations"));
        }
        self.delegations.unpin(request.session);
        log.push(name(&request.op));
        let mut reply = self.handle_now(request, storage)?;
        if matches!(reply, MetaReply::NoEntry) && !request.want.has(Want::DELEGATIONS) {
            return Err(ErrorCode::NOT_FOUND.into());
        }
        let grants = if again { Grants::default() } else { self.grants(request, &mut reply) };
        self.note_unsaid(request, &reply, grants)?;
        Ok((grants, reply))
    }

    fn handle_now(&mut self, request: &MetaRequest, storage: &mut Storage) -> Done {
        let Some(session) = self.sessions.get_mut(&request.session) else {
            return Err(ErrorCode::STALE_SESSION.into());
        };
        if request.op.routing_inode().is_some_and(|location| location.slot() != self.slot) {
            return Err(ErrorCode::WRONG_SERVER.into());
        }
        if !request.op.is_change() {
            if request.sequence != 0 {
                self.violations.push("a sequence number on a request that changes nothing".into());
            }
            return self.apply(request, storage);
        }
        if request.sequence == 0 {
            self.violations.push("no sequence number".into());
        }
        if let Some(reply) = session.replies.get(&request.sequence) {
            return reply.clone();
        }
        if request.sequence < session.acked_below {
            self.violations.push(format!("{} below {}", request.sequence, session.acked_below));
        }
        session.acked_below = session.acked_below.max(request.acked_below);
        let below = session.acked_below;
        session.replies.retain(|sequence, _| *sequence >= below);
        if session.replies.len() > 256 {
            self.violations.push("more than 256 outstanding".into());
        }
        *self.applied.entry((request.session, request.sequence)).or_default() += 1;
        let reply = self.apply(request, storage);
        self.log.done(&request.op);
        let repeatable = matches!(request.op, MetaOp::PutInlines { .. });
        if let Some(session) = self.sessions.get_mut(&request.session).filter(|_| !repeatable) {
            session.replies.insert(request.sequence, reply.clone());
        }
        reply
    }

    fn inode(&mut self, inode: InodeId) -> Result<&mut Inode, WireError> {
        self.inodes.get_mut(&inode).ok_or(ErrorCode::STALE.into())
    }

    fn file(&mut self, inode: InodeId) -> Result<Box<FileReply>, WireError> {
        let inline_limit = self.pattern.inline_bytes;
        let leftovers = self.doubtful.contains(&inode).then_some(true);
        let inode = self.inode(inode)?;
        let inline = inode.inline.as_ref();
        let inline = inline.map(|(version, data)| InlineContent { version: *version, data: data.clone().into() });
        Ok(Box::new(FileReply {
            attr: inode.attr.clone(),
            layout: inode.layout.clone(),
            inline,
            inline_limit,
            leftovers,
        }))
    }

    fn drop_unused(&mut self, inode: InodeId) {
        if self.inodes.get(&inode).is_some_and(|i| i.attr.nlink == 0 && i.holders.is_empty()) {
            self.inodes.remove(&inode);
        }
    }

    fn closed(&mut self, request: &MetaRequest, inode: InodeId, close: bool) {
        if close {
            if let Some(entry) = self.inodes.get_mut(&inode) {
                entry.holders.remove(&request.session);
            }
            self.drop_unused(inode);
        }
    }

    fn lookup(&mut self, request: &MetaRequest, parent: InodeId, name: &Name) -> Done {
        let found = self.inode(parent)?.entries.get(name.as_bytes()).copied();
        let Some((inode, kind)) = found else { return Ok(MetaReply::NoEntry) };
        let attr = self.inodes.get(&inode).map(|inode| inode.attr.clone());
        if request.want.has(Want::CONTENT) {
            self.content_asked += 1;
            if kind == FileKind::File && attr.is_some() && self.delegations.is_free_to_read(inode, request.session) {
                self.content_given += 1;
                return Ok(MetaReply::Opened(self.file(inode)?));
            }
        }
        Ok(MetaReply::Entry(EntryReply { inode, kind, attr }))
    }

    fn apply(&mut self, request: &MetaRequest, storage: &mut Storage) -> Done {
        let session = request.session;
        match &request.op {
            MetaOp::Lookup { parent, name } => self.lookup(request, *parent, name),
            MetaOp::GetAttr { inode } => Ok(MetaReply::Attr(self.inode(*inode)?.attr.clone())),
            MetaOp::GetAttrs { inodes } => {
                let found = inodes.iter().filter_map(|inode| Some(self.inodes.get(inode)?.attr.clone()));
                Ok(MetaReply::Attrs(found.collect()))
            }
            MetaOp::ReadDir { dir, after, max_entries, plus } => {
                let entries: Vec<_> = self.inode(*dir)?.entries.clone().into_iter().collect();
                let list = entries.iter().enumerate().skip(*after as usize).take(*max_entries as usize);
                let list = list.map(|(at, (name, (inode, kind)))| ListedEntry {
                    cookie: at as u64 + 1,
                    name: Name::new(name).unwrap(),
                    inode: *inode,
                    kind: *kind,
                    attr: self.inodes.get(inode).filter(|_| *plus).map(|inode| inode.attr.clone()),
                });
                let end = *after + u64::from(*max_entries) >= entries.len() as u64;
                Ok(MetaReply::Listing(Listing { entries: list.collect(), end }))
            }
            MetaOp::FileInfo { inode } | MetaOp::Acquire { inode } => Ok(MetaReply::Opened(self.file(*inode)?)),
            MetaOp::Open { inode } => {
                self.inode(*inode)?.holders.insert(session);
                Ok(MetaReply::Opened(self.file(*inode)?))
            }
            MetaOp::Close { inode } => {
                self.closed(request, *inode, true);
                Ok(MetaReply::Done)
            }
            MetaOp::SessionClose => {
                self.sessions.remove(&session);
                self.delegations.end_session(session);
                Ok(MetaReply::Done)
            }
            // Claims are tested with the real server.
            MetaOp::Sync => {
                self.log.durable = self.log.last;
                Ok(MetaReply::Done)
            }
            MetaOp::Survived { run } => Ok(MetaReply::Position(self.log.survived(*run))),
            MetaOp::Spill { .. } => Ok(MetaReply::Done),
            MetaOp::Tmpfile { .. } => {
                let inode = self.make(FileKind::File, request.now);
                let entry = self.inode(inode)?;
                entry.attr.nlink = 0;
                entry.holders.insert(session);
                Ok(MetaReply::Created { new: true, inode, kind: FileKind::File, file: Some(self.file(inode)?) })
            }
            MetaOp::Symlink { entry, target } => {
                let inode = self.make(FileKind::Symlink, request.now);
                self.inode(inode)?.link = target.to_vec();
                let name = entry.name.as_bytes().to_vec();
                self.inode(entry.parent)?.entries.insert(name, (inode, FileKind::Symlink));
                let attr = Some(self.inode(inode)?.attr.clone());
                Ok(MetaReply::Entry(EntryReply { inode, kind: FileKind::Symlink, attr }))
            }
            MetaOp::ReadLink { inode } => Ok(MetaReply::Bytes(self.inode(*inode)?.link.clone().into())),
            MetaOp::Link { inode, parent, name } => {
                self.inode(*parent)?.entries.insert(name.as_bytes().to_vec(), (*inode, FileKind::File));
                let entry = self.inode(*inode)?;
                entry.attr.nlink += 1;
                let attr = Some(entry.attr.clone());
                Ok(MetaReply::Entry(EntryReply { inode: *inode, kind: FileKind::File, attr }))
            }
            MetaOp::Rename(r) => {
                let found = self.inode(r.from_parent)?.entries.remove(r.from_name.as_bytes());
                let moved = found.ok_or(WireError::from(ErrorCode::NOT_FOUND))?;
                let replaced = self.inode(r.to_parent)?.entries.insert(r.to_name.as_bytes().to_vec(), moved);
                if let Some((inode, _)) = replaced {
                    self.inode(inode)?.attr.nlink -= 1;
                    self.drop_unused(inode);
                }
                Ok(MetaReply::Done)
            }
            MetaOp::SetXattr { inode, name, value, .. } => {
                self.inode(*inode)?.set_xattr(name, value);
                Ok(MetaReply::Done)
            }
            MetaOp::GetXattr { inode, name } => {
                let value = self.inode(*inode)?.xattrs.get(&name.to_vec()).cloned();
                value.map(|value| MetaReply::Bytes(value.into())).ok_or(ErrorCode::NO_DATA.into())
            }
            MetaOp::ListXattr { inode } => {
                let names = self.inode(*inode)?.xattrs.keys().map(|name| name.clone().into());
                Ok(MetaReply::Names(names.collect()))
            }
            MetaOp::SetLock { inode, lock } => {
                let mine = |(i, s, held): &(InodeId, SessionId, FileLock)| {
                    *i == *inode && *s == session && held.owner == lock.owner
                };
                if lock.kind == LockKind::Unlock {
                    self.locks.retain(|held| !mine(held));
                } else if self.locks.iter().any(|held| held.0 == *inode && !mine(held)) {
                    return Err(ErrorCode::AGAIN.into());
                } else {
                    self.locks.retain(|held| !mine(held));
                    self.locks.push((*inode, session, *lock));
                }
                Ok(MetaReply::Done)
            }
            MetaOp::GetLock { inode, .. } => {
                let found = self.locks.iter().find(|held| held.0 == *inode).map(|held| held.2);
                Ok(MetaReply::Lock(found))
            }
            MetaOp::LockWait { inode, lock } => self.lock_wait(*inode, lock.kind),
            MetaOp::Create { entry, exclusive } => self.create(request, entry, *exclusive),
            MetaOp::Mkdir { entry } => {
                let inode = self.make(FileKind::Directory, request.now);
                let name = entry.name.as_bytes().to_vec();
                self.inode(entry.parent)?.entries.insert(name, (inode, FileKind::Directory));
                let attr = Some(self.inode(inode)?.attr.clone());
                Ok(MetaReply::Entry(EntryReply { inode, kind: FileKind::Directory, attr }))
            }
            MetaOp::Unlink { parent, name } => {
                let found = self.inode(*parent)?.entries.remove(name.as_bytes());
                let (inode, _) = found.ok_or(WireError::from(ErrorCode::NOT_FOUND))?;
                self.inode(inode)?.attr.nlink -= 1;
                self.drop_unused(inode);
                Ok(MetaReply::Done)
            }
            MetaOp::SetAttr { inode, set } => self.set_attr(*inode, set, request.now, storage),
            MetaOp::Commit(commit) => self.commit(request, commit, storage),
            MetaOp::PutInline(put) => self.put_inline(request, put),
            MetaOp::PutInlines { puts } => Ok(self.put_inlines(request, puts)),
            _ => Err(ErrorCode::UNKNOWN_MESSAGE.into()),
        }
    }

    fn create(&mut self, request: &MetaRequest, entry: &NewEntry, exclusive: bool) -> Done {
        let name = entry.name.as_bytes().to_vec();
        let found = self.inode(entry.parent)?.entries.get(&name).copied();
        if found.is_some() && exclusive {
            return Err(ErrorCode::EXISTS.into());
        }
        let new = found.is_none();
        let (inode, kind) = found.unwrap_or_else(|| (self.make(FileKind::File, request.now), FileKind::File));
        self.inode(entry.parent)?.entries.insert(name, (inode, kind));
        self.inode(inode)?.holders.insert(request.session);
        Ok(MetaReply::Created { new, inode, kind, file: Some(self.file(inode)?) })
    }
}
