// SPDX-License-Identifier: Apache-2.0

//! Operations on extended attributes. Pure.

use super::ParseError;
use super::args::Args;
use crate::abi::args::*;
use crate::abi::opcode::Opcode;

#[derive(Debug)]
pub(crate) enum XattrOp {
    Set { name: Vec<u8>, value: Vec<u8>, flags: i32, kill_sgid: bool },
    Get { name: Vec<u8>, size: u32 },
    List { size: u32 },
    Remove { name: Vec<u8> },
}

/// `extended`: SETXATTR comes in its longer form.
pub(super) fn parse(opcode: Opcode, args: &mut Args<'_>, extended: bool) -> Result<XattrOp, ParseError> {
    Ok(match opcode {
        Opcode::Setxattr => {
            let (size, flags, more) = if extended {
                let SetxattrIn { size, flags, setxattr_flags, .. } = args.fixed()?;
                (size, flags, setxattr_flags)
            } else {
                let SetxattrInShort { size, flags } = args.fixed()?;
                (size, flags, 0)
            };
            let name = args.string()?.to_vec();
            let value = args.bytes(size as usize)?.to_vec();
            XattrOp::Set { name, value, flags: flags as i32, kill_sgid: more & SETXATTR_ACL_KILL_SGID != 0 }
        }
        Opcode::Getxattr => {
            let GetxattrIn { size, .. } = args.fixed()?;
            XattrOp::Get { name: args.string()?.to_vec(), size }
        }
        Opcode::Listxattr => XattrOp::List { size: args.fixed::<GetxattrIn>()?.size },
        Opcode::Removexattr => XattrOp::Remove { name: args.string()?.to_vec() },
        other => return Err(ParseError::Unknown(other as u32)),
    })
}
