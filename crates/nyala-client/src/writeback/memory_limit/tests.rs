// SPDX-License-Identifier: Apache-2.0

//! Tests of the budget.

use super::*;
use std::sync::Arc;

#[tokio::test]
async fn waits_for_room() {
    let budget = Arc::new(MemoryLimit::new(MIN_LIMIT));
    assert!(budget.try_take(MIN_LIMIT));
    assert!(!budget.try_take(1));
    let other = budget.clone();
    let waiting = tokio::spawn(async move {
        let mut reclaim = 0;
        other.take(10, || reclaim += 1).await;
        reclaim
    });
    tokio::task::yield_now().await;
    budget.give_back(10);
    assert_eq!(waiting.await.unwrap(), 1);
    assert_eq!(budget.used(), MIN_LIMIT);
}

/// Each round of waiting ends only after somebody has pressed for what the round before brought in.
#[tokio::test]
async fn in_turn_and_somebody_presses_until_all_have_room() {
    let budget = Arc::new(MemoryLimit::new(MIN_LIMIT));
    let dirty = Arc::new(AtomicUsize::new(MIN_LIMIT));
    assert!(budget.try_take(MIN_LIMIT));
    let order = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for number in 0..20 {
        let (budget, dirty, order) = (budget.clone(), dirty.clone(), order.clone());
        tasks.push(tokio::spawn(async move {
            let reclaim = || {
                let out = dirty.swap(0, Ordering::AcqRel);
                let budget = budget.clone();
                if out > 0 {
                    tokio::spawn(async move { budget.give_back(out) });
                }
            };
            budget.take(MIN_LIMIT / 4, reclaim).await;
            order.lock().push(number);
            dirty.fetch_add(MIN_LIMIT / 4, Ordering::AcqRel);
        }));
    }
    for task in tasks {
        tokio::time::timeout(std::time::Duration::from_secs(5), task).await.unwrap().unwrap();
    }
    assert_eq!(*order.lock(), (0..20).collect::<Vec<_>>());
}

#[test]
fn what_is_on_its_way_does_not_make_it_tight() {
    let budget = MemoryLimit::new(MIN_LIMIT);
    assert!(budget.try_take(MIN_LIMIT));
    assert!(budget.is_tight() && !budget.is_moving());
    budget.begin_send(MIN_LIMIT / 2);
    assert!(!budget.is_tight() && budget.is_moving());
    budget.end_send(MIN_LIMIT / 2);
    assert!(budget.is_tight() && !budget.is_moving());
}
