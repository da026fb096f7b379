// SPDX-License-Identifier: Apache-2.0

//! Operations on open directories.

use super::Reply;
use crate::dirbuf::DirBuffer;
use crate::encode;
use crate::handler::Handler;
use crate::request::DirOp;
use crate::types::{Context, Ino, Result};

pub(super) async fn run<H: Handler>(handler: &H, ctx: &Context, ino: Ino, op: DirOp) -> Result<Reply> {
    match op {
        DirOp::Opendir { open } => Ok(Reply::of(&encode::open_out(&handler.opendir(ctx, ino, &open).await?))),
        DirOp::Readdir { fh, offset, size, plus } => {
            let mut buf = DirBuffer::new(size as usize, plus);
            let result = if plus {
                handler.readdirplus(ctx, ino, fh, offset, &mut buf).await
            } else {
                handler.readdir(ctx, ino, fh, offset, &mut buf).await
            };
            // What was added counts as looked up, so it has to arrive; the next call meets the error.
            match result {
                Err(errno) if buf.is_empty() => Err(errno),
                _ => Ok(Reply::Bytes(buf.into_bytes())),
            }
        }
        DirOp::Releasedir { release } => empty(handler.releasedir(ctx, ino, &release).await),
        DirOp::Fsyncdir { fh, datasync } => empty(handler.fsyncdir(ctx, ino, fh, datasync).await),
    }
}

fn empty(result: Result<()>) -> Result<Reply> {
    result.map(|()| Reply::Empty)
}
