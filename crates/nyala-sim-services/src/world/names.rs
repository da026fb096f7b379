// SPDX-License-Identifier: Apache-2.0

//! What a client does to the names of which an order is looked for ([`crate::check::names`]).

use super::setup::OWNER;
use crate::check::names::{NAMES, Op};
use crate::random::Random;
use nyala_client::{Client, Error};
use nyala_wire::meta::Rename;
use nyala_wire::{InodeId, Name};

/// One of them; links are made of a file that was seen.
pub fn choose(random: &mut Random, seen: Option<InodeId>) -> Op {
    let (one, other) = (random.index(NAMES.len()), 1 + random.index(NAMES.len() - 1));
    let (from, to) = (one, (one + other) % NAMES.len());
    match (random.below(8), seen) {
        (0 | 1, _) => Op::Create(one),
        (2, _) => Op::Unlink(one),
        (3, _) => Op::Rename { from, to, no_replace: false },
        (4, _) => Op::Rename { from, to, no_replace: true },
        (5, Some(inode)) => Op::Link { inode: inode.0, to },
        _ => Op::Lookup(one),
    }
}

/// Does it; the inode of what was made or found.
pub async fn act(client: &Client, at: InodeId, op: Op) -> Result<Option<InodeId>, Error> {
    let name = |name: usize| Name::new(NAMES[name].as_bytes()).expect("a short name without a slash");
    match op {
        Op::Create(name) => {
            let (attr, handle) = client.create(at, NAMES[name].as_bytes(), 0o644, OWNER, true).await?;
            // The name is there, whatever becomes of the handle.
            drop(handle.release().await);
            Ok(Some(attr.inode))
        }
        Op::Unlink(name) => client.unlink(at, NAMES[name].as_bytes()).await.map(|()| None),
        Op::Lookup(name) => Ok(Some(client.lookup(at, NAMES[name].as_bytes()).await?.inode)),
        Op::Link { inode, to } => client.link(InodeId(inode), at, NAMES[to].as_bytes()).await.map(|_| None),
        Op::Rename { from, to, no_replace } => {
            let (from_name, to_name) = (name(from), name(to));
            let rename = Rename { from_parent: at, from_name, to_parent: at, to_name, no_replace, exchange: false };
            client.rename(rename).await.map(|()| None)
        }
        Op::Shake => Ok(None),
    }
}
