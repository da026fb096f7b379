// SPDX-License-Identifier: Apache-2.0

//! Sizes, times and inline content of the fake's files.

use super::*;

impl Meta {
    pub(super) fn set_attr(&mut self, inode: InodeId, set: &SetAttr, now: Time, storage: &mut Storage) -> Done {
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
        if let Some(perm) = set.perm {
            entry.attr.perm = perm;
        }
        if let Some(SetTime::At(time)) = set.mtime {
            entry.attr.mtime = time;
        }
        Ok(MetaReply::Attr(entry.attr.clone()))
    }

    pub(super) fn commit(&mut self, request: &MetaRequest, commit: &Commit, storage: &Storage) -> Done {
        if let Some(code) = self.fail_commits {
            return Err(code.with("test"));
        }
        let entry = self.inode(commit.inode)?;
        let mut only_copy = false;
        if let Some(version) = commit.spilled {
            match &entry.inline {
                Some((have, data)) if *have == version => {
                    // They all lie in the first chunk.
                    let copy = (entry.layout.targets[0].0, commit.inode, 0);
                    only_copy = !data.is_empty() && storage.unsynced.contains(&copy);
                    entry.inline = None;
                }
                _ => return Err(ErrorCode::INLINE_CONFLICT.into()),
            }
        }
        entry.attr.size = entry.attr.size.max(commit.end.unwrap_or(0));
        entry.attr.allocated = commit.allocated.or(entry.attr.allocated);
        entry.attr.mtime = entry.attr.mtime.max(commit.mtime.unwrap_or_default());
        let attr = entry.attr.clone();
        let striped = entry.inline.is_none();
        if only_copy {
            self.violations.push("inline content is given up before its copy is on disk".into());
        }
        if commit.end.is_some() && !striped {
            self.violations.push("commit of data of a file that is still inline".into());
        }
        self.closed(request, commit.inode, commit.close);
        Ok(MetaReply::Attr(attr))
    }

    pub(super) fn put_inlines(&mut self, request: &MetaRequest, puts: &[PutInline]) -> MetaReply {
        assert!(puts.len() <= MAX_PUTS, "{} files in one request", puts.len());
        let outcome = |put: &PutInline| {
            if !self.delegations.clear(put.inode, request.session, Need::Change) {
                return PutOutcome::Refused(ErrorCode::BUSY.into());
            }
            match self.put_inline(request, put) {
                Ok(MetaReply::Inline { attr, version }) => PutOutcome::Taken { attr, version },
                Ok(other) => panic!("{other:?}"),
                Err(error) => PutOutcome::Refused(error),
            }
        };
        MetaReply::Inlines(puts.iter().map(outcome).collect())
    }

    pub(super) fn put_inline(&mut self, request: &MetaRequest, put: &PutInline) -> Done {
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
        entry.attr.size = put.size.unwrap_or(entry.attr.size.max(put.data.len() as u64));
        entry.attr.mtime = entry.attr.mtime.max(put.mtime);
        let attr = entry.attr.clone();
        self.closed(request, put.inode, put.close);
        Ok(MetaReply::Inline { attr, version })
    }
}
