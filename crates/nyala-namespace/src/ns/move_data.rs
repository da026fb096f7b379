// SPDX-License-Identifier: Apache-2.0

//! Moving a file's data to other targets while its inode, names and content stay.
//!
//! The client that moves it holds the file's exclusive delegation from before it reads the first byte until its last answer: it asks where
//! the data may go ([`targets`]), copies it to chunk files of new names, has them on disk, and says that this is the file's layout
//! now ([`move_to`]). In the same record the chunk files of before are queued for removal.
//!
//! A file that is cut to nothing while it is encoded gets a layout to be written to with its new size ([`set_attr`]), and nothing is copied.
//!
//! Failure model: the client dies or loses its session before it has said so: the layout stays, and the copy is left at storage, where
//! no layout has it (`fsck`: `chunk-unexpected`); its delegation is gone, and what it says later is refused. A client that has the
//! file open may have the layout of before in its hands, whatever it holds: while there is one, nothing is moved, unless it can only read
//! by it (a file that is encoded). A power cut takes
//! the move back with its removals, since those wait for the record to be on disk; and nobody but the mover is given the file before it
//! is.

use super::attrs::{self, check_pattern};
use super::env::Env;
use crate::change::{Change, Step};
use crate::keys;
use crate::records::{FilePart, GarbageRecord};
use nyala_wire::meta::{EncodedData, MetaOp, MetaReply, SetAttr};
use nyala_wire::{ErrorCode, InodeId, Layout, Pattern, StripePattern, TargetId};

/// One of the two operations.
pub fn run(change: &mut Change, env: &Env, op: &MetaOp) -> Step<MetaReply> {
    match op {
        MetaOp::MoveTargets { inode, pattern, avoid } => targets(change, env, *inode, pattern, avoid),
        MetaOp::MoveData { inode, layout } => move_to(change, env, *inode, layout),
        _ => Err(ErrorCode::UNKNOWN_MESSAGE.into()),
    }
}

/// Where a file's data could go: a layout of this pattern without these targets or groups. The chunk size is the file's. Refused already here
/// while another client has it open: nothing is copied in vain.
fn targets(
    change: &mut Change,
    env: &Env,
    inode: InodeId,
    pattern: &StripePattern,
    avoid: &[TargetId],
) -> Step<MetaReply> {
    check_pattern(env, pattern)?;
    let file = file(change, inode)?;
    may_move(change, env, inode, &file)?;
    // A new file's content counts as inline until some is at storage: it may be written encoded.
    if change.inode(inode)?.size > 0 {
        may_encode(&file, pattern.pattern)?;
    }
    let pattern = StripePattern { chunk_bytes: file.layout.chunk_bytes, ..*pattern };
    let layout = env.layout_elsewhere(&pattern, avoid)?;
    Ok(MetaReply::Layout(Layout { moves: file.layout.moves.wrapping_add(1), ..layout }))
}

/// Its data is there now.
fn move_to(change: &mut Change, env: &Env, inode: InodeId, layout: &Layout) -> Step<MetaReply> {
    let file = file(change, inode)?;
    let old = &file.layout;
    let newer = layout.moves.checked_sub(old.moves).is_some_and(|moves| (1..Layout::NAMES).contains(&moves));
    if !newer || layout.chunk_bytes != old.chunk_bytes {
        return Err(ErrorCode::STALE.with("the file's data is not where it was when the move began").into());
    }
    if !env.is_usable(layout) {
        return Err(ErrorCode::INVALID.with("there is no such storage target or mirror group").into());
    }
    may_encode(&file, layout.pattern)?;
    may_move(change, env, inode, &file)?;
    if change.has(&keys::moved_garbage(inode, layout))? {
        return Err(ErrorCode::BUSY.with("chunk files of these names are still to be removed").into());
    }
    // Also where the content is inline: a client that died may have sent data beside it.
    change.put_record(keys::moved_garbage(inode, old), &GarbageRecord::of(old.clone()));
    let record = change.inode_mut(inode)?;
    record.file.as_mut().ok_or(ErrorCode::INVALID)?.layout = layout.clone();
    Ok(MetaReply::Done)
}

/// Changes attributes. To nothing an encoded file can be cut too: with its new size comes, in the same record, a layout that can be written to.
pub fn set_attr(change: &mut Change, env: &Env, inode: InodeId, set: &SetAttr) -> Step<MetaReply> {
    empty(change, env, inode, set)?;
    attrs::set(change, env.now, inode, set)
}

fn empty(change: &mut Change, env: &Env, inode: InodeId, set: &SetAttr) -> Step<()> {
    let Some(layout) = &set.emptied else { return Ok(()) };
    if file(change, inode)?.layout.encoded().is_none() {
        return Err(ErrorCode::STALE.with("the file is not encoded any more").into());
    }
    if set.size != Some(0) || layout.encoded().is_some() {
        return Err(ErrorCode::INVALID
            .with("an encoded file is cut to nothing with a layout that can be written to")
            .into());
    }
    move_to(change, env, inode, layout).map(drop)
}

/// A file that was new was written in its erasure code: its data is there, up to where the commit says. Once that is so it grows from one whole
/// stripe to the next: the parity of a part of one would have to change in place.
pub fn encoded(change: &mut Change, env: &Env, inode: InodeId, data: &EncodedData) -> Step<()> {
    let layout = &data.layout;
    let size = change.inode(inode)?.size;
    let stripe = layout.width().saturating_mul(layout.chunk_bytes.into());
    if file(change, inode)?.layout == *layout {
        return match layout.encoded().is_some() && size.is_multiple_of(stripe) {
            true => Ok(()),
            false => Err(ErrorCode::STALE.with("an encoded file does not grow by half a stripe").into()),
        };
    }
    if size > 0 || layout.encoded().is_none() || file(change, inode)?.layout.encoded().is_some() {
        return Err(ErrorCode::STALE.with("the file has data elsewhere, or is not to be encoded").into());
    }
    move_to(change, env, inode, layout).map(drop)
}

/// Who has a file open may write by the layout that it knows; of an encoded one it only reads, as it is moved before it is written to, and a
/// reader that finds nothing where the data was asks again. That holds for one that is encoded anew too, as parts of it are lost.
fn may_move(change: &Change, env: &Env, inode: InodeId, file: &FilePart) -> Step<()> {
    match file.layout.encoded().is_none() && change.is_open_elsewhere(inode, env.session)? {
        true => Err(ErrorCode::AGAIN.with("another client has the file open").into()),
        false => Ok(()),
    }
}

fn may_encode(file: &FilePart, to: Pattern) -> Step<()> {
    match to == Pattern::Ec && file.inline_version.is_some() {
        true => Err(ErrorCode::INVALID.with("content that lies with its inode is not encoded").into()),
        false => Ok(()),
    }
}

fn file(change: &mut Change, inode: InodeId) -> Step<FilePart> {
    let file = change.inode(inode)?.file.clone();
    Ok(file.ok_or_else(|| ErrorCode::INVALID.with("only regular files have data that can be moved"))?)
}
