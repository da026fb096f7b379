// SPDX-License-Identifier: Apache-2.0

//! Every state with every message.

use super::*;
use crate::delegation::logic::shared;
use crate::delegation::logic::use_order::surplus;
use proptest::prelude::*;

const SERVER: TargetId = TargetId(1);
const OTHER: TargetId = TargetId(2);
const BOOT: u64 = 7;
const GOOD: u64 = 1000;
const INODE: InodeId = InodeId(5);
const READ: Need = Need { write: false, cached: false, patient: false };
const WRITE: Need = Need { write: true, cached: false, patient: false };
const CACHED: Need = Need { write: false, cached: true, patient: false };
const APPEND: Need = Need { write: true, cached: true, patient: true };

use DelegationMode::{Exclusive, None as Nothing, Shared, Uncached};

fn empty() -> Delegations<u32> {
    let shared = Arc::new(shared::Shared::default());
    for server in [SERVER, OTHER] {
        shared.set_boot(server, BOOT);
        shared.renew(server, GOOD);
    }
    Delegations::new(shared)
}

fn held(mode: DelegationMode) -> Delegations<u32> {
    let mut delegations = empty();
    assert!(delegations.grant(INODE, SERVER, BOOT, mode, 10));
    delegations
}

fn cached(admit: Verdict) -> bool {
    matches!(admit, Verdict::Cached(_))
}

#[test]
fn what_is_held_decides_how_an_operation_goes_on() {
    assert_eq!(empty().admit(INODE, READ, 0), Verdict::Ask);
    let mut shared = held(Shared);
    assert!(cached(shared.admit(INODE, READ, 0)) && cached(shared.admit(INODE, CACHED, 0)));
    assert_eq!(shared.admit(INODE, WRITE, 0), Verdict::Ask);
    let mut exclusive = held(Exclusive);
    for need in [READ, WRITE, CACHED, APPEND] {
        assert!(cached(exclusive.admit(INODE, need, 0)));
    }
    let mut uncached = held(Uncached);
    assert_eq!(uncached.admit(INODE, READ, 0), Verdict::Direct);
    assert_eq!(uncached.admit(INODE, WRITE, 0), Verdict::Direct);
    assert_eq!(uncached.admit(INODE, CACHED, 0), Verdict::Ask);
    assert_eq!(uncached.admit(INODE, APPEND, 0), Verdict::Ask);
    assert!(uncached.cached(INODE, 0).is_none());
}

#[test]
fn a_silent_servers_delegations_are_no_good() {
    let mut delegations = held(Exclusive);
    *delegations.cached(INODE, GOOD - 1).unwrap() = 3;
    assert_eq!(delegations.admit(INODE, READ, GOOD), Verdict::Ask);
    assert!(delegations.cached(INODE, GOOD).is_none());
    assert_eq!((delegations.holds(INODE, GOOD), delegations.mode(INODE, GOOD)), (Nothing, Nothing));
    let mut silent = delegations.shared.silent(GOOD);
    silent.sort();
    assert_eq!(silent, [SERVER, OTHER]);
    assert!(delegations.shared.silent(GOOD - 1).is_empty());
    assert_eq!(delegations.of_server(SERVER), [INODE]);
    delegations.shared.renew(SERVER, GOOD - 500);
    assert_eq!(delegations.mode(INODE, GOOD), Nothing, "an older answer proves nothing new");
    delegations.shared.renew(SERVER, 2 * GOOD);
    assert_eq!(delegations.cached(INODE, GOOD), Some(&mut 3));
    assert_eq!(delegations.shared.silent(GOOD), [OTHER]);
}

#[test]
fn grants_that_do_not_count() {
    let mut delegations = empty();
    assert!(!delegations.grant(INODE, SERVER, BOOT, Nothing, 1));
    assert!(!delegations.grant(INODE, SERVER, BOOT - 1, Shared, 1), "of another run");
    assert!(!delegations.grant(INODE, TargetId(9), 0, Shared, 1), "of a server that was never greeted");
    assert_eq!(delegations.revoke(INODE, SERVER, Nothing, 20, 0), Revoked::NotHeld);
    assert!(!delegations.grant(INODE, SERVER, BOOT, Exclusive, 19), "void");
    assert!(delegations.grant(INODE, SERVER, BOOT, Exclusive, 21));
    // Forgotten after a while.
    let mut delegations = empty();
    delegations.revoke(INODE, SERVER, Nothing, 20, 0);
    delegations.revoke(InodeId(6), SERVER, Nothing, 5, VOID_MS + 1);
    assert!(delegations.grant(INODE, SERVER, BOOT, Shared, 19));
    // Another run counts anew; other servers' numbers have nothing to do with that.
    let mut delegations = empty();
    delegations.revoke(INODE, SERVER, Nothing, 20, 0);
    delegations.revoke(InodeId(6), OTHER, Nothing, 20, 0);
    delegations.shared.set_boot(SERVER, BOOT + 1);
    delegations.begin_run(SERVER);
    assert!(delegations.grant(INODE, SERVER, BOOT + 1, Shared, 1));
    assert!(!delegations.grant(InodeId(6), OTHER, BOOT, Shared, 19));
}

