// SPDX-License-Identifier: Apache-2.0

//! Bounds of sketches against exact counts, and what is sampled.

use super::*;
use crate::space_saving::SpaceSaving;
use proptest::prelude::*;

/// Streams in which few keys have much, as well as such in which all have the same.
fn streams() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let key = prop_oneof![0..8u64, 0..600u64, any::<u64>()];
    proptest::collection::vec((key, 1..100u64), 0..4000)
}

proptest! {
    #[test]
    fn bounds_hold_for_every_key(stream in streams()) {
        let (mut sketch, mut truth) = (SpaceSaving::new(), BTreeMap::<u64, u64>::new());
        for (key, weight) in &stream {
            sketch.add(*key, *weight, 0);
            *truth.entry(*key).or_default() += weight;
        }
        let listed: BTreeMap<u64, Heavy> = sketch.listed().map(|heavy| (heavy.key, heavy)).collect();
        let total: u64 = truth.values().sum();
        prop_assert_eq!(listed.len(), truth.len().min(MAX_KEYS));
        prop_assert_eq!(listed.values().map(|heavy| heavy.count).sum::<u64>(), total);
        prop_assert!(sketch.missed() <= total / MAX_KEYS as u64);
        for (key, weight) in &truth {
            match listed.get(key) {
                Some(heavy) => prop_assert!(heavy.count - heavy.error <= *weight && *weight <= heavy.count),
                None => prop_assert!(*weight <= sketch.missed()),
            }
        }
    }

    #[test]
    fn bounds_add_up_over_threads_and_windows(streams in proptest::collection::vec(streams(), 1..4)) {
        let (busiest, mut truth) = (Busiest::default(), BTreeMap::<u64, u64>::new());
        std::thread::scope(|scope| {
            for stream in &streams {
                scope.spawn(|| {
                    for (at, (key, weight)) in stream.iter().enumerate() {
                        busiest.add(WINDOW_MS * (at * 2 / stream.len()) as u64, *key, *weight, *weight);
                    }
                });
            }
        });
        streams.iter().flatten().for_each(|(key, weight)| *truth.entry(*key).or_default() += weight * SAMPLED);
        let top = busiest.top(WINDOW_MS, MAX_KEYS);
        for heavy in &top.keys {
            let weight = truth.get(&heavy.key).copied().unwrap_or(0);
            prop_assert!(heavy.count - heavy.error <= weight && weight <= heavy.count + top.missed);
            prop_assert!(heavy.part <= weight);
        }
        let shown = |key: &u64| top.keys.iter().any(|heavy| heavy.key == *key);
        // Who is not shown is missed, or has less for certain than all that are.
        if top.keys.len() < MAX_KEYS {
            let errors: u64 = streams.len() as u64 * 2 * truth.values().sum::<u64>() / MAX_KEYS as u64;
            let hidden = truth.iter().filter(|(key, _)| !shown(key)).map(|(_, weight)| *weight).max();
            prop_assert!(hidden.unwrap_or(0) <= errors + top.missed);
        }
    }
}

#[test]
fn what_is_over_is_forgotten() {
    let busiest = Busiest::default();
    busiest.add(0, 7, 2, 1);
    busiest.add(WINDOW_MS, 8, 1, 0);
    let keys = |now_ms| busiest.top(now_ms, 9).keys.iter().map(|heavy| heavy.key).collect::<Vec<_>>();
    assert_eq!(keys(2 * WINDOW_MS - 1), [7, 8]);
    let seven = Heavy { key: 7, count: 2 * SAMPLED, error: 0, part: SAMPLED };
    assert_eq!(busiest.top(WINDOW_MS, 1), Top { keys: vec![seven], missed: 0 });
    assert_eq!(keys(2 * WINDOW_MS), [8]);
    assert_eq!(keys(9 * WINDOW_MS), [0; 0]);
    busiest.add(9 * WINDOW_MS, 9, 1, 0);
    assert_eq!(keys(9 * WINDOW_MS), [9]);
    assert_eq!([0, 10, WINDOW_MS, 5 * WINDOW_MS + 10].map(covered_ms), [0, 10, WINDOW_MS, WINDOW_MS + 10]);
}

#[test]
fn one_in_so_many_is_looked_at_and_never_in_step() {
    let all: Vec<bool> = (0..160_000).map(|_| is_sampled()).collect();
    let seen = all.iter().filter(|seen| **seen).count();
    assert!((9_500..10_500).contains(&seen), "{seen}");
    for step in [2, 3, 8, 16, 31] {
        let counts = (0..step).map(|from| all.iter().skip(from).step_by(step).filter(|seen| **seen).count() * step);
        let (least, most) = counts.fold((usize::MAX, 0), |(least, most), n| (least.min(n), most.max(n)));
        assert!(least > 8_000 && most < 12_000, "{least} to {most} in step with {step}");
    }
}

#[test]
fn a_thread_takes_a_bounded_room() {
    assert!(size_of::<Windows>() <= 17 << 10, "{}", size_of::<Windows>());
}
