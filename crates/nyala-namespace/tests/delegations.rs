// SPDX-License-Identifier: Apache-2.0

//! The lease protocol between a server and clients whose messages overtake each other, get lost and come twice. What
//! must hold: when the server lets an operation pass, no other client believes that it may keep what the operation
//! changes.

use nyala_namespace::delegations::{Delegations, Need};
use nyala_wire::meta::{LeaseMode, Returned, Revocation};
use nyala_wire::{InodeId, SessionId};
use proptest::prelude::*;
use std::collections::HashMap;

const CLIENTS: u64 = 3;
const INODES: u64 = 2;

#[derive(Debug, Clone, Copy)]
enum Message {
    Grant(InodeId, LeaseMode, u64),
    Revoke(Revocation),
    Return(Returned),
}

#[derive(Default)]
struct Client {
    /// What it believes to have, and the number of the last grant.
    held: HashMap<InodeId, (LeaseMode, u64)>,
    /// The highest revocation seen.
    void: HashMap<InodeId, u64>,
}

struct World {
    server: Delegations,
    clients: Vec<Client>,
    wire: Vec<(usize, Message)>,
    now_ms: u64,
}

impl World {
    fn session(client: usize) -> SessionId {
        SessionId(client as u64 + 1)
    }

    /// A request that shows the inode and wants `mode`, or changes it; it passes or it does not.
    fn request(&mut self, client: usize, inode: InodeId, need: Need) {
        let session = Self::session(client);
        let passes = self.server.clear(inode, session, need, self.now_ms);
        if !passes {
            return;
        }
        self.check(client, inode, need);
        let seq = self.server.next_seq();
        let given = match need {
            Need::Read => self.server.give(inode, session, LeaseMode::Shared, seq, self.now_ms),
            Need::Grant(mode) => self.server.insist(inode, session, mode, seq),
            Need::Change | Need::Remove => LeaseMode::None,
        };
        if given != LeaseMode::None {
            self.wire.push((client, Message::Grant(inode, given, seq)));
        }
    }

    fn check(&self, by: usize, inode: InodeId, need: Need) {
        for (number, client) in self.clients.iter().enumerate().filter(|(number, _)| *number != by) {
            let mode = client.held.get(&inode).map_or(LeaseMode::None, |held| held.0);
            let harmless = match need {
                Need::Read => mode != LeaseMode::Exclusive,
                Need::Change => mode == LeaseMode::None || mode == LeaseMode::Uncached,
                Need::Remove => mode == LeaseMode::None,
                Need::Grant(wanted) => wanted.agrees(mode),
            };
            assert!(harmless, "client {number} believes in {mode:?} while {by} has passed for {need:?}");
        }
    }

    fn deliver(&mut self, at: usize, lose: bool, again: bool) {
        let (client, message) = if again { self.wire[at] } else { self.wire.swap_remove(at) };
        if lose {
            return;
        }
        let own = &mut self.clients[client];
        match message {
            // A reply comes once; a repeated one is another reply.
            Message::Grant(..) if again => {}
            Message::Grant(inode, mode, seq) => {
                if own.void.get(&inode).is_none_or(|void| seq > *void) {
                    let held = own.held.entry(inode).or_default();
                    if seq > held.1 {
                        // An opportunistic grant never lowers what is held.
                        *held = (if held.0 == LeaseMode::Exclusive { held.0 } else { mode }, seq);
                    }
                }
            }
            Message::Revoke(revocation) => {
                let void = own.void.entry(revocation.inode).or_default();
                *void = (*void).max(revocation.seq);
                let held = own.held.entry(revocation.inode).or_default();
                if held.1 < revocation.seq {
                    held.0 = held.0.min(revocation.keep);
                }
                let returned = Returned {
                    inode: revocation.inode,
                    keep: if held.1 < revocation.seq { held.0 } else { LeaseMode::None },
                    seq: revocation.seq,
                    open: false,
                };
                self.wire.push((client, Message::Return(returned)));
            }
            Message::Return(returned) => {
                self.server.returned(Self::session(client), &returned);
            }
        }
    }

