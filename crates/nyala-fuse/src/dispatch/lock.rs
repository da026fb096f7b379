// SPDX-License-Identifier: Apache-2.0

//! Locks. One that waits can be interrupted.

use super::{Interrupts, Reply};
use crate::encode;
use crate::errno::Errno;
use crate::handler::Handler;
use crate::request::LockOp;
use crate::types::{Context, Ino, LockArgs, Result};

pub(super) async fn run<H: Handler>(
    handler: &H,
    interrupts: &Interrupts,
    ctx: &Context,
    ino: Ino,
    op: LockOp,
) -> Result<Reply> {
    match op {
        LockOp::Get { lock } => Ok(Reply::of(&encode::lock_out(&handler.getlk(ctx, ino, &lock).await?))),
        LockOp::Set { lock } => waiting(interrupts, ctx, &lock, handler.setlk(ctx, ino, &lock)).await,
        LockOp::Flock { lock } => waiting(interrupts, ctx, &lock, handler.flock(ctx, ino, &lock)).await,
    }
}

async fn waiting(
    interrupts: &Interrupts,
    ctx: &Context,
    lock: &LockArgs,
    work: impl Future<Output = Result<()>>,
) -> Result<Reply> {
    if !lock.wait {
        work.await?;
        return Ok(Reply::Empty);
    }
    let interrupted = interrupts.watch(ctx.unique);
    tokio::select! {
        biased;
        result = work => result.map(|()| Reply::Empty),
        () = interrupted.wait() => Err(Errno::EINTR),
    }
}
