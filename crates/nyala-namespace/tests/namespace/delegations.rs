// SPDX-License-Identifier: Apache-2.0

//! The delegation protocol between a server and clients whose messages overtake each other, get lost and come twice. What
//! must hold: when the server lets an operation pass, no other client believes that it may keep what the operation
//! changes.

use nyala_namespace::delegations::{Delegations, Need};
use nyala_namespace::held_slots::MayHold;
use nyala_wire::meta::{DelegationMode, Returned, Revocation};
use nyala_wire::{InodeId, SessionId};
use proptest::prelude::*;
use std::collections::HashMap;

const CLIENTS: u64 = 3;
const INODES: u64 = 2;

#[derive(Debug, Clone, Copy)]
enum Message {
    Grant(InodeId, DelegationMode, u64),
    Revoke(Revocation),
    Return(Returned),
}

#[derive(Default)]
struct Client {
    /// What it believes to have, and the number of the last grant.
    held: HashMap<InodeId, (DelegationMode, u64)>,
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
            Need::Read => self.server.give(inode, session, DelegationMode::Shared, seq, self.now_ms),
            Need::Grant(mode) => self.server.insist(inode, session, mode, seq),
            Need::Change | Need::Remove => DelegationMode::None,
        };
        if given != DelegationMode::None {
            self.wire.push((client, Message::Grant(inode, given, seq)));
        }
    }

    fn check(&self, by: usize, inode: InodeId, need: Need) {
        for (number, client) in self.clients.iter().enumerate().filter(|(number, _)| *number != by) {
            let mode = client.held.get(&inode).map_or(DelegationMode::None, |held| held.0);
            let harmless = match need {
                Need::Read => mode != DelegationMode::Exclusive,
                Need::Change => mode == DelegationMode::None || mode == DelegationMode::Uncached,
                Need::Remove => mode == DelegationMode::None,
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
                        *held = (if held.0 == DelegationMode::Exclusive { held.0 } else { mode }, seq);
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
                    keep: if held.1 < revocation.seq { held.0 } else { DelegationMode::None },
                    seq: revocation.seq,
                    open: false,
                };
                self.wire.push((client, Message::Return(returned)));
            }
            Message::Return(returned) => {
                self.server.returned(Self::session(client), &returned, 0);
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
        2 => Need::Grant(DelegationMode::Shared),
        3 => Need::Grant(DelegationMode::Uncached),
        4 => Need::Remove,
        _ => Need::Grant(DelegationMode::Exclusive),
    }
}

/// After a restart that says nothing of what sessions held.
fn recovering(sessions: impl IntoIterator<Item = SessionId>) -> Delegations {
    let mut delegations = Delegations::default();
    delegations.recover(sessions.into_iter().map(|session| (session, MayHold::Anything)).collect(), u64::MAX);
    delegations
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
    let mut delegations = Delegations::default();
    assert_eq!(delegations.give(inode, a, DelegationMode::Exclusive, 1, 0), DelegationMode::Exclusive);
    assert!(!delegations.clear(inode, b, Need::Change, 0));
    assert_eq!(delegations.take_news(), [a]);
    let ticket = delegations.queue(inode, b, false);
    assert_eq!(
        delegations.give(inode, a, DelegationMode::Shared, 2, 0),
        DelegationMode::None,
        "what is being taken is not given"
    );
    let said = delegations.poll(a, 0);
    assert_eq!(said.len(), 1);
    assert!(delegations.poll(a, 10).is_empty(), "said once");
    assert_eq!(delegations.poll(a, 4_000).len(), 1, "and again when nothing came");
    let kept = Returned { inode, keep: DelegationMode::Shared, seq: said[0].seq, open: false };
    assert!(delegations.returned(a, &kept, 0), "half of it is back");
    assert!(!delegations.clear(inode, b, Need::Change, 0), "but not enough");
    assert!(delegations.returned(a, &Returned { keep: DelegationMode::None, ..kept }, 0));
    assert!(delegations.clear(inode, b, Need::Change, 0));
    assert_eq!(delegations.give(inode, c, DelegationMode::Shared, 9, 0), DelegationMode::None, "b is not through yet");
    delegations.leave(inode, ticket);
    assert_eq!(delegations.give(inode, c, DelegationMode::Shared, 9, 0), DelegationMode::Shared);
    delegations.end_session(c);
    assert_eq!(delegations.figures().0, 0);
}

