// SPDX-License-Identifier: Apache-2.0

//! What is said to a run of a metadata server that may have lost what an earlier one acknowledged, cut into messages.

use crate::rpc::logic::acknowledged::Lost;
use crate::rpc::logic::effects::changed;
use nyala_wire::InodeId;
use nyala_wire::codec::decode;
use nyala_wire::frame::MAX_BODY;
use nyala_wire::meta::{Acknowledged, MetaReply, MetaRequest, Replay};

/// Bytes that a message takes besides its changes, and each change besides its request and reply.
const HEAD_BYTES: usize = 512;
const EACH_BYTES: usize = 32;
/// Most open files in one message.
const MAX_OPEN: usize = 10_000;

/// Changes that a later run of a server is to do again.
pub struct ToSay {
    /// In this order; the last one says so.
    pub messages: Vec<Replay>,
    /// What does not fit into a message, by sequence number.
    pub left: Vec<u64>,
}

/// Cuts changes into messages.
pub fn to_say(changes: impl Iterator<Item = (u64, Acknowledged)>) -> ToSay {
    let (mut messages, mut left) = (vec![Replay { changes: Vec::new(), last: true, open: Vec::new() }], Vec::new());
    let mut room = MAX_BODY - HEAD_BYTES;
    for (sequence, change) in changes {
        let bytes = change.request.len() + change.reply.len() + EACH_BYTES;
        if bytes > MAX_BODY - HEAD_BYTES {
            left.push(sequence);
            continue;
        }
        if bytes > room {
            messages.push(Replay { changes: Vec::new(), last: true, open: Vec::new() });
            room = MAX_BODY - HEAD_BYTES;
        }
        room -= bytes;
        if let Some(message) = messages.last_mut() {
            message.changes.push(change);
        }
    }
    let end = messages.len() - 1;
    messages[..end].iter_mut().for_each(|message| message.last = false);
    ToSay { messages, left }
}

/// With the files that are open, in messages of their own before the others.
pub fn with_open(messages: Vec<Replay>, open: &[InodeId]) -> Vec<Replay> {
    let open = open.chunks(MAX_OPEN).map(|open| Replay { changes: Vec::new(), last: false, open: open.to_vec() });
    open.chain(messages).collect()
}

/// What these changes were of.
pub fn what_is_lost(left_out: u64, changes: impl Iterator<Item = (u64, Acknowledged)>) -> Lost {
    let mut lost = Lost { up_to: left_out, ..Lost::default() };
    for (_, change) in changes {
        lost.positions.insert(change.position);
        // What this client encoded, and what it had decoded once.
        let (request, reply) = (decode::<MetaRequest>(&change.request), decode::<MetaReply>(&change.reply));
        if let (Ok(request), Ok(reply)) = (request, reply) {
            lost.inodes.extend(changed(&request.op, &reply).map(|(inode, _)| inode));
        }
    }
    lost
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::SessionId;
    use nyala_wire::meta::{MetaOp, Owner};

    fn change(sequence: u64, bytes: usize) -> (u64, Acknowledged) {
        (sequence, Acknowledged { position: sequence, request: vec![0; bytes].into(), reply: vec![0; 10].into() })
    }

    #[test]
    fn messages_fit_into_bodies_and_the_last_one_says_so() {
        let said = to_say(std::iter::empty());
        assert_eq!(said.messages, [Replay { changes: Vec::new(), last: true, open: Vec::new() }]);
        let said = to_say([change(1, 700_000), change(2, 300_000), change(3, 100_000), change(4, 2 << 20)].into_iter());
        let counts: Vec<(usize, bool)> = said.messages.iter().map(|one| (one.changes.len(), one.last)).collect();
        assert_eq!((counts, said.left), (vec![(2, false), (1, true)], vec![4]));
        for message in said.messages {
            let op = MetaOp::Replay(message);
            let owner = Owner::default();
            let (session, now, want) = (SessionId(u64::MAX), Default::default(), nyala_wire::meta::Want::DELEGATIONS);
            let request = MetaRequest { session, sequence: 0, acked_below: u64::MAX, owner, now, op, want };
            assert!(nyala_wire::codec::encode(&request).len() <= MAX_BODY);
        }
    }
}
