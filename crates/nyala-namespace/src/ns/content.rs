// SPDX-License-Identifier: Apache-2.0

//! What clients report about content: data that they wrote to storage, and new inline content.

use super::attrs;
use super::env::{Env, check_time};
use super::inline;
use super::move_data;
use super::open;
use crate::access;
use crate::change::{Change, Fault, Step};
use nyala_wire::meta::{Commit, MAX_FILE_BYTES, MAX_PUTS, MetaOp, MetaReply, PutInline, PutOutcome, SetTime};
use nyala_wire::{Attr, ErrorCode};

/// Does what an operation says of content.
pub fn run(change: &mut Change, env: &Env, op: &MetaOp) -> Step<MetaReply> {
    match op {
        MetaOp::Commit(said) => commit(change, env, said),
        MetaOp::PutInline(put) => put_inline(change, env, put),
        MetaOp::PutInlines { puts } => put_inlines(change, env, puts),
        _ => Err(ErrorCode::UNKNOWN_MESSAGE.into()),
    }
}

/// Data was written to storage: the file reaches at least to `end`.
pub fn commit(change: &mut Change, env: &Env, commit: &Commit) -> Step<MetaReply> {
    let record = change.inode(commit.inode)?;
    let file = record.file.as_ref().ok_or(ErrorCode::INVALID)?;
    if commit.end.max(commit.encoded.as_ref().map(|data| data.end)).is_some_and(|end| end > MAX_FILE_BYTES) {
        return Err(ErrorCode::FILE_TOO_BIG.into());
    }
    if file.layout.encoded().is_some() && commit.end.is_some_and(|end| end > record.size) {
        return Err(ErrorCode::STALE.with("the file was encoded meanwhile, and nobody wrote to it").into());
    }
    match (commit.spilled, file.inline_version) {
        (Some(spilled), Some(version)) if spilled != version => return Err(ErrorCode::INLINE_CONFLICT.into()),
        (Some(_), Some(_)) => inline::remove(change, commit.inode)?,
        // Somebody else spilled meanwhile, from the same or another version: the writer has to look again.
        (Some(_), None) => return Err(ErrorCode::INLINE_CONFLICT.into()),
        (None, Some(_)) if commit.end.is_some() => return Err(ErrorCode::INLINE_CONFLICT.into()),
        (None, _) => {}
    }
    if let Some(data) = &commit.encoded {
        move_data::encoded(change, env, commit.inode, data)?;
    }
    let end = commit.end.max(commit.encoded.as_ref().map(|data| data.end));
    let (spilled, mtime) = (commit.spilled.is_some(), commit.mtime);
    if spilled || end.is_some() || mtime.is_some() || commit.allocated.is_some() {
        let record = change.inode_mut(commit.inode)?;
        record.grow(end.unwrap_or(0));
        if let Some(bytes) = commit.allocated {
            record.set_allocated(bytes);
        }
        if let Some(mtime) = mtime {
            record.mtime = mtime;
            record.stamp(mtime);
        }
    }
    let attr = change.inode(commit.inode)?.attr(commit.inode);
    if commit.close {
        open::close_here(change, env.session, commit.inode)?;
    }
    Ok(MetaReply::Attr(attr))
}

/// New inline content, made from the version that is there now.
pub fn put_inline(change: &mut Change, env: &Env, put: &PutInline) -> Step<MetaReply> {
    let (attr, version) = put_one(change, env, put)?;
    let attr = set_after(change, env, put, attr)?;
    Ok(MetaReply::Inline { attr, version })
}

/// New inline contents of many files, each taken or refused for itself. One that a transaction holds is refused as busy: the
/// others do not wait for it.
pub fn put_inlines(change: &mut Change, env: &Env, puts: &[PutInline]) -> Step<MetaReply> {
    if puts.len() > MAX_PUTS {
        return Err(ErrorCode::TOO_BIG.with(format!("more than {MAX_PUTS} files in one message")).into());
    }
    let outcome = |put: &PutInline| {
        if !env.is_here(put.inode) {
            return Ok(PutOutcome::Refused(ErrorCode::WRONG_SERVER.into()));
        }
        match check_times(put).and_then(|()| allowed(change, env, put)).and_then(|()| put_one(change, env, put)) {
            // Where this fails, all of it does.
            Ok((attr, version)) => Ok(PutOutcome::Taken { attr: set_after(change, env, put, attr)?, version }),
            Err(Fault::Refused(error)) => Ok(PutOutcome::Refused(error)),
            Err(Fault::Blocked) => Ok(PutOutcome::Refused(ErrorCode::BUSY.into())),
            Err(elsewhere) => Err(elsewhere),
        }
    };
    Ok(MetaReply::Inlines(puts.iter().map(outcome).collect::<Step<_>>()?))
}

/// EINVAL if a time stamp has more than a second's nanoseconds.
pub fn check_times(put: &PutInline) -> Step<()> {
    let at = |to: Option<SetTime>| if let Some(SetTime::At(time)) = to { Some(time) } else { None };
    let set = put.set.as_ref().map_or([None; 3], |set| [at(set.atime), at(set.mtime), set.ctime]);
    set.into_iter().flatten().chain([put.mtime]).try_for_each(check_time)
}

/// Of many, each is looked at for itself.
fn allowed(change: &mut Change, env: &Env, put: &PutInline) -> Step<()> {
    env.user.map_or(Ok(()), |user| access::may_put(change, user, put))
}

/// Attributes that were set since the content was written.
fn set_after(change: &mut Change, env: &Env, put: &PutInline, attr: Attr) -> Step<Attr> {
    let Some(set) = &put.set else { return Ok(attr) };
    match attrs::set(change, env.now, put.inode, set)? {
        MetaReply::Attr(attr) => Ok(attr),
        other => Err(ErrorCode::IO.with(format!("attributes were set, and the answer is {other:?}")).into()),
    }
}

/// Changes nothing where it fails.
fn put_one(change: &mut Change, env: &Env, put: &PutInline) -> Step<(Attr, u64)> {
    let record = change.inode(put.inode)?;
    let file = record.file.as_ref().ok_or(ErrorCode::INVALID)?;
    if file.inline_version != Some(put.base_version) {
        return Err(ErrorCode::INLINE_CONFLICT.into());
    }
    if put.data.len() > file.inline_limit as usize {
        return Err(ErrorCode::TOO_BIG.with("more than the file's inline limit").into());
    }
    if put.set.as_ref().is_some_and(|set| set.size.is_some() || set.kill_suidgid) {
        return Err(ErrorCode::BAD_MESSAGE
            .with("a size, or what a write does to setuid bits, is not set with content")
            .into());
    }
    if put.size.is_some_and(|size| size < put.data.len() as u64 || size > MAX_FILE_BYTES) {
        return Err(ErrorCode::INVALID.with("the size of a file does not fit its content").into());
    }
    let version = put.base_version + 1;
    inline::put(change, put.inode, &put.data, version)?;
    let record = change.inode_mut(put.inode)?;
    match put.size {
        Some(size) => record.resize(size),
        None => record.grow(put.data.len() as u64),
    }
    record.mtime = put.mtime;
    record.stamp(put.mtime);
    let attr = record.attr(put.inode);
    if put.close {
        open::close_here(change, env.session, put.inode)?;
    }
    Ok((attr, version))
}
