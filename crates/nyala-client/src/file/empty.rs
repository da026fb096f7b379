// SPDX-License-Identifier: Apache-2.0

//! Cutting an encoded file to nothing: it becomes an empty file that can be written to, and none of its data is copied.
//!
//! **Failure model.** The new layout comes with the size, in one change of its metadata server, which is on disk before it is answered: whatever dies
//! on the way, the file is encoded with all its content, or empty. What an earlier move left in chunk files of the new names is cut by the
//! server, as with any truncation. A server that does not know this, or a file that others want meanwhile, is no failure: the data is
//! moved back then ([`crate::file::encode::make_writable`]).

use crate::delegation::admission::Access;
use crate::delegation::logic::delegations::Need;
use crate::error::Result;
use crate::file::logic::stripes;
use crate::file::ops::FileOps;
use crate::file::state::File;
use crate::rpc::bound::Bound;
use nyala_wire::meta::SetAttr;
use nyala_wire::{Attr, ErrorCode, Pattern};
use std::sync::Arc;

/// With these it is not done, and moving the data may do it.
const OTHERWISE: [ErrorCode; 4] = [ErrorCode::NOT_SUPPORTED, ErrorCode::AGAIN, ErrorCode::STALE, ErrorCode::BUSY];

/// Sets attributes, a size of 0 among them; absent: the data has to be moved first. The caller holds the file's `move_lock`.
pub(super) async fn empty(ops: &Arc<FileOps>, file: &Arc<File>, set: &SetAttr) -> Result<Option<Attr>> {
    match emptied(ops, file, set).await {
        Err(error) if OTHERWISE.iter().any(|code| error.is(*code)) => Ok(None),
        done => done,
    }
}

async fn emptied(ops: &Arc<FileOps>, file: &Arc<File>, set: &SetAttr) -> Result<Option<Attr>> {
    let admission = ops.delegations.admit(file, Need { write: true, cached: true, patient: false }).await?;
    let layout = {
        let state = file.state.lock();
        let settled = admission.access == Access::Cached && state.is_clean();
        state.layout().cloned().filter(|_| settled)
    };
    let encoded = layout.and_then(|layout| layout.encoded().map(|code| (layout, code)));
    let Some((layout, code)) = encoded else { return Ok(None) };
    let to = stripes::destination(&ops.cluster.maps.view().map, &layout, (Pattern::Mirror, code), Vec::new())?;
    let to = ops.cluster.move_targets(file.inode, &to).await?;
    let set = SetAttr { emptied: Some(Box::new(to)), ..set.clone() };
    let attr = ops.setattr_known(file, Bound::new(file.inode, admission.session), set).await?;
    // What is known of it is asked for before it is used again.
    file.state.lock().unload();
    drop(admission);
    ops.delegations.file_info(file).await?;
    Ok(Some(attr))
}
