// SPDX-License-Identifier: Apache-2.0

//! Operations on names.

use super::Reply;
use crate::encode;
use crate::handler::Handler;
use crate::request::TreeOp;
use crate::types::{Context, Created, Entry, Ino, Result};

pub(super) async fn run<H: Handler>(handler: &H, ctx: &Context, parent: Ino, op: TreeOp) -> Result<Reply> {
    match op {
        TreeOp::Lookup { name } => entry(handler.lookup(ctx, parent, &name).await),
        TreeOp::Symlink { name, target } => entry(handler.symlink(ctx, parent, &name, &target).await),
        TreeOp::Mknod { name, new } => entry(handler.mknod(ctx, parent, &name, &new).await),
        TreeOp::Mkdir { name, new } => entry(handler.mkdir(ctx, parent, &name, &new).await),
        TreeOp::Unlink { name } => empty(handler.unlink(ctx, parent, &name).await),
        TreeOp::Rmdir { name } => empty(handler.rmdir(ctx, parent, &name).await),
        TreeOp::Rename { name, new_parent, new_name, flags } => {
            empty(handler.rename(ctx, parent, &name, new_parent, &new_name, flags).await)
        }
        TreeOp::Link { ino, name } => entry(handler.link(ctx, ino, parent, &name).await),
        TreeOp::Create { name, new, open } => created(handler.create(ctx, parent, &name, &new, &open).await),
        TreeOp::Tmpfile { new, open } => created(handler.tmpfile(ctx, parent, &new, &open).await),
    }
}

fn entry(result: Result<Entry>) -> Result<Reply> {
    result.map(|entry| Reply::of(&encode::entry_out(&entry)))
}

fn created(result: Result<Created>) -> Result<Reply> {
    result.map(|created| Reply::pair(&encode::entry_out(&created.entry), &encode::open_out(&created.opened)))
}

fn empty(result: Result<()>) -> Result<Reply> {
    result.map(|()| Reply::Empty)
}