#[test]
fn what_is_on_its_way_back_in_part_goes_wholly_when_the_server_restarts() {
    for returning in [false, true] {
        let mut delegations = held(Exclusive);
        assert_eq!(delegations.revoke(INODE, SERVER, Shared, 100, 0), Revoked::Started);
        if returning {
            assert_eq!(delegations.give_up(INODE, Shared), Some((SERVER, 100)));
        }
        assert_eq!(delegations.of_server(SERVER), [INODE]);
        let seq = delegations.seq(INODE);
        assert_eq!(delegations.revoke(INODE, SERVER, Nothing, seq, 0), Revoked::UnderWay);
        assert!(delegations.of_server(SERVER).is_empty());
        let keep = if returning { Shared } else { Exclusive };
        assert_eq!(delegations.carry_over(SERVER), [Returned { inode: INODE, keep, seq, open: false }]);
        delegations.shared.set_boot(SERVER, BOOT + 1);
        delegations.begin_run(SERVER);
        if returning {
            assert!(delegations.returned(INODE), "the other half follows");
        }
        assert_eq!(delegations.keeps(INODE), Some(Nothing));
        assert!(delegations.give_up(INODE, Nothing).is_some());
        assert!(!delegations.returned(INODE));
        // Nothing is left that a number of the run before would protect from the next one's revocations.
        assert!(delegations.grant(INODE, SERVER, BOOT + 1, Exclusive, 3));
        assert_eq!(delegations.revoke(INODE, SERVER, Shared, 4, 0), Revoked::Started);
    }
}

#[test]
fn grants_on_top_of_each_other() {
    let table = [
        (Exclusive, Shared, 11, true, Exclusive),
        (Exclusive, Shared, 9, true, Exclusive),
        (Shared, Exclusive, 11, true, Exclusive),
        (Shared, Exclusive, 9, true, Exclusive),
        (Shared, Uncached, 11, true, Uncached),
        (Shared, Uncached, 9, false, Shared),
        (Uncached, Shared, 11, true, Shared),
        (Uncached, Shared, 9, false, Uncached),
        (Uncached, Exclusive, 11, true, Exclusive),
        (Uncached, Exclusive, 9, false, Uncached),
        (Shared, Shared, 9, true, Shared),
    ];
    for (before, then, seq, took, after) in table {
        let mut delegations = held(before);
        *delegations.peek(INODE).unwrap() = 3;
        assert_eq!(delegations.grant(INODE, SERVER, BOOT, then, seq), took, "{before:?} {then:?} {seq}");
        assert_eq!(delegations.mode(INODE, 0), after, "{before:?} {then:?} {seq}");
        let fresh = before != after && (before == Uncached || after == Uncached);
        assert_eq!(*delegations.peek(INODE).unwrap(), if fresh { 0 } else { 3 }, "{before:?} {then:?} {seq}");
        assert_eq!(delegations.seq(INODE), seq.max(10));
    }
}

#[test]
fn only_what_was_never_held_but_uncached_covers_nothing() {
    assert!(empty().covers(INODE), "who does not know makes sure");
    assert!(held(Shared).covers(INODE) && held(Exclusive).covers(INODE));
    let mut delegations = held(Uncached);
    assert!(!delegations.covers(INODE));
    assert!(delegations.grant(INODE, SERVER, BOOT, Uncached, 11) && !delegations.covers(INODE));
    assert!(delegations.grant(INODE, SERVER, BOOT, Shared, 12) && delegations.covers(INODE));
    assert!(delegations.grant(INODE, SERVER, BOOT, Uncached, 13) && delegations.covers(INODE), "of before");
    // Half of it is on its way back, the other half may still be made use of.
    let mut delegations = held(Exclusive);
    delegations.revoke(INODE, SERVER, Shared, 11, 0);
    assert!(delegations.give_up(INODE, Shared).is_some());
    assert!(delegations.grant(INODE, SERVER, BOOT, Uncached, 12) && delegations.covers(INODE));
}