#[test]
fn a_guess_gets_a_readers_delegation_only_where_nobody_is_disturbed() {
    let (a, b) = (SessionId(1), SessionId(2));
    let inode = InodeId(9);
    let mut delegations = Delegations::default();
    assert!(delegations.is_free_to_read(inode, a, 0));
    for (mode, free, own) in [
        (DelegationMode::Shared, true, true),
        (DelegationMode::Uncached, false, false),
        (DelegationMode::Exclusive, false, true),
    ] {
        assert_eq!(delegations.give(inode, b, mode, 1, 0), mode);
        assert_eq!(
            (delegations.is_free_to_read(inode, a, 0), delegations.is_free_to_read(inode, b, 0)),
            (free, own),
            "{mode:?}"
        );
        let seq = delegations.next_seq();
        assert_eq!(
            delegations.give(inode, a, DelegationMode::Shared, seq, 0) == DelegationMode::Shared,
            free,
            "what it says it gets"
        );
        assert!(delegations.poll(b, 0).is_empty() && delegations.take_news().is_empty(), "nobody was told anything");
        delegations.end_session(a);
        delegations.end_session(b);
    }
    // Somebody waits, and b is to let go.
    delegations.give(inode, b, DelegationMode::Shared, 1, 0);
    let ticket = delegations.queue(inode, a, false);
    assert!(!delegations.clear(inode, a, Need::Change, 0));
    assert!(!delegations.is_free_to_read(inode, a, 0) && !delegations.is_free_to_read(inode, b, 0));
    delegations.leave(inode, ticket);
    assert!(!delegations.is_free_to_read(inode, b, 0), "it is on its way back");
}

#[test]
fn a_file_that_goes_to_and_fro_is_best_used_uncached() {
    let (a, b) = (SessionId(1), SessionId(2));
    let inode = InodeId(9);
    let mut delegations = Delegations::default();
    let (mut who, mut other, mut turns) = (a, b, 0);
    while delegations.best(inode, who, true, false, turns * 10) == DelegationMode::Exclusive && turns < 50 {
        let now = turns * 10;
        assert_eq!(delegations.best(inode, who, true, true, now), DelegationMode::Exclusive, "who insists gets it");
        let ticket = delegations.queue(inode, who, false);
        if !delegations.clear(inode, who, Need::Grant(DelegationMode::Exclusive), now) {
            for revocation in delegations.poll(other, now) {
                let (inode, seq) = (revocation.inode, revocation.seq);
                delegations.returned(other, &Returned { inode, keep: DelegationMode::None, seq, open: false }, 0);
            }
        }
        let seq = delegations.next_seq();
        assert_eq!(delegations.insist(inode, who, DelegationMode::Exclusive, seq), DelegationMode::Exclusive);
        delegations.leave(inode, ticket);
        std::mem::swap(&mut who, &mut other);
        turns += 1;
    }
    assert!((3..8).contains(&turns), "after some turns: {turns}");
    let late = turns * 10 + 2_000;
    assert_eq!(delegations.best(inode, who, true, false, late), DelegationMode::Exclusive, "until it is quiet again");
}

#[test]
fn after_a_restart_everybody_has_to_let_go_first() {
    let mut delegations = recovering([SessionId(1), SessionId(2)]);
    assert!(!delegations.recovered() && delegations.may_write(SessionId(1)));
    assert!(!delegations.confirm(SessionId(1), &[], &[]));
    assert!(!delegations.confirm(SessionId(1), &[], &[]), "once counts");
    delegations.end_session(SessionId(2));
    assert!(delegations.recovered());
}

#[test]
fn what_a_client_is_moving_when_its_server_restarts_it_alone_goes_on_moving() {
    let (a, b, inode) = (SessionId(1), SessionId(2), InodeId(9));
    let mut delegations = recovering([a, b]);
    assert!(!delegations.confirm(a, &[], &[inode]));
    assert!(delegations.confirm(b, &[], &[]));
    assert!(!delegations.claim(inode, b) && !delegations.clear(inode, b, Need::Grant(DelegationMode::Exclusive), 0));
    assert!(delegations.clear(inode, b, Need::Change, 0), "the version tells who was first");
    delegations.moved(inode, a);
    assert!(delegations.claim(inode, b));
}

#[test]
fn what_a_client_cannot_let_go_of_after_a_restart_stays_its_own_and_keeps_nobody_else_out() {
    let (a, b, inode) = (SessionId(1), SessionId(2), InodeId(9));
    let mut delegations = recovering([a]);
    let kept = Returned { inode, keep: DelegationMode::Exclusive, seq: 7_000, open: false };
    assert!(delegations.confirm(a, &[kept], &[]));
    assert!(delegations.recovered() && delegations.may_write(a));
    assert!(!delegations.clear(inode, b, Need::Read, 0), "its changes are not committed");
    assert!(delegations.clear(InodeId(10), b, Need::Change, 0));
    let asked = delegations.poll(a, 0);
    assert_eq!(asked.iter().map(|one| (one.inode, one.keep)).collect::<Vec<_>>(), [(inode, DelegationMode::Shared)]);
    assert!(
        !delegations.confirm(a, &[Returned { inode: InodeId(11), ..kept }], &[]),
        "only once, before others are given anything"
    );
    assert!(delegations.clear(InodeId(11), b, Need::Change, 0));
    assert!(
        delegations.returned(a, &Returned { keep: DelegationMode::None, ..kept }, 0),
        "by a number of the earlier run"
    );
    assert!(delegations.clear(inode, b, Need::Change, 0));
}

