// SPDX-License-Identifier: Apache-2.0

//! Writing to what may be encoded, or have its whole stripes written encoded.
//!
//! **Failure model.** A file may become encoded between two looks at it: by this client, which seals what it wrote in whole stripes when somebody waits for
//! it, or by another one. Whoever is about to write finds that out under the lock of the file's state, or from its server, and has the data moved back
//! first. A write that is done again after a part of it was taken writes the same bytes to the same place.

use crate::error::Result;
use crate::file::encode::make_writable;
use crate::file::ops::FileOps;
use crate::file::state::File;
use crate::writeback::buffer::encoded;
use nyala_wire::ErrorCode;
use std::sync::Arc;

/// Others may encode a file that nobody writes to; so often in a row is no accident.
const TRIES: usize = 8;

/// Writes `data` at `offset`.
pub(crate) async fn write(
    ops: &Arc<FileOps>,
    file: &Arc<File>,
    offset: u64,
    data: &[u8],
    buffered: bool,
) -> Result<()> {
    for _ in 1..TRIES {
        match ops.writeback.write(file, offset, data, buffered).await {
            Err(error) if error.is(ErrorCode::NOT_SUPPORTED) => move_back(ops, file).await?,
            done => return done,
        }
    }
    ops.writeback.write(file, offset, data, buffered).await
}

/// Writes `data` at the end; returns where that was.
pub(crate) async fn append(ops: &Arc<FileOps>, file: &Arc<File>, data: &[u8]) -> Result<u64> {
    let (mut left, mut start) = (data, None);
    for _ in 0..TRIES {
        let mut done = 0;
        match ops.writeback.append(file, left, &mut done).await {
            Err(error) if error.is(ErrorCode::NOT_SUPPORTED) => {
                if done > 0 {
                    start = start.or(Some(file.state.lock().size() - done as u64));
                }
                left = &left[done..];
                move_back(ops, file).await?;
            }
            at => return at.map(|at| start.unwrap_or(at)),
        }
    }
    Err(encoded())
}

/// Has a file whose data is encoded, here or anywhere, where it can be written to.
pub(super) async fn move_back(ops: &Arc<FileOps>, file: &Arc<File>) -> Result<()> {
    ops.writeback.flush_now(file).await?;
    if file.state.lock().layout().is_none_or(|layout| layout.encoded().is_none()) {
        // Somebody else may have encoded it.
        ops.delegations.file_info(file).await?;
    }
    make_writable(ops, file).await
}