#[test]
fn revocations_of_every_mode() {
    let table = [
        (Shared, Nothing, Revoked::Started),
        (Shared, Shared, Revoked::NotHeld),
        (Exclusive, Nothing, Revoked::Started),
        (Exclusive, Shared, Revoked::Started),
        (Uncached, Nothing, Revoked::Started),
        (Uncached, Shared, Revoked::Started),
    ];
    for (mode, keep, expected) in table {
        let mut delegations = held(mode);
        assert_eq!(delegations.revoke(INODE, SERVER, keep, 11, 0), expected, "{mode:?} {keep:?}");
        assert_eq!(held(mode).revoke(INODE, SERVER, keep, 9, 0), Revoked::NotHeld, "a newer grant stays");
        if expected == Revoked::Started {
            assert_eq!(delegations.revoke(INODE, SERVER, keep, 11, 0), Revoked::UnderWay, "said again");
            let stays = if mode == Exclusive { keep } else { Nothing };
            assert_eq!(delegations.keeps(INODE), Some(stays), "{mode:?} {keep:?}");
        }
    }
}

#[test]
fn the_way_back() {
    let mut delegations = held(Exclusive);
    *delegations.cached(INODE, 0).unwrap() = 3;
    let Verdict::Cached(stamp) = delegations.admit(INODE, WRITE, 0) else { panic!("not admitted") };
    delegations.revoke(INODE, SERVER, Nothing, 11, 0);
    assert_eq!(delegations.mode(INODE, 0), Nothing, "nobody above may keep it any more");
    assert_eq!(delegations.holds(INODE, 0), Exclusive, "but it is true until it is given up");
    assert_eq!(delegations.cached(INODE, 0), Some(&mut 3));
    for need in [READ, WRITE, CACHED, APPEND] {
        assert_eq!(delegations.admit(INODE, need, 0), Verdict::Wait);
    }
    assert!(!delegations.grant(INODE, SERVER, BOOT, Exclusive, 12), "not while it is on its way back");
    assert!(delegations.is_busy(INODE));
    assert!(delegations.leave(INODE, true, stamp) && !delegations.is_busy(INODE));
    assert!(!delegations.is_returning(INODE));
    assert_eq!(delegations.give_up(INODE, Nothing), Some((SERVER, 11)));
    assert!(delegations.is_returning(INODE) && delegations.cached(INODE, 0).is_none());
    assert_eq!(delegations.give_up(INODE, Nothing), None);
    assert_eq!(delegations.admit(INODE, READ, 0), Verdict::Wait, "until the server knows");
    assert!(!delegations.returned(INODE));
    assert_eq!(delegations.admit(INODE, READ, 0), Verdict::Ask);
    assert!(delegations.is_empty() && delegations.by_use().next().is_none() && delegations.shared.held() == 0);
    assert!(!delegations.grant(INODE, SERVER, BOOT, Exclusive, 10), "a late grant is void");
}

#[test]
fn the_gate_lets_operations_through_and_is_tainted() {
    for (mode, need, expected) in [
        (Exclusive, WRITE, true),
        (Exclusive, READ, true),
        (Shared, READ, true),
        (Shared, WRITE, false),
        (Uncached, READ, false),
        (Uncached, WRITE, false),
    ] {
        let mut delegations = held(mode);
        delegations.revoke(INODE, SERVER, Nothing, 11, 0);
        delegations.open_gate(INODE);
        assert_eq!(delegations.admit(INODE, APPEND, 0), Verdict::Wait, "it holds no page, and needs the delegation");
        assert!(!delegations.close_gate(INODE), "nothing went through");
        assert_eq!(delegations.admit(INODE, need, 0), Verdict::Wait);
        delegations.open_gate(INODE);
        let admitted = delegations.admit(INODE, need, 0);
        assert_eq!(cached(admitted), expected, "{mode:?} {need:?}");
        assert_eq!(admitted == Verdict::Direct, !expected);
        assert!(delegations.close_gate(INODE), "tainted");
        assert!(!delegations.close_gate(INODE), "said once");
        assert_eq!(delegations.is_busy(INODE), expected);
    }
    // A silent server's delegation allows nothing to be kept.
    let mut delegations = held(Exclusive);
    delegations.revoke(INODE, SERVER, Nothing, 11, 0);
    delegations.open_gate(INODE);
    assert_eq!(delegations.admit(INODE, READ, GOOD), Verdict::Direct);
}

