// SPDX-License-Identifier: Apache-2.0

//! One request, understood, to its end: which method of the handler it is for, and when its caller has waited for long enough.

use super::reply::{Replier, Reply};
use super::{Server, dir, early_reply, file, inode, late, lock, tree, xattr};
use crate::abi::header::InHeader;
use crate::abi::opcode::Opcode;
use crate::buf::WriteData;
use crate::errno::Errno;
use crate::handler::Handler;
use crate::request::Op;
use crate::transport::Channel;
use crate::types::{Arrived, Context, Ino};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A request that the handler was told of, until its reply was sent.
struct ActiveRequest<'a, H: Handler> {
    handler: &'a H,
    opcode: u32,
    ino: Ino,
}

impl<H: Handler> Drop for ActiveRequest<'_, H> {
    fn drop(&mut self) {
        self.handler.ended(self.opcode, self.ino);
    }
}

/// Serves one request to its end, with an answer earlier than that if its caller is gone or has waited for too long.
pub(super) async fn run<H: Handler, C: Channel>(
    server: Rc<Server<H, C>>,
    (header, came, queued): (InHeader, Instant, Duration),
    op: Op,
    data: Option<WriteData>,
    replier: Replier<C>,
) {
    let InHeader { opcode, .. } = header;
    let ctx = Context { unique: header.unique, uid: header.uid, gid: header.gid, pid: header.pid };
    let (handler, ino) = (&*server.handler, Ino(header.nodeid));
    let reply = |replier: Replier<C>, result: Result<Reply, Errno>| {
        handler.answered(opcode, came.elapsed(), result.is_err());
        replier.send(result);
    };
    let op = match op {
        // Nobody waits for these, so the reply is given up before the work: a panic must not answer them.
        Op::Forget(forgets) => {
            replier.forgo();
            match forgets[..] {
                [(ino, nlookup)] => handler.forget(ino, nlookup).await,
                ref many => handler.batch_forget(many).await,
            }
            return;
        }
        Op::Interrupt(_) => return replier.forgo(),
        Op::Unsupported if opcode == Opcode::NotifyReply as u32 => return replier.forgo(),
        // These end for any signal, and wait for as long as it takes.
        Op::Lock(op) => return reply(replier, Box::pin(lock::run(handler, &server.interrupts, &ctx, ino, op)).await),
        op => op,
    };
    handler.begins(opcode, ino);
    // Before the work, so that it goes after the reply.
    let active = ActiveRequest { handler, opcode, ino };
    let arrived = Arrived { opcode, ino, came, queued };
    let mut work = pin!(handler.bounded(&ctx, handler.follow(arrived, boxed(handler, &ctx, ino, op, data))));
    let exhausted = early_reply::exhausted(&server.interrupts, &ctx, opcode, handler.time_limit());
    let error = tokio::select! {
        biased;
        result = &mut work => return reply(replier, result),
        error = exhausted => error,
    };
    reply(replier, Err(error));
    drop(active);
    if let Ok(reply) = work.await {
        Box::pin(late::take_back(handler, &ctx, opcode, ino, &reply)).await;
    }
}

/// [`perform`], boxed: a wrapper has room for what it wraps twice, as its argument and as what it waits for, and moves it from one to the
/// other. The eight kilobytes of a create would come to hundreds, all of them copied for each request.
fn boxed<'a, H: Handler>(
    handler: &'a H,
    ctx: &'a Context,
    ino: Ino,
    op: Op,
    data: Option<WriteData>,
) -> Pin<Box<impl Future<Output = Result<Reply, Errno>> + use<'a, H>>> {
    Box::pin(perform(handler, ctx, ino, op, data))
}

/// Does what a request asks for.
async fn perform<H: Handler>(
    handler: &H,
    ctx: &Context,
    ino: Ino,
    op: Op,
    data: Option<WriteData>,
) -> Result<Reply, Errno> {
    match op {
        Op::Tree(op) => tree::run(handler, ctx, ino, op).await,
        Op::Inode(op) => inode::run(handler, ctx, ino, op).await,
        Op::File(op) => file::run(handler, ctx, ino, op, data).await,
        Op::Dir(op) => dir::run(handler, ctx, ino, op).await,
        Op::Xattr(op) => xattr::run(handler, ctx, ino, op).await,
        // The session itself tells the handler once the device is gone.
        Op::Destroy => Ok(Reply::Empty),
        Op::Init => Err(Errno::EIO),
        Op::Unsupported | Op::Lock(_) | Op::Forget(_) | Op::Interrupt(_) => Err(Errno::ENOSYS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::NyalaFs;
    use crate::transport::dev::DevFuse;

    fn size_of_future<A, B, C, D, E, F>(_: impl Fn(A, B, C, D, E) -> F) -> usize {
        size_of::<F>()
    }

    /// What is moved and copied for each request, whatever it asks for.
    #[test]
    fn a_request_is_small() {
        let (whole, work) = (size_of_future(run::<NyalaFs, DevFuse>), size_of_future(perform::<NyalaFs>));
        assert!(whole <= 6_144, "{whole} bytes");
        assert!(work <= 12_288, "{work} bytes");
    }
}