    fn poll(&mut self, client: usize) {
        for revocation in self.server.poll(Self::session(client), self.now_ms) {
            self.wire.push((client, Message::Revoke(revocation)));
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Request(usize, u64, u8),
    Deliver(prop::sample::Index, bool, bool),
    Poll(usize),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let client = 0..CLIENTS as usize;
    let step = prop_oneof![
        4 => (client.clone(), 1..=INODES, 0..6_u8).prop_map(|(client, inode, what)| Step::Request(client, inode, what)),
        6 => (any::<prop::sample::Index>(), prop::bool::weighted(0.1), prop::bool::weighted(0.1))
            .prop_map(|(at, lose, again)| Step::Deliver(at, lose, again)),
        3 => client.prop_map(Step::Poll),
        1 => (1..5_000_u64).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..200)
}

fn need(what: u8) -> Need {
    match what {
        0 => Need::Read,
        1 => Need::Change,
        2 => Need::Grant(LeaseMode::Shared),
        3 => Need::Grant(LeaseMode::Uncached),
        4 => Need::Remove,
        _ => Need::Grant(LeaseMode::Exclusive),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn nobody_believes_in_what_another_was_let_past(steps in steps()) {
        let clients = (0..CLIENTS).map(|_| Client::default()).collect();
        let mut world = World { server: Delegations::default(), clients, wire: Vec::new(), now_ms: 10_000 };
        for step in steps {
            match step {
                Step::Request(client, inode, what) => world.request(client, InodeId(inode), need(what)),
                Step::Deliver(at, lose, again) if !world.wire.is_empty() => {
                    let at = at.index(world.wire.len());
                    // A lost grant or return is made good by the next revocation; a lost revocation is said again.
                    world.deliver(at, lose, again && !lose);
                }
                Step::Deliver(..) => {}
                Step::Poll(client) => world.poll(client),
                Step::Wait(ms) => world.now_ms += ms,
            }
        }
        // A quiet network: everybody lets go, and a change passes in the end.
        for round in 0..20 {
            world.now_ms += 4_000;
            for inode in 1..=INODES {
                world.request(0, InodeId(inode), Need::Change);
            }
            for client in 0..CLIENTS as usize {
                world.poll(client);
            }
            while !world.wire.is_empty() {
                world.deliver(0, false, false);
            }
            if round > 2 {
                for inode in 1..=INODES {
                    prop_assert!(world.server.clear(InodeId(inode), SessionId(1), Need::Change, world.now_ms));
                }
            }
        }
    }
}

#[test]
fn waiting_operations_keep_others_from_being_given_anything() {
    let (a, b, c) = (SessionId(1), SessionId(2), SessionId(3));
    let inode = InodeId(9);
    let mut leases = Delegations::default();
    assert_eq!(leases.give(inode, a, LeaseMode::Exclusive, 1, 0), LeaseMode::Exclusive);
    assert!(!leases.clear(inode, b, Need::Change, 0));
    assert_eq!(leases.take_news(), [a]);
    let ticket = leases.queue(inode, b, false);
    assert_eq!(leases.give(inode, a, LeaseMode::Shared, 2, 0), LeaseMode::None, "what is being taken is not given");
    let said = leases.poll(a, 0);
    assert_eq!(said.len(), 1);
    assert!(leases.poll(a, 10).is_empty(), "said once");
    assert_eq!(leases.poll(a, 4_000).len(), 1, "and again when nothing came");
    let kept = Returned { inode, keep: LeaseMode::Shared, seq: said[0].seq, open: false };
    assert!(leases.returned(a, &kept), "half of it is back");
    assert!(!leases.clear(inode, b, Need::Change, 0), "but not enough");
    assert!(leases.returned(a, &Returned { keep: LeaseMode::None, ..kept }));
    assert!(leases.clear(inode, b, Need::Change, 0));
    assert_eq!(leases.give(inode, c, LeaseMode::Shared, 9, 0), LeaseMode::None, "b is not through yet");
    leases.leave(inode, ticket);
    assert_eq!(leases.give(inode, c, LeaseMode::Shared, 9, 0), LeaseMode::Shared);
    leases.end_session(c);
    assert_eq!(leases.figures().0, 0);
}

#[test]
fn a_guess_gets_a_readers_lease_only_where_nobody_is_disturbed() {
    let (a, b) = (SessionId(1), SessionId(2));
    let inode = InodeId(9);
    let mut leases = Delegations::default();
    assert!(leases.is_free_to_read(inode, a, 0));
    for (mode, free, own) in
        [(LeaseMode::Shared, true, true), (LeaseMode::Uncached, false, false), (LeaseMode::Exclusive, false, true)]
    {
        assert_eq!(leases.give(inode, b, mode, 1, 0), mode);
        assert_eq!((leases.is_free_to_read(inode, a, 0), leases.is_free_to_read(inode, b, 0)), (free, own), "{mode:?}");
        let seq = leases.next_seq();
        assert_eq!(leases.give(inode, a, LeaseMode::Shared, seq, 0) == LeaseMode::Shared, free, "what it says it gets");
        assert!(leases.poll(b, 0).is_empty() && leases.take_news().is_empty(), "nobody was told anything");
        leases.end_session(a);
        leases.end_session(b);
    }
    // Somebody waits, and b is to let go.
    leases.give(inode, b, LeaseMode::Shared, 1, 0);
    let ticket = leases.queue(inode, a, false);
    assert!(!leases.clear(inode, a, Need::Change, 0));
    assert!(!leases.is_free_to_read(inode, a, 0) && !leases.is_free_to_read(inode, b, 0));
    leases.leave(inode, ticket);
    assert!(!leases.is_free_to_read(inode, b, 0), "it is on its way back");
}

#[test]
fn a_file_that_goes_to_and_fro_is_best_used_uncached() {
    let (a, b) = (SessionId(1), SessionId(2));
    let inode = InodeId(9);
    let mut leases = Delegations::default();
    let (mut who, mut other, mut turns) = (a, b, 0);
    while leases.best(inode, who, true, false, turns * 10) == LeaseMode::Exclusive && turns < 50 {
        let now = turns * 10;
        assert_eq!(leases.best(inode, who, true, true, now), LeaseMode::Exclusive, "who insists gets it");
        let ticket = leases.queue(inode, who, false);
        if !leases.clear(inode, who, Need::Grant(LeaseMode::Exclusive), now) {
            for revocation in leases.poll(other, now) {
                let (inode, seq) = (revocation.inode, revocation.seq);
                leases.returned(other, &Returned { inode, keep: LeaseMode::None, seq, open: false });
            }
        }
        let seq = leases.next_seq();
        assert_eq!(leases.insist(inode, who, LeaseMode::Exclusive, seq), LeaseMode::Exclusive);
        leases.leave(inode, ticket);
        std::mem::swap(&mut who, &mut other);
        turns += 1;
    }
    assert!((3..8).contains(&turns), "after some turns: {turns}");
    let late = turns * 10 + 2_000;
    assert_eq!(leases.best(inode, who, true, false, late), LeaseMode::Exclusive, "until it is quiet again");
}

#[test]
fn after_a_restart_everybody_has_to_let_go_first() {
    let mut leases = Delegations::recovering([SessionId(1), SessionId(2)]);
    assert!(!leases.recovered() && leases.may_write(SessionId(1)));
    assert!(!leases.confirm(SessionId(1), &[], &[]));
    assert!(!leases.confirm(SessionId(1), &[], &[]), "once counts");
    leases.end_session(SessionId(2));
    assert!(leases.recovered());
}

#[test]
fn what_a_client_is_moving_when_its_server_restarts_it_alone_goes_on_moving() {
    let (a, b, inode) = (SessionId(1), SessionId(2), InodeId(9));
    let mut leases = Delegations::recovering([a, b]);
    assert!(!leases.confirm(a, &[], &[inode]));
    assert!(leases.confirm(b, &[], &[]));
    assert!(!leases.claim(inode, b) && !leases.clear(inode, b, Need::Grant(LeaseMode::Exclusive), 0));
    assert!(leases.clear(inode, b, Need::Change, 0), "the version tells who was first");
    leases.moved(inode, a);
    assert!(leases.claim(inode, b));
}

#[test]
fn what_a_client_cannot_let_go_of_after_a_restart_stays_its_own_and_keeps_nobody_else_out() {
    let (a, b, inode) = (SessionId(1), SessionId(2), InodeId(9));
    let mut leases = Delegations::recovering([a]);
    let kept = Returned { inode, keep: LeaseMode::Exclusive, seq: 7_000, open: false };
    assert!(leases.confirm(a, &[kept], &[]));
    assert!(leases.recovered() && leases.may_write(a));
    assert!(!leases.clear(inode, b, Need::Read, 0), "its changes are not committed");
    assert!(leases.clear(InodeId(10), b, Need::Change, 0));
    let asked = leases.poll(a, 0);
    assert_eq!(asked.iter().map(|one| (one.inode, one.keep)).collect::<Vec<_>>(), [(inode, LeaseMode::Shared)]);
    assert!(
        !leases.confirm(a, &[Returned { inode: InodeId(11), ..kept }], &[]),
        "only once, before others are given anything"
    );
    assert!(leases.clear(InodeId(11), b, Need::Change, 0));
    assert!(leases.returned(a, &Returned { keep: LeaseMode::None, ..kept }), "by a number of the earlier run");
    assert!(leases.clear(inode, b, Need::Change, 0));
}

#[test]
fn pinned_operations_that_wait_for_each_other_go_one_by_one() {
    let (a, b, c) = (SessionId(1), SessionId(2), SessionId(3));
    let inode = InodeId(9);
    let mut leases = Delegations::default();
    for session in [a, b, c] {
        let seq = leases.next_seq();
        assert_eq!(leases.give(inode, session, LeaseMode::Shared, seq, 0), LeaseMode::Shared);
    }
    let wait = |leases: &mut Delegations, session, pinned| {
        assert!(!leases.clear(inode, session, Need::Change, 0));
        leases.queue(inode, session, pinned)
    };
    let first = wait(&mut leases, a, true);
    let second = wait(&mut leases, b, true);
    let third = wait(&mut leases, c, false);
    assert!(!leases.passes(inode, first), "c can let go");
    let said = leases.poll(c, 0);
    let back = |seq| Returned { inode, keep: LeaseMode::None, seq, open: false };
    assert!(leases.returned(c, &back(said[0].seq)));
    assert!(leases.passes(inode, first), "b cannot before it is answered");
    assert!(!leases.passes(inode, second), "one at a time");
    assert!(!leases.passes(inode, third), "who is not pinned waits until others have let go");
    leases.leave(inode, first);
    assert!(!leases.passes(inode, second), "a can let go now");
    let said = leases.poll(a, 0);
    assert!(leases.returned(a, &back(said[0].seq)));
    assert!(leases.clear(inode, b, Need::Change, 0));
}

#[test]
fn one_session_at_a_time_moves_content_and_nobody_gets_an_exclusive_lease_meanwhile() {
    let (a, b) = (SessionId(1), SessionId(2));
    let inode = InodeId(9);
    let exclusive = Need::Grant(LeaseMode::Exclusive);
    let mut leases = Delegations::default();
    assert!(leases.claim(inode, a) && leases.claim(inode, a), "its own is no obstacle");
    assert!(!leases.claim(inode, b) && !leases.clear(inode, b, exclusive, 0));
    assert_eq!(leases.give(inode, b, LeaseMode::Exclusive, 1, 0), LeaseMode::None);
    assert_eq!(leases.give(inode, b, LeaseMode::Shared, 2, 0), LeaseMode::Shared);
    // Both are pinned: who moves goes first, though it came later; the other one waits for just that.
    let waits = leases.queue(inode, b, true);
    assert!(!leases.clear(inode, a, Need::Change, 0));
    let moves = leases.queue(inode, a, true);
    assert!(leases.passes(inode, moves) && !leases.passes(inode, waits));
    leases.leave(inode, moves);
    leases.moved(inode, b);
    assert!(!leases.claim(inode, b), "only who has it gives it up");
    leases.moved(inode, a);
    assert!(leases.claim(inode, b));
    leases.leave(inode, waits);
    leases.end_session(b);
    assert!(leases.clear(inode, a, exclusive, 0) && leases.claim(inode, a), "a session's end frees it");
}
