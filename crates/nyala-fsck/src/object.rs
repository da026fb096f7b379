// SPDX-License-Identifier: Apache-2.0

//! All that is known of one inode.

use crate::locations::{ChunkAt, NameAt};
use nyala_wire::check::{Fact, InodeFact};
use nyala_wire::fragments::CookieRange;
use nyala_wire::map::ClusterMap;
use nyala_wire::{FileKind, InodeId, SessionId, TargetId};

/// Names of one inode that are kept; further ones are counted.
pub const KEPT_NAMES: usize = 64;
/// Chunk files of one inode that are kept.
pub const KEPT_CHUNKS: usize = 1 << 16;
/// Sessions of one inode that are kept.
const KEPT_SESSIONS: usize = 64;

/// One inode.
#[derive(Clone, Debug, Default)]
pub struct Object {
    /// Its number.
    pub inode: InodeId,
    /// Its record on the server of its slot.
    pub record: Option<InodeFact>,
    /// Other servers that have rows of it, or of names in it.
    pub elsewhere: Vec<TargetId>,
    /// Its names, the first ones.
    pub names: Vec<NameAt>,
    /// A directory that has it as a fragment, and with which cookies.
    pub fragment: Option<(InodeId, CookieRange)>,
    /// Number of its names.
    pub name_count: u64,
    /// Names in it, and those of directories among them, if there is any row.
    pub listed: Option<(u64, u64)>,
    /// Bytes of inline content, or of a link's target.
    pub content: Option<u64>,
    /// Bytes of the names of its extended attributes.
    pub xattr_bytes: u64,
    /// Sessions that hold it open.
    pub opens: u64,
    /// Those of them that there are not.
    pub stray_opens: Vec<SessionId>,
    /// Sessions whose locks are not as they should be.
    pub stray_locks: Vec<SessionId>,
    /// Its chunk files wait for their removal.
    pub garbage: bool,
    /// Chunk files of before its data was moved wait for their removal.
    pub leaves: bool,
    /// A truncation is under way.
    pub truncation: bool,
    /// Its chunk files.
    pub chunks: Vec<ChunkAt>,
}

impl Object {
    /// Nothing is known yet.
    pub fn new(inode: InodeId) -> Object {
        Object { inode, ..Object::default() }
    }

    /// What it is.
    pub fn kind(&self) -> Option<FileKind> {
        self.record.as_ref().map(|record| record.kind)
    }

    /// Whether it is a directory.
    pub fn is_dir(&self) -> bool {
        self.kind() == Some(FileKind::Directory)
    }

    /// Takes in what a metadata target says.
    pub fn take(&mut self, map: &ClusterMap, from: TargetId, fact: Fact) {
        // A name stands on the server of its directory.
        let home = match &fact {
            Fact::Name { dir, .. } | Fact::Fragment { dir, .. } => map.slot_target(dir.slot()),
            _ => map.slot_target(self.inode.slot()),
        };
        if home != Some(from) {
            if !self.elsewhere.contains(&from) {
                self.elsewhere.push(from);
            }
            return;
        }
        match fact {
            Fact::Fragment { dir, range, .. } => self.fragment = Some((dir, range)),
            Fact::Name { dir, cookie, kind, misplaced, of, .. } => {
                self.name_count += 1;
                if self.names.len() < KEPT_NAMES {
                    self.names.push(NameAt { dir, cookie, kind, misplaced, of: of.unwrap_or(dir) });
                }
            }
            Fact::Listed { entries, subdirs, .. } => {
                let (of, directories) = self.listed.unwrap_or_default();
                self.listed = Some((of + entries, directories + subdirs));
            }
            Fact::Inode(record) => self.record = Some(*record),
            Fact::Content { bytes, .. } => self.content = Some(bytes),
            Fact::Xattrs { bytes, .. } => self.xattr_bytes += bytes,
            Fact::Open { session, known, .. } => {
                self.opens += 1;
                if !known && self.stray_opens.len() < KEPT_SESSIONS {
                    self.stray_opens.push(session);
                }
            }
            Fact::StrayLock { session, .. } => {
                if !self.stray_locks.contains(&session) && self.stray_locks.len() < KEPT_SESSIONS {
                    self.stray_locks.push(session);
                }
            }
            Fact::Garbage { moved: Some(true), .. } => self.leaves = true,
            Fact::Garbage { .. } => self.garbage = true,
            Fact::Truncation { .. } => self.truncation = true,
            // Not about an inode.
            Fact::Server(_) => {}
        }
    }
}
