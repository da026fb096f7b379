// SPDX-License-Identifier: Apache-2.0

//! From a path to an inode, question by question. Pure: who is asked hears of it elsewhere. Links are not followed, so `..` is the directory before.

use nyala_wire::fragments::{cookie, holder};
use nyala_wire::locate::{LocateReply, LocateRequest};
use nyala_wire::meta::EntryInfo;
use nyala_wire::{ErrorCode, FileKind, InodeId, Name, WireError};

/// Longest path, bytes; what a form may hold is not much more.
pub(crate) const MAX_PATH: usize = 2048;
/// Most directories on the way: each takes two questions.
const MAX_DEPTH: usize = 128;
/// So often a directory may be split, or grow together, while a name in it is asked for.
const MAX_SPLITS: u32 = 8;

/// A path that is followed.
pub(crate) struct Walk {
    /// From the root to what is asked about next.
    before: Vec<Name>,
    /// What is left of the path, the last name first.
    rest: Vec<Name>,
    asks: LocateRequest,
    /// The directory of the name that is asked for.
    dir: InodeId,
    splits: u32,
}

impl Walk {
    /// Begins at the root. EINVAL for what is no path from there, ENAMETOOLONG.
    pub fn of(path: &str) -> Result<Walk, WireError> {
        if !path.starts_with('/') {
            return Err(ErrorCode::INVALID
                .with("a path from the root of the file system begins with /, wherever that is mounted"));
        }
        if path.len() > MAX_PATH {
            return Err(
                ErrorCode::NAME_TOO_LONG.with(format!("paths of more than {MAX_PATH} bytes are not followed here"))
            );
        }
        let mut rest = Vec::new();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(rest.pop()),
                name => rest.push(Name::new(name.as_bytes())?),
            }
        }
        if rest.len() > MAX_DEPTH {
            return Err(ErrorCode::NAME_TOO_LONG.with(format!("at most {MAX_DEPTH} directories are followed here")));
        }
        rest.reverse();
        let asks = LocateRequest { inode: InodeId::ROOT, name: None };
        Ok(Walk { before: Vec::new(), rest, asks, dir: InodeId::ROOT, splits: 0 })
    }

    /// The next question.
    pub fn asks(&self) -> &LocateRequest {
        &self.asks
    }

    /// Hears the answer: what is at the end of the path, if this was that.
    pub fn hear(&mut self, reply: LocateReply) -> Result<Option<EntryInfo>, WireError> {
        match reply {
            LocateReply { entry: Some(inode), .. } if self.asks.name.is_some() => {
                self.before.extend(self.rest.pop());
                self.asks = LocateRequest { inode, name: None };
                Ok(None)
            }
            LocateReply { info: Some(info), .. } if self.asks.name.is_none() => {
                let Some(name) = self.rest.last().cloned() else { return Ok(Some(info)) };
                if info.attr.kind != FileKind::Directory {
                    return Err(ErrorCode::NOT_A_DIRECTORY.with(self.no_directory(info.attr.kind)));
                }
                let fragments = info.fragments.as_deref().unwrap_or_default();
                self.dir = self.asks.inode;
                let inode = holder(self.dir, fragments, cookie(self.dir, name.as_bytes()));
                self.asks = LocateRequest { inode, name: Some(name) };
                Ok(None)
            }
            _ => Err(ErrorCode::BAD_MESSAGE.with("the metadata server answers something else")),
        }
    }

    /// Hears a refusal: it stands, in words that name the place, or something else is asked next.
    pub fn refused(&mut self, error: WireError) -> Result<(), WireError> {
        match (error.code, &self.asks.name) {
            (ErrorCode::OTHER_FRAGMENT, Some(_)) if self.splits < MAX_SPLITS => {
                self.splits += 1;
                self.asks = LocateRequest { inode: self.dir, name: None };
                Ok(())
            }
            (ErrorCode::NOT_FOUND, Some(name)) => {
                Err(error.code.with(format!("there is no {}{name}", self.reached(true))))
            }
            (ErrorCode::STALE, None) => Err(error.code.with(format!("{} is gone by now", self.reached(false)))),
            _ => Err(error),
        }
    }

    fn no_directory(&self, kind: FileKind) -> String {
        let reached = self.reached(false);
        match kind {
            FileKind::Symlink => format!("{reached} is a symbolic link, and links are not followed here"),
            _ => format!("{reached} is no directory"),
        }
    }

    /// The path so far.
    fn reached(&self, as_directory: bool) -> String {
        let mut path: String = self.before.iter().map(|name| format!("/{name}")).collect();
        if path.is_empty() || as_directory {
            path.push('/');
        }
        path
    }
}

#[cfg(test)]
mod tests;