#[test]
fn an_exclusive_delegation_becomes_a_shared_one() {
    let mut delegations = held(Exclusive);
    *delegations.cached(INODE, 0).unwrap() = 3;
    let Verdict::Cached(stamp) = delegations.admit(INODE, READ, 0) else { panic!("not admitted") };
    delegations.revoke(INODE, SERVER, Shared, 11, 0);
    assert_eq!(delegations.mode(INODE, 0), Shared);
    assert!(cached(delegations.admit(INODE, READ, 0)), "readers go on");
    assert_eq!(delegations.admit(INODE, WRITE, 0), Verdict::Wait);
    assert!(!delegations.is_busy(INODE));
    assert_eq!(delegations.give_up(INODE, Shared), Some((SERVER, 11)));
    assert!(cached(delegations.admit(INODE, READ, 0)));
    assert!(!delegations.returned(INODE));
    assert_eq!((delegations.mode(INODE, 0), delegations.cached(INODE, 0)), (Shared, Some(&mut 3)));
    assert_eq!(delegations.admit(INODE, WRITE, 0), Verdict::Ask);
    delegations.leave(INODE, false, stamp);
}

#[test]
fn more_is_wanted_back_meanwhile() {
    // Before it is given up.
    let mut delegations = held(Exclusive);
    delegations.revoke(INODE, SERVER, Shared, 11, 0);
    delegations.revoke(INODE, SERVER, Nothing, 12, 0);
    assert_eq!(delegations.give_up(INODE, Shared), None);
    assert_eq!(delegations.give_up(INODE, Nothing), Some((SERVER, 12)));
    // After.
    let mut delegations = held(Exclusive);
    delegations.revoke(INODE, SERVER, Shared, 11, 0);
    delegations.give_up(INODE, Shared);
    delegations.revoke(INODE, SERVER, Nothing, 12, 0);
    assert!(delegations.returned(INODE), "once more");
    assert_eq!(delegations.keeps(INODE), Some(Nothing));
    assert_eq!(delegations.give_up(INODE, Nothing), Some((SERVER, 12)));
    assert!(!delegations.returned(INODE) && delegations.is_empty());
}

#[test]
fn a_new_grant_overtakes_the_news_that_the_old_delegation_is_returned() {
    let mut delegations = held(Exclusive);
    *delegations.cached(INODE, 0).unwrap() = 3;
    let Verdict::Cached(stamp) = delegations.admit(INODE, READ, 0) else { panic!("not admitted") };
    delegations.revoke(INODE, SERVER, Nothing, 11, 0);
    delegations.give_up(INODE, Nothing);
    assert!(!delegations.grant(INODE, SERVER, BOOT, Shared, 11));
    assert!(delegations.grant(INODE, SERVER, BOOT, Shared, 12));
    assert_eq!(delegations.cached(INODE, 0), Some(&mut 0));
    assert!(!delegations.returned(INODE));
    assert_eq!(delegations.mode(INODE, 0), Shared);
    assert_ne!(delegations.stamp(INODE), Some(stamp));
    // One that was admitted under the old delegation does not count for the new one.
    let Verdict::Cached(_) = delegations.admit(INODE, READ, 0) else { panic!("not admitted") };
    delegations.leave(INODE, false, stamp);
    delegations.revoke(INODE, SERVER, Nothing, 13, 0);
    assert!(delegations.is_busy(INODE));
}

/// What goes, as the cache asks for it.
fn surplus_of(delegations: &Delegations<u32>, limit: usize, free: impl Fn(InodeId) -> bool) -> Vec<InodeId> {
    surplus(delegations.by_use().collect(), limit, |inode| !delegations.is_going(inode) && free(inode))
}

#[test]
fn what_goes_is_spread_over_all_but_what_was_used_last() {
    let mut delegations = empty();
    for number in 0..20 {
        delegations.grant(InodeId(number), SERVER, BOOT, Shared, number + 1);
    }
    delegations.cached(InodeId(0), 0);
    delegations.revoke(InodeId(1), SERVER, Nothing, 100, 0);
    // In order of use: 1 to 19, 0.
    let ids = |numbers: &[u64]| numbers.iter().copied().map(InodeId).collect::<Vec<_>>();
    assert_eq!(surplus_of(&delegations, 18, |_| true), ids(&[10, 19]), "every ninth: the first is leaving");
    let surplus = surplus_of(&delegations, 2, |inode| inode != InodeId(3));
    assert_eq!(
        surplus,
        ids(&[2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]),
        "not the last, the leaving and the held one"
    );
    assert!(surplus_of(&delegations, 20, |_| true).is_empty());
    delegations.remove(InodeId(2));
    assert_eq!(delegations.shared.held(), 19);
    assert_eq!(delegations.by_use().next().map(|(_, inode)| inode), Some(InodeId(1)));
}

