// SPDX-License-Identifier: Apache-2.0

//! Operations on open files.

use super::Reply;
use crate::abi::replies::{CopyFileRangeOut, LseekOut, WriteOut};
use crate::buf::WriteData;
use crate::encode;
use crate::errno::Errno;
use crate::handler::Handler;
use crate::request::FileOp;
use crate::types::{Context, Ino, Result};

/// `data` is there for a write.
pub(super) async fn run<H: Handler>(
    handler: &H,
    ctx: &Context,
    ino: Ino,
    op: FileOp,
    data: Option<WriteData>,
) -> Result<Reply> {
    match op {
        FileOp::Open { open } => Ok(Reply::of(&encode::open_out(&handler.open(ctx, ino, &open).await?))),
        FileOp::Read { read } => Ok(Reply::Data(handler.read(ctx, ino, &read).await?, read.size as usize)),
        FileOp::Write { write, .. } => {
            let data = data.ok_or(Errno::EIO)?;
            let len = data.len() as u32;
            // More than was given would be an answer that the kernel takes for an error of its own.
            let size = handler.write(ctx, ino, &write, data).await?.min(len);
            Ok(Reply::of(&WriteOut { size, padding: 0 }))
        }
        FileOp::Flush { fh, lock_owner } => empty(handler.flush(ctx, ino, fh, lock_owner).await),
        FileOp::Release { release } => empty(handler.release(ctx, ino, &release).await),
        FileOp::Fsync { fh, datasync } => empty(handler.fsync(ctx, ino, fh, datasync).await),
        FileOp::Fallocate { fh, offset, len, mode } => empty(handler.fallocate(ctx, ino, fh, offset, len, mode).await),
        FileOp::Lseek { fh, offset, whence } => {
            let offset = handler.lseek(ctx, ino, fh, offset, whence).await?;
            Ok(Reply::of(&LseekOut { offset }))
        }
        FileOp::Copy { copy, wide } => {
            let bytes_copied = handler.copy_file_range(ctx, &copy).await?.min(copy.len);
            Ok(if wide {
                Reply::of(&CopyFileRangeOut { bytes_copied })
            } else {
                Reply::of(&WriteOut { size: bytes_copied as u32, padding: 0 })
            })
        }
    }
}

fn empty(result: Result<()>) -> Result<Reply> {
    result.map(|()| Reply::Empty)
}
