// SPDX-License-Identifier: Apache-2.0

//! A metadata target in memory: sessions with kept replies, one slot of inodes.

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
}

#[derive(Default)]
struct Session {
    replies: HashMap<u64, Result<MetaReply, WireError>>,
    acked_below: u64,
}

pub struct Meta {
    slot: Slot,
    next: u64,
    inodes: HashMap<InodeId, Inode>,
    sessions: HashMap<SessionId, Session>,
    pub applied: HashMap<(SessionId, u64), usize>,
    pub violations: Vec<String>,
    pub fail_commits: Option<ErrorCode>,
    pub pattern: StripePattern,
    pub timeout_ms: u32,
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
            timeout_ms: 1200,
        };
        meta.make(FileKind::Directory, Time::default());
        meta
    }

    pub fn forget(&mut self) {
        self.sessions.clear();
        self.inodes.values_mut().for_each(|inode| inode.holders.clear());
    }

    pub fn is_held(&self, inode: InodeId) -> bool {
        self.inodes.get(&inode).is_some_and(|inode| !inode.holders.is_empty())
    }

    pub fn size(&self, inode: InodeId) -> u64 {
        self.inodes[&inode].attr.size
    }

    pub fn inline(&self, inode: InodeId) -> Option<Vec<u8>> {
        self.inodes[&inode].inline.as_ref().map(|(_, data)| data.clone())
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
        };
        let layout = Layout {
            pattern: Pattern::Raid0,
            chunk_bytes: self.pattern.chunk_bytes,
            targets: (3..3 + self.pattern.num_targets).map(TargetId).collect(),
        };
        let inline = (self.pattern.inline_bytes > 0).then(|| (0, Vec::new()));
        let entry = Inode { attr, inline, layout, entries: BTreeMap::new(), holders: HashSet::new() };
        self.inodes.insert(inode, entry);
        inode
    }

    pub fn handle(&mut self, request: &MetaRequest, storage: &mut Storage) -> Done {
        if let MetaOp::SessionOpen { .. } = request.op {
            let known = self.sessions.contains_key(&request.session);
            self.sessions.entry(request.session).or_default();
            let reply = SessionReply { timeout_ms: self.timeout_ms, map_version: MapVersion(1), known };
            return Ok(MetaReply::Session(reply));
        }
        let Some(session) = self.sessions.get_mut(&request.session) else {
            return Err(ErrorCode::STALE_SESSION.into());
        };
        if request.op.home().is_some_and(|home| home.slot() != self.slot) {
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
        if let Some(session) = self.sessions.get_mut(&request.session) {
            session.replies.insert(request.sequence, reply.clone());
        }
        reply
    }

    fn inode(&mut self, inode: InodeId) -> Result<&mut Inode, WireError> {
        self.inodes.get_mut(&inode).ok_or(ErrorCode::NOT_FOUND.into())
    }

    fn file(&mut self, inode: InodeId) -> Result<Box<FileReply>, WireError> {
        let inline_limit = self.pattern.inline_bytes;
        let inode = self.inode(inode)?;
        let inline = inode.inline.as_ref();
        let inline = inline.map(|(version, data)| InlineContent { version: *version, data: data.clone().into() });
        Ok(Box::new(FileReply { attr: inode.attr.clone(), layout: inode.layout.clone(), inline, inline_limit }))
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

    fn apply(&mut self, request: &MetaRequest, storage: &mut Storage) -> Done {
        let session = request.session;
        match &request.op {
            MetaOp::Lookup { parent, name } => {
                let found = self.inode(*parent)?.entries.get(name.as_bytes()).copied();
                let (inode, kind) = found.ok_or(WireError::from(ErrorCode::NOT_FOUND))?;
                let attr = self.inodes.get(&inode).map(|inode| inode.attr.clone());
                Ok(MetaReply::Entry(EntryReply { inode, kind, attr }))
            }
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
            MetaOp::FileInfo { inode } => Ok(MetaReply::Opened(self.file(*inode)?)),
            MetaOp::Open { inode } => {
                self.inode(*inode)?.holders.insert(session);
                Ok(MetaReply::Opened(self.file(*inode)?))
            }
            MetaOp::Close { inode } => {
                self.closed(request, *inode, true);
                Ok(MetaReply::Done)
            }
            MetaOp::Sync | MetaOp::SessionClose => Ok(MetaReply::Done),
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
            MetaOp::Commit(commit) => self.commit(request, commit),
            MetaOp::PutInline(put) => self.put_inline(request, put),
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

    fn set_attr(&mut self, inode: InodeId, set: &SetAttr, now: Time, storage: &mut Storage) -> Done {
        let entry = self.inode(inode)?;
        if let Some(size) = set.size {
            entry.attr.size = size;
            entry.attr.mtime = now;
            if let Some((version, data)) = &mut entry.inline {
                *version += 1;
                data.truncate(size as usize);
            }
            for (index, target) in entry.layout.targets.iter().enumerate() {
                let len = entry.layout.chunk_file_len(index as u16, size);
                if let Some(chunk) = storage.chunks.get_mut(&(target.0, inode, index as u16)) {
                    chunk.truncate(len as usize);
                }
            }
        }
        if let Some(SetTime::At(time)) = set.mtime {
            entry.attr.mtime = time;
        }
        Ok(MetaReply::Attr(entry.attr.clone()))
    }

    fn commit(&mut self, request: &MetaRequest, commit: &Commit) -> Done {
        if let Some(code) = self.fail_commits {
            return Err(code.with("test"));
        }
        let entry = self.inode(commit.inode)?;
        if let Some(version) = commit.spilled {
            match &entry.inline {
                Some((have, _)) if *have == version => entry.inline = None,
                _ => return Err(ErrorCode::INLINE_CONFLICT.into()),
            }
        }
        entry.attr.size = entry.attr.size.max(commit.end.unwrap_or(0));
        entry.attr.mtime = entry.attr.mtime.max(commit.mtime.unwrap_or_default());
        let attr = entry.attr.clone();
        let striped = entry.inline.is_none();
        if commit.end.is_some() && !striped {
            self.violations.push("commit of data of a file that is still inline".into());
        }
        self.closed(request, commit.inode, commit.close);
        Ok(MetaReply::Attr(attr))
    }

    fn put_inline(&mut self, request: &MetaRequest, put: &PutInline) -> Done {
        if let Some(code) = self.fail_commits {
            return Err(code.with("test"));
        }
        let limit = self.pattern.inline_bytes as usize;
        let entry = self.inode(put.inode)?;
        let (version, data) = match &mut entry.inline {
            Some((version, data)) if *version == put.base_version => (version, data),
            _ => return Err(ErrorCode::INLINE_CONFLICT.into()),
        };
        assert!(put.data.len() <= limit, "inline content of {} bytes", put.data.len());
        *version += 1;
        let version = *version;
        *data = put.data.to_vec();
        entry.attr.size = entry.attr.size.max(put.data.len() as u64);
        entry.attr.mtime = entry.attr.mtime.max(put.mtime);
        let attr = entry.attr.clone();
        self.closed(request, put.inode, put.close);
        Ok(MetaReply::Inline { attr, version })
    }
}