proptest! {
    /// Whatever comes in whatever order: nothing is kept under a delegation that was given up, and operations that were
    /// admitted under it are over before that.
    #[test]
    fn never_kept_without_a_delegation(steps in proptest::collection::vec((0_u8..9, 0_u8..4, 0_u64..3), 1..200)) {
        let mut delegations = empty();
        let modes = [Nothing, Shared, Uncached, Exclusive];
        let mut seq = 1;
        let mut running: Vec<(bool, u64)> = Vec::new();
        for (step, mode, back) in steps {
            let mode = modes[usize::from(mode)];
            match step {
                0 | 1 => {
                    seq += 1;
                    delegations.grant(INODE, SERVER, BOOT, mode, seq - back.min(seq));
                }
                2 => {
                    seq += 1;
                    delegations.revoke(INODE, SERVER, if mode == Shared { Shared } else { Nothing }, seq, 0);
                }
                3 | 4 => {
                    let need = if mode == Exclusive { WRITE } else { READ };
                    if let Verdict::Cached(stamp) = delegations.admit(INODE, need, 0) {
                        let holds = delegations.holds(INODE, 0);
                        prop_assert!(holds == Exclusive || (holds == Shared && !need.write));
                        running.push((need.write, stamp));
                    }
                }
                5 => {
                    for (write, stamp) in running.drain(..) {
                        delegations.leave(INODE, write, stamp);
                    }
                }
                6 => delegations.open_gate(INODE),
                7 => {
                    delegations.close_gate(INODE);
                    if !delegations.is_busy(INODE)
                        && let Some(keep) = delegations.keeps(INODE)
                        && delegations.give_up(INODE, keep).is_some()
                    {
                        prop_assert_eq!(delegations.holds(INODE, 0), keep);
                        prop_assert!(delegations.cached(INODE, 0).is_none() || keep == Shared);
                        let here = delegations.stamp(INODE);
                        let in_the_way = |(write, stamp): &(bool, u64)| Some(*stamp) == here && (*write || keep == Nothing);
                        prop_assert!(!running.iter().any(in_the_way));
                    }
                }
                _ => {
                    delegations.returned(INODE);
                }
            }
            if delegations.cached(INODE, 0).is_some() {
                prop_assert!(matches!(delegations.holds(INODE, 0), Shared | Exclusive));
            }
            prop_assert!(delegations.mode(INODE, 0) <= delegations.holds(INODE, 0));
        }
    }
}

#[test]
fn shards_share_the_clock_of_uses_and_what_is_known_of_servers() {
    let mut one = held(Shared);
    let mut two: Delegations<u32> = Delegations::new(one.shared.clone());
    let other = InodeId(6);
    assert!(two.grant(other, SERVER, BOOT, Exclusive, 11));
    assert_eq!(one.shared.held(), 2);
    let used = |shard: &Delegations<u32>| shard.by_use().next().map(|(used, _)| used);
    assert!(used(&one) < used(&two));
    one.cached(INODE, 0);
    assert!(used(&one) > used(&two), "the order of uses goes across shards");
    one.shared.renew(SERVER, 2 * GOOD);
    assert_eq!((one.mode(INODE, GOOD), two.mode(other, GOOD)), (Shared, Exclusive));
    one.revoke(INODE, SERVER, Nothing, 12, 0);
    assert_eq!(one.carry_over(SERVER).len(), 1);
    assert!(one.is_carried_over(INODE) && !two.is_carried_over(other));
}

#[test]
fn a_walk_larger_than_the_limit_finds_a_part_of_it_again() {
    const LIMIT: usize = 800;
    let mut delegations = empty();
    let mut seq = 0;
    let mut found = Vec::new();
    for _ in 0..8 {
        let mut again = 0;
        for number in 0..LIMIT as u64 * 5 / 4 {
            seq += 1;
            again += usize::from(delegations.cached(InodeId(number), 0).is_some());
            delegations.grant(InodeId(number), SERVER, BOOT, Shared, seq);
            if delegations.shared.held() > LIMIT {
                for inode in surplus_of(&delegations, LIMIT - LIMIT / 16, |_| true) {
                    delegations.remove(inode);
                }
            }
        }
        found.push(again);
    }
    assert!(found[2..].iter().all(|again| *again > LIMIT / 3), "{found:?}");
}
