// SPDX-License-Identifier: Apache-2.0

//! Extended attributes: the probing of sizes is done here, handlers know only values.

use super::Reply;
use crate::abi::replies::GetxattrOut;
use crate::errno::Errno;
use crate::handler::Handler;
use crate::request::XattrOp;
use crate::types::{Context, Ino, Result};

/// The kernel takes no list of names and no value above this (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
const MAX_BYTES: usize = 65536;

pub(super) async fn run<H: Handler>(handler: &H, ctx: &Context, ino: Ino, op: XattrOp) -> Result<Reply> {
    match op {
        XattrOp::Set { name, value, flags, kill_sgid } => {
            handler.setxattr(ctx, ino, &name, &value, flags, kill_sgid).await?;
            Ok(Reply::Empty)
        }
        XattrOp::Get { name, size } => sized(handler.getxattr(ctx, ino, &name).await?, size),
        XattrOp::List { size } => {
            let names = handler.listxattr(ctx, ino).await?;
            let mut packed = Vec::with_capacity(names.iter().map(|name| name.len() + 1).sum());
            for name in &names {
                packed.extend_from_slice(name);
                packed.push(0);
            }
            sized(packed, size)
        }
        XattrOp::Remove { name } => {
            handler.removexattr(ctx, ino, &name).await?;
            Ok(Reply::Empty)
        }
    }
}

/// The value if it fits into the caller's `size`, or how long it is if that is zero.
fn sized(value: Vec<u8>, size: u32) -> Result<Reply> {
    if value.len() > MAX_BYTES {
        return Err(Errno::E2BIG);
    }
    if size == 0 {
        return Ok(Reply::of(&GetxattrOut { size: value.len() as u32, padding: 0 }));
    }
    if value.len() > size as usize { Err(Errno::ERANGE) } else { Ok(Reply::Bytes(value)) }
}
