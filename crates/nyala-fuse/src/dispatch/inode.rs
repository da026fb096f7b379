// SPDX-License-Identifier: Apache-2.0

//! Operations on one inode's attributes.

use super::Reply;
use crate::encode;
use crate::handler::Handler;
use crate::request::InodeOp;
use crate::types::{Context, Ino, Result};

pub(super) async fn run<H: Handler>(handler: &H, ctx: &Context, ino: Ino, op: InodeOp) -> Result<Reply> {
    match op {
        InodeOp::Getattr { fh } => Ok(Reply::of(&encode::attr_out(&handler.getattr(ctx, ino, fh).await?))),
        InodeOp::Setattr { set } => Ok(Reply::of(&encode::attr_out(&handler.setattr(ctx, ino, &set).await?))),
        InodeOp::Readlink => Ok(Reply::Bytes(handler.readlink(ctx, ino).await?)),
        InodeOp::Statfs => Ok(Reply::of(&encode::statfs_out(&handler.statfs(ctx, ino).await?))),
        InodeOp::Access { mask } => {
            handler.access(ctx, ino, mask).await?;
            Ok(Reply::Empty)
        }
        InodeOp::Statx { fh, flags, mask } => {
            Ok(Reply::of(&encode::statx_out(&handler.statx(ctx, ino, fh, flags, mask).await?)))
        }
        InodeOp::Syncfs => {
            handler.syncfs(ctx, ino).await?;
            Ok(Reply::Empty)
        }
    }
}
