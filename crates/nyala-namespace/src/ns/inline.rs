// SPDX-License-Identifier: Apache-2.0

//! Where inline content is: in a row of its own, except for a few last bytes of what would just not fit into one page of the
//! tables. Those are with the inode's record, which is written whenever the content is. A file of 4,096 bytes would
//! otherwise take two pages in memory and on disk, at each checkpoint (docs/history/performance.md).

use crate::change::{Change, Step};
use crate::damage::lost;
use crate::keys;
use crate::records::FilePart;
use nyala_kv::ONE_PAGE_VALUE_BYTES;
use nyala_wire::{ErrorCode, InodeId};

/// Most bytes that are with the inode's record.
const MAX_TAIL_BYTES: usize = 32;

/// The content of a file that has some inline. Version 0 is empty, and has no row. EIO if content that was kept is not there.
pub fn get(change: &Change, inode: InodeId, file: &FilePart) -> Step<Vec<u8>> {
    if matches!(file.inline_version, None | Some(0)) {
        return Ok(Vec::new());
    }
    let mut data = change.get(&keys::data(inode))?.ok_or_else(|| lost(inode, "its content is not there"))?;
    if let Some(tail) = &file.tail {
        if data.len() != ONE_PAGE_VALUE_BYTES {
            return Err(lost(inode, "the end of its content is of another version").into());
        }
        data.extend_from_slice(tail);
    }
    Ok(data)
}

/// Keeps new content, and the version that it has.
pub fn put(change: &mut Change, inode: InodeId, data: &[u8], version: u64) -> Step<()> {
    let over = data.len().checked_sub(ONE_PAGE_VALUE_BYTES).filter(|over| (1..=MAX_TAIL_BYTES).contains(over));
    let (head, tail) = data.split_at(data.len() - over.unwrap_or(0));
    change.put(keys::data(inode), head.to_vec());
    let file = change.inode_mut(inode)?.file.as_mut().ok_or(ErrorCode::INVALID)?;
    file.inline_version = Some(version);
    file.tail = over.map(|_| tail.to_vec().into());
    Ok(())
}

/// The content is elsewhere from now on.
pub fn remove(change: &mut Change, inode: InodeId) -> Step<()> {
    change.delete(keys::data(inode));
    if let Some(file) = &mut change.inode_mut(inode)?.file {
        file.inline_version = None;
        file.tail = None;
    }
    Ok(())
}
