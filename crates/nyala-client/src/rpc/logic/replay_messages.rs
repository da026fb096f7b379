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

/// One message, and the sequence numbers of its changes.
pub struct Message {
    /// It.
    pub replay: Replay,
    /// Of its changes.
    pub numbers: Vec<u64>,
}

impl Message {
    fn empty(last: bool) -> Message {
        Message { replay: Replay { changes: Vec::new(), last, open: Vec::new(), run: None }, numbers: Vec::new() }
    }
}

/// What a later run of a server is to hear.
pub struct ToSay {
    /// In this order; the last one says so, and nothing else.
    pub messages: Vec<Message>,
    /// What does not fit into a message, by sequence number.
    pub too_large: Vec<u64>,
}

/// Cuts changes into messages; which run they are for is not filled in.
pub fn to_say(changes: impl Iterator<Item = (u64, Acknowledged)>) -> ToSay {
    let (mut messages, mut too_large, mut room) = (Vec::new(), Vec::new(), 0);
    for (sequence, change) in changes {
        let bytes = change.request.len() + change.reply.len() + EACH_BYTES;
        if bytes > MAX_BODY - HEAD_BYTES {
            too_large.push(sequence);
            continue;
        }
        if bytes > room {
            messages.push(Message::empty(false));
            room = MAX_BODY - HEAD_BYTES;
        }
        room -= bytes;
        if let Some(message) = messages.last_mut() {
            message.replay.changes.push(change);
            message.numbers.push(sequence);
        }
    }
    messages.push(Message::empty(true));
    ToSay { messages, too_large }
}

/// With the files that are open, in messages of their own before the others.
pub fn with_open(messages: Vec<Message>, open: &[InodeId]) -> Vec<Message> {
    let open = open.chunks(MAX_OPEN).map(|open| {
        let mut message = Message::empty(false);
        message.replay.open = open.to_vec();
        message
    });
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
        assert_eq!(said.messages.iter().map(|one| one.replay.last).collect::<Vec<_>>(), [true]);
        let said = to_say([change(1, 700_000), change(2, 300_000), change(3, 100_000), change(4, 2 << 20)].into_iter());
        let numbers: Vec<_> = said.messages.iter().map(|one| (one.numbers.clone(), one.replay.last)).collect();
        assert_eq!(numbers, [(vec![1, 2], false), (vec![3], false), (vec![], true)]);
        assert_eq!(said.too_large, [4]);
        for message in said.messages {
            let op = MetaOp::Replay(message.replay);
            let owner = Owner::default();
            let (session, now, want) = (SessionId(u64::MAX), Default::default(), nyala_wire::meta::Want::DELEGATIONS);
            let request = MetaRequest {
                session,
                sequence: 0,
                acked_below: u64::MAX,
                owner,
                now,
                op,
                want,
                caller: None,
                user: None,
            };
            assert!(nyala_wire::codec::encode(&request).len() <= MAX_BODY);
        }
    }
}