#[test]
fn what_a_client_keeps_after_a_restart_is_its_own_though_others_have_not_said_yet_what_they_have() {
    let (a, b, c, inode) = (SessionId(1), SessionId(2), SessionId(3), InodeId(9));
    let mut delegations = recovering([a, b]);
    let kept = Returned { inode, keep: DelegationMode::Exclusive, seq: 7_000, open: false };
    assert!(!delegations.confirm(a, &[kept], &[]));
    assert_eq!(delegations.mode(inode, a), DelegationMode::Exclusive);
    assert!(delegations.confirm(b, &[], &[]));
    for other in [b, c] {
        assert!(!delegations.clear(inode, other, Need::Read, 0), "what was written under it is not there yet");
    }
    assert_eq!(delegations.used_in(inode.slot()), [inode]);
    // Nobody had the same before: whoever says it second is not believed.
    let mut delegations = recovering([a, b]);
    assert!(!delegations.confirm(a, &[kept], &[]) && delegations.confirm(b, &[kept], &[]));
    assert_eq!(delegations.mode(inode, b), DelegationMode::None);
}

#[test]
fn pinned_operations_that_wait_for_each_other_go_one_by_one() {
    let (a, b, c) = (SessionId(1), SessionId(2), SessionId(3));
    let inode = InodeId(9);
    let mut delegations = Delegations::default();
    for session in [a, b, c] {
        let seq = delegations.next_seq();
        assert_eq!(delegations.give(inode, session, DelegationMode::Shared, seq, 0), DelegationMode::Shared);
    }
    let wait = |delegations: &mut Delegations, session, pinned| {
        assert!(!delegations.clear(inode, session, Need::Change, 0));
        delegations.queue(inode, session, pinned)
    };
    let first = wait(&mut delegations, a, true);
    let second = wait(&mut delegations, b, true);
    let third = wait(&mut delegations, c, false);
    assert!(!delegations.passes(inode, first), "c can let go");
    let said = delegations.poll(c, 0);
    let back = |seq| Returned { inode, keep: DelegationMode::None, seq, open: false };
    assert!(delegations.returned(c, &back(said[0].seq), 0));
    assert!(delegations.passes(inode, first), "b cannot before it is answered");
    assert!(!delegations.passes(inode, second), "one at a time");
    assert!(!delegations.passes(inode, third), "who is not pinned waits until others have let go");
    delegations.leave(inode, first);
    assert!(!delegations.passes(inode, second), "a can let go now");
    let said = delegations.poll(a, 0);
    assert!(delegations.returned(a, &back(said[0].seq), 0));
    assert!(delegations.clear(inode, b, Need::Change, 0));
}

#[test]
fn one_session_at_a_time_moves_content_and_nobody_gets_an_exclusive_delegation_meanwhile() {
    let (a, b) = (SessionId(1), SessionId(2));
    let inode = InodeId(9);
    let exclusive = Need::Grant(DelegationMode::Exclusive);
    let mut delegations = Delegations::default();
    assert!(delegations.claim(inode, a) && delegations.claim(inode, a), "its own is no obstacle");
    assert!(!delegations.claim(inode, b) && !delegations.clear(inode, b, exclusive, 0));
    assert_eq!(delegations.give(inode, b, DelegationMode::Exclusive, 1, 0), DelegationMode::None);
    assert_eq!(delegations.give(inode, b, DelegationMode::Shared, 2, 0), DelegationMode::Shared);
    // Both are pinned: who moves goes first, though it came later; the other one waits for just that.
    let waits = delegations.queue(inode, b, true);
    assert!(!delegations.clear(inode, a, Need::Change, 0));
    let moves = delegations.queue(inode, a, true);
    assert!(delegations.passes(inode, moves) && !delegations.passes(inode, waits));
    delegations.leave(inode, moves);
    delegations.moved(inode, b);
    assert!(!delegations.claim(inode, b), "only who has it gives it up");
    delegations.moved(inode, a);
    assert!(delegations.claim(inode, b));
    delegations.leave(inode, waits);
    delegations.end_session(b);
    assert!(delegations.clear(inode, a, exclusive, 0) && delegations.claim(inode, a), "a session's end frees it");
}
