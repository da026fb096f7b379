// SPDX-License-Identifier: Apache-2.0

//! Stripes depart, land in any order, and come back.

use super::*;
use nyala_wire::{ErasureCode, Layout, Pattern, TargetId};
use std::sync::Arc;

fn layouts() -> (Layout, Arc<Layout>) {
    let code = Some(ErasureCode { data: 4, parity: 2 });
    let targets = (1..7).map(TargetId).collect();
    let to = Layout { pattern: Pattern::Ec, chunk_bytes: 100, targets, moves: 1, code };
    let before = Layout { pattern: Pattern::Mirror, targets: vec![TargetId(1)], moves: 0, ..to.clone() };
    (to, Arc::new(before))
}

fn writing() -> WholeStripes {
    let (to, before) = layouts();
    let mut stripes = WholeStripes::default();
    assert!(stripes.is_idle() && stripes.accepts(0, false) && !stripes.accepts(0, true));
    stripes.choose(7);
    assert!(stripes.is_choosing() && stripes.is_made(7) && !stripes.is_made(6));
    stripes.chosen(&to, before);
    stripes
}

#[test]
fn what_is_stored_has_no_gap() {
    let mut all = writing();
    let stripes = all.writing_mut().unwrap();
    for number in 0..4 {
        assert_eq!(stripes.next_stripe(), Some(number * 400..(number + 1) * 400));
        stripes.depart((number + 1) * 400, vec![number], false);
    }
    assert_eq!(stripes.next_stripe(), None, "enough are under way");
    assert_eq!(stripes.landed(1), (0..0, vec![]));
    assert_eq!(stripes.landed(0), (0..800, vec![0, 1]), "both are there now");
    assert_eq!((stripes.stored(), stripes.next_stripe()), (800, Some(1600..2000)));
    assert!(all.accepts(1600, true) && !all.accepts(1599, true), "what went out is not changed");
}

#[test]
fn after_a_failure_all_that_is_under_way_comes_back() {
    let mut all = writing();
    let stripes = all.writing_mut().unwrap();
    (0..3).for_each(|number| stripes.depart((number + 1) * 400, vec![number], false));
    assert_eq!(stripes.landed(2).1, [] as [u64; 0]);
    stripes.failed();
    assert_eq!(stripes.taken_back(1), [1]);
    assert_eq!(stripes.landed(0), (0..0, vec![]), "it would be stored alone");
    assert_eq!((stripes.taken_back(0), stripes.taken_back(2)), (vec![0], vec![2]));
    assert!(
        stripes.taken_back(2).is_empty()
            && !stripes.has(2)
            && !stripes.is_any_under_way()
            && stripes.next_stripe().is_none()
    );
    assert!(all.has_failed() && all.end().is_some(), "its server knows nothing of them");
}

#[test]
fn the_last_stripe_ends_it_when_its_server_knows() {
    let mut all = writing();
    let stripes = all.writing_mut().unwrap();
    stripes.depart(400, vec![0], false);
    stripes.landed(0);
    all.acknowledged();
    let stripes = all.writing_mut().unwrap();
    assert_eq!(stripes.next_stripe(), Some(400..800));
    stripes.depart(450, vec![1], true);
    assert!(!all.accepts(450, true), "the stripe would have to change");
    assert_eq!(all.writing_mut().unwrap().landed(1), (400..450, vec![1]));
    all.acknowledged();
    assert!(all.writing().is_none() && !all.is_idle() && !all.accepts(450, true));
    assert!(all.end().is_none() && all.is_idle());
}
