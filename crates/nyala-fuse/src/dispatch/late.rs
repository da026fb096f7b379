// SPDX-License-Identifier: Apache-2.0

//! What a reply would have given the kernel that it did not get any more: references to nodes and open files, which are
//! given back to the handler.

use super::reply::Reply;
use crate::abi::opcode::Opcode;
use crate::abi::replies::{Dirent, EntryOut, OpenOut};
use crate::handler::Handler;
use crate::types::{Context, Fh, Ino, ReleaseArgs};
use zerocopy::FromBytes;

/// What the kernel would hold.
#[derive(Debug, Default, PartialEq, Eq)]
struct Granted {
    nodes: Vec<Ino>,
    open: Option<Fh>,
}

/// Takes back what a reply of this operation that was not sent would have given away. `ino`: the request's node.
pub(super) async fn take_back<H: Handler>(handler: &H, ctx: &Context, opcode: u32, ino: Ino, reply: &Reply) {
    let Some(opcode) = Opcode::from_number(opcode) else { return };
    let granted = granted(opcode, reply.bytes());
    if let Some(fh) = granted.open {
        let args = ReleaseArgs { fh, flags: 0, lock_owner: 0, flush: false, flock_unlock: false };
        let node = granted.nodes.first().copied().unwrap_or(ino);
        let released = match opcode {
            Opcode::Opendir => handler.releasedir(ctx, node, &args).await,
            _ => handler.release(ctx, node, &args).await,
        };
        if let Err(error) = released {
            tracing::debug!(?node, ?error, "an open file whose opener is gone was not released cleanly");
        }
    }
    for node in granted.nodes {
        handler.forget(node, 1).await;
    }
}

fn granted(opcode: Opcode, bytes: &[u8]) -> Granted {
    let node = |bytes: &[u8]| {
        let entry = EntryOut::read_from_prefix(bytes).ok().map(|(entry, _)| Ino(entry.nodeid));
        entry.filter(|node| *node != Ino(0))
    };
    let open = |bytes: &[u8]| OpenOut::read_from_prefix(bytes).ok().map(|(open, _)| Fh(open.fh));
    match opcode {
        Opcode::Lookup | Opcode::Symlink | Opcode::Mknod | Opcode::Mkdir | Opcode::Link => {
            Granted { nodes: node(bytes).into_iter().collect(), open: None }
        }
        Opcode::Create | Opcode::Tmpfile => Granted {
            nodes: node(bytes).into_iter().collect(),
            open: bytes.get(size_of::<EntryOut>()..).and_then(open),
        },
        Opcode::Open | Opcode::Opendir => Granted { nodes: Vec::new(), open: open(bytes) },
        Opcode::Readdirplus => Granted { nodes: listed(bytes), open: None },
        _ => Granted::default(),
    }
}

/// The nodes of a listing with attributes.
fn listed(mut bytes: &[u8]) -> Vec<Ino> {
    let mut nodes = Vec::new();
    while let Ok((entry, rest)) = EntryOut::read_from_prefix(bytes) {
        let Ok((dirent, _)) = Dirent::read_from_prefix(rest) else { break };
        if entry.nodeid != 0 {
            nodes.push(Ino(entry.nodeid));
        }
        let len = (size_of::<EntryOut>() + size_of::<Dirent>() + dirent.namelen as usize).next_multiple_of(8);
        match bytes.get(len..) {
            Some(rest) => bytes = rest,
            None => break,
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DirBuffer;
    use crate::encode;
    use crate::types::{Entry, Opened};
    use std::time::Duration;

    fn entry(ino: u64) -> Entry {
        Entry { ino: Ino(ino), ..Entry::missing(Duration::ZERO) }
    }

    #[test]
    fn what_each_reply_gives_away() {
        let one = Reply::of(&encode::entry_out(&entry(7)));
        assert_eq!(granted(Opcode::Lookup, one.bytes()), Granted { nodes: vec![Ino(7)], open: None });
        let missing = Reply::of(&encode::entry_out(&entry(0)));
        assert_eq!(granted(Opcode::Lookup, missing.bytes()), Granted::default());
        assert_eq!(granted(Opcode::Getattr, one.bytes()), Granted::default());
        let opened = encode::open_out(&Opened { fh: Fh(9), mode: Default::default() });
        let both = Reply::pair(&encode::entry_out(&entry(8)), &opened);
        assert_eq!(granted(Opcode::Create, both.bytes()), Granted { nodes: vec![Ino(8)], open: Some(Fh(9)) });
        assert_eq!(granted(Opcode::Open, Reply::of(&opened).bytes()), Granted { nodes: vec![], open: Some(Fh(9)) });
        assert_eq!(granted(Opcode::Open, &[]), Granted::default());
    }

    #[test]
    fn all_nodes_of_a_listing_are_found() {
        let mut buf = DirBuffer::new(4096, true);
        assert!(buf.add(1, 1, libc::DT_DIR, b"."));
        for (ino, name) in [(5, &b"a"[..]), (6, b"eight..."), (7, b"a longer name")] {
            assert!(buf.add_entry(&entry(ino), ino, name));
        }
        let reply = Reply::Bytes(buf.into_bytes());
        assert_eq!(granted(Opcode::Readdirplus, reply.bytes()).nodes, [Ino(5), Ino(6), Ino(7)]);
        assert!(granted(Opcode::Readdirplus, &reply.bytes()[..200]).nodes.len() <= 1, "cut off: no panic");
    }
}
