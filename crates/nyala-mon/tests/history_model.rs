// SPDX-License-Identifier: Apache-2.0

//! The history against a model that keeps everything: whatever was sampled, kept, dropped, restarted, torn and queried.

use nyala_metrics::catalog::Source;
use nyala_mon::logic::history::{Change, History, Limits, Tier};
use nyala_mon::logic::outbox::{Answer, Outbox};
use nyala_mon::logic::query::{Query, QueryError, answer};
use nyala_mon::logic::record::read_segment;
use nyala_mon::logic::series::{Field, Key, Kind};
use proptest::prelude::*;
use std::collections::BTreeMap;

const LIMITS: Limits =
    Limits { raw_ms: 300_000, folded_ms: 3_000_000, step_ms: 10_000, series: 8, memory: 1 << 20, disk: 1 << 20 };
const SERIES: u8 = 6;

fn key(number: u8) -> Key {
    Key {
        metric: "m".into(),
        service: Source::Meta,
        instance: format!("meta{}", number / 3),
        labels: vec![("op".into(), format!("{number}"))],
        field: Field::Value,
        kind: Kind::ALL[usize::from(number) % 3],
        micros: number % 2 == 1,
    }
}

#[derive(Clone, Debug)]
enum Op {
    /// A round after so many milliseconds, of some series.
    Sample(u64, BTreeMap<u8, i64>),
    /// The process ends and starts; the last segment of each tier loses so many bytes.
    Restart(Option<u8>),
}

fn op() -> impl Strategy<Value = Op> {
    let values = prop::collection::btree_map(0..SERIES, -5_i64..2000, 0..6);
    prop_oneof![
        20 => (1_u64..9000, values).prop_map(|(after, values)| Op::Sample(after, values)),
        1 => prop::option::of(1_u8..40).prop_map(Op::Restart),
    ]
}

type Disk = BTreeMap<(Tier, u64), Vec<u8>>;

fn carry_out(disk: &mut Disk, changes: Vec<Change>) {
    for change in changes {
        match change {
            Change::Append(tier, id, bytes) => disk.entry((tier, id)).or_default().extend(bytes),
            Change::Remove(tier, id) => assert!(disk.remove(&(tier, id)).is_some(), "{tier:?} {id} was not there"),
        }
    }
}

fn restart(disk: &mut Disk, limits: Limits) -> History {
    let mut history = History::new(limits);
    disk.retain(|(tier, id), bytes| {
        let (rounds, open, good) = read_segment(bytes);
        bytes.truncate(good);
        let whole = !rounds.is_empty();
        history.restore(*tier, *id, rounds, open, good as u64);
        whole
    });
    let changes = history.restored();
    carry_out(disk, changes);
    history
}

/// Everything that a tier has, by time.
fn all(history: &History, tier: Tier) -> BTreeMap<u64, BTreeMap<Key, i64>> {
    let mut all: BTreeMap<u64, BTreeMap<Key, i64>> = BTreeMap::new();
    for block in history.blocks(tier) {
        block.times().iter().for_each(|time| drop(all.insert(*time, BTreeMap::new())));
        for (key, values) in block.all() {
            for (time, value) in values {
                all.get_mut(&time).unwrap().insert((**key).clone(), value);
            }
        }
    }
    all
}

/// What the folded tier should have of these rounds: the last, mean or largest of each step but the one under way.
fn folded(rounds: &BTreeMap<u64, BTreeMap<Key, i64>>) -> BTreeMap<u64, BTreeMap<Key, i64>> {
    let mut steps: BTreeMap<u64, BTreeMap<Key, Vec<i64>>> = BTreeMap::new();
    for (time, values) in rounds {
        let step = steps.entry(time.div_ceil(LIMITS.step_ms) * LIMITS.step_ms).or_default();
        values.iter().for_each(|(key, value)| step.entry(key.clone()).or_default().push(*value));
    }
    steps.pop_last();
    let one = |key: &Key, values: &[i64]| match key.kind {
        Kind::Counter => values[values.len() - 1],
        Kind::Gauge => values.iter().sum::<i64>() / values.len() as i64,
        Kind::Peak => *values.iter().max().unwrap(),
    };
    let step =
        |values: BTreeMap<Key, Vec<i64>>| values.into_iter().map(|(key, all)| (key.clone(), one(&key, &all))).collect();
    steps.into_iter().map(|(time, values)| (time, step(values))).collect()
}

fn check(history: &History, disk: &Disk, model: &BTreeMap<u64, BTreeMap<Key, i64>>, now: u64) {
    let raw = all(history, Tier::Raw);
    let young = model.range(now.saturating_sub(LIMITS.raw_ms)..);
    assert!(
        young.clone().all(|(time, values)| raw.get(time) == Some(values)),
        "of what is young, something is missing"
    );
    assert!(raw.iter().all(|(time, values)| model.get(time) == Some(values)), "something was never sampled");
    assert!(raw.len() <= young.count() + 60, "what is old is still there");
    let (steps, expected) = (all(history, Tier::Folded), folded(model));
    let young = expected.range(now.saturating_sub(LIMITS.folded_ms)..);
    assert!(young.clone().all(|(time, values)| steps.get(time) == Some(values)), "{steps:?}\n{expected:?}");
    assert!(steps.len() <= young.count() + 60);
    assert_eq!(history.disk(), disk.values().map(|bytes| bytes.len() as u64).sum::<u64>());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 100, ..ProptestConfig::default() })]

    #[test]
    fn what_is_kept_is_what_was_sampled(ops in prop::collection::vec(op(), 1..300)) {
        let (mut history, mut disk, mut model, mut now) = (History::new(LIMITS), Disk::new(), BTreeMap::new(), 1_000_000);
        let all_ops = ops.len();
        for (number, op) in ops.into_iter().enumerate() {
            match op {
                Op::Sample(after, values) => {
                    now += after;
                    let values: BTreeMap<Key, i64> = values.into_iter().map(|(number, value)| (key(number), value)).collect();
                    let changes = history.sample(now, values.clone().into_iter().collect());
                    carry_out(&mut disk, changes);
                    model.insert(now, values);
                }
                Op::Restart(None) => {
                    // A restart trims as well, by the time of the last round.
                    let before = (all(&history, Tier::Raw), all(&history, Tier::Folded));
                    history = restart(&mut disk, LIMITS);
                    prop_assert!(before == (all(&history, Tier::Raw), all(&history, Tier::Folded)), "a restart has changed something");
                }
                Op::Restart(Some(torn)) => {
                    // Of the raw tier, some rounds are gone; what was folded of them may be there.
                    let last = disk.keys().rfind(|(tier, _)| *tier == Tier::Raw).copied();
                    let Some(last) = last else { continue };
                    let bytes = disk.get_mut(&last).unwrap();
                    bytes.truncate(bytes.len().saturating_sub(torn.into()));
                    let rounds = read_segment(bytes).0.len();
                    let lost: Vec<u64> = model.range(last.1..).map(|(time, _)| *time).skip(rounds).collect();
                    // Folded steps of rounds that were lost would not be what the model has.
                    let steps: Vec<_> = disk.keys().filter(|(tier, _)| *tier == Tier::Folded).copied().collect();
                    if lost.iter().any(|time| time.div_ceil(LIMITS.step_ms) < now.div_ceil(LIMITS.step_ms)) {
                        steps.iter().for_each(|step| drop(disk.remove(step)));
                        let from = disk.keys().next().map_or(now, |(_, id)| *id);
                        model.retain(|time, _| *time >= from);
                    }
                    lost.iter().for_each(|time| drop(model.remove(time)));
                    history = restart(&mut disk, LIMITS);
                }
            }
            if number % 16 == 0 || number + 1 == all_ops {
                check(&history, &disk, &model, now);
            }
        }
    }

    #[test]
    fn limits_hold(rounds in prop::collection::vec(prop::collection::btree_map(0_u8..30, any::<i32>(), 0..30), 1..300), memory in 2000_usize..60_000, disk in 2000_u64..60_000) {
        let limits = Limits { memory, disk, raw_ms: u64::MAX / 2, folded_ms: u64::MAX / 2, ..LIMITS };
        let mut history = History::new(limits);
        let mut kept = Disk::new();
        for (number, values) in rounds.iter().enumerate() {
            let values = values.iter().map(|(number, value)| (key(*number), i64::from(*value))).collect();
            let changes = history.sample(number as u64 * 5000, values);
            carry_out(&mut kept, changes);
            prop_assert!(history.series() <= limits.series);
            let fits = history.memory() <= memory && history.disk() <= disk;
            prop_assert!(fits || Tier::ALL.iter().all(|tier| history.blocks(*tier).count() <= 1), "{} {}", history.memory(), history.disk());
            prop_assert_eq!(history.disk(), kept.values().map(|bytes| bytes.len() as u64).sum::<u64>());
        }
    }

    #[test]
    fn rates_add_up_to_what_a_counter_grew_by(grown in prop::collection::vec(0_i64..1000, 2..500), step in 1_u64..50, from in 0_usize..400) {
        let mut history = History::new(LIMITS);
        let (mut total, mut at) = (0, Vec::new());
        for (number, grown) in grown.iter().enumerate() {
            total += grown;
            at.push(total);
            history.sample(1_000_000 + number as u64 * 5000, vec![(key(0), total)]);
        }
        let times: Vec<u64> = all(&history, Tier::Folded).into_keys().filter(|time| *time < history.raw_from()).collect();
        let first = times.first().copied().unwrap_or(history.raw_from());
        let (from, to) = (first + from as u64 * 1000, 1_000_000 + (grown.len() as u64 - 1) * 5000);
        let query = Query { metric: "m".into(), service: None, instance: Some("meta0".into()), field: None, labels: Vec::new(), from_ms: from, to_ms: to, step_ms: step * 1000, rate: true };
        match answer(&history, &query) {
            Err(error) => prop_assert!(matches!(error, QueryError::Times | QueryError::Points(_)), "{}", error),
            Ok(lines) => {
                let points = lines.into_iter().next().map_or(Vec::new(), |(_, points)| points);
                prop_assert!(points.iter().all(|(time, _)| *time > from && *time <= to));
                // Each step's rate times its length, where the base is a sample at or before `from`.
                if from % 10_000 == 0 && step % 10 == 0 && (to - from) % (step * 1000) == 0 && from >= 1_000_000 {
                    let sum: f64 = points.iter().map(|(_, rate)| rate * step as f64).sum();
                    let index = ((from - 1_000_000) / 5000) as usize;
                    prop_assert!((sum - (total - at[index]) as f64).abs() < 1e-6 * total as f64 + 1e-6, "{} {}", sum, total - at[index]);
                }
            }
        }
    }

    #[test]
    fn a_database_gets_every_round_once_it_is_there(rounds in 1_u64..700, away in prop::collection::vec((0_u64..3_000_000, 0_u64..600_000), 0..4), too_long: bool) {
        let (mut history, mut outbox, mut got) = (History::new(LIMITS), Outbox::new(0), BTreeMap::new());
        let mut now = 1_000_000;
        let is_away = |now: u64| away.iter().any(|(from, length)| (from + 1_000_000..from + 1_000_000 + length).contains(&now));
        let mut write = |now: u64, history: &History, outbox: &mut Outbox| {
            while let Some(batch) = outbox.next(now, history) {
                let times = batch.body.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
                let times: Vec<u64> = times.collect();
                let answer = match () {
                    () if is_away(now) => Answer::Failed,
                    () if too_long && times.len() > 3 => Answer::TooLong,
                    () => Answer::Written,
                };
                outbox.answered(now, &batch, answer);
                if answer == Answer::Written {
                    times.iter().for_each(|time| *got.entry(*time).or_insert(0) += 1);
                }
            }
        };
        for number in 0..rounds {
            now += 5000;
            history.sample(now, vec![(key(0), number as i64)]);
            write(now, &history, &mut outbox);
        }
        write(now + 10_000_000, &history, &mut outbox);
        prop_assert!(got.values().all(|times| *times == 1), "{:?}", got);
        prop_assert_eq!(outbox.sent_ms(), now);
        let missing = |tier, before: u64| all(&history, tier).into_keys().filter(|time| *time < before && !got.contains_key(time)).collect::<Vec<_>>();
        prop_assert_eq!(missing(Tier::Raw, u64::MAX), Vec::<u64>::new());
        // No stretch without points is longer than a step, where the history reaches.
        let from = all(&history, Tier::Folded).into_keys().next().unwrap_or(0);
        let times: Vec<u64> = got.keys().copied().filter(|time| *time >= from).collect();
        prop_assert!(times.windows(2).all(|pair| pair[1] - pair[0] <= LIMITS.step_ms + 5000), "{:?}", times);
    }
}

#[test]
fn a_clock_that_is_set_back_takes_the_future_with_it() {
    let (mut history, mut disk) = (History::new(LIMITS), Disk::new());
    for number in 0..200 {
        let changes = history.sample(1_000_000 + number * 1000, vec![(key(0), 1)]);
        carry_out(&mut disk, changes);
    }
    assert!(history.sample(1_198_000, vec![(key(0), 2)]).is_empty() && history.skipped_rounds == 1, "it stood still");
    let changes = history.sample(1_100_000, vec![(key(0), 3)]);
    carry_out(&mut disk, changes);
    assert_eq!(history.last_ms(), Some(1_100_000));
    assert!(all(&history, Tier::Raw).keys().all(|time| *time <= 1_100_000) && history.raw_from() == 1_000_000);
    assert_eq!(history.disk(), disk.values().map(|bytes| bytes.len() as u64).sum::<u64>());
    restart(&mut disk, LIMITS);
}

#[test]
fn questions_without_an_answer_say_why() {
    let mut history = History::new(LIMITS);
    history.sample(5000, vec![(key(0), 1)]);
    let query = |metric: &str, from_ms, to_ms, step_ms| Query {
        metric: metric.into(),
        service: None,
        instance: None,
        field: None,
        labels: Vec::new(),
        from_ms,
        to_ms,
        step_ms,
        rate: false,
    };
    assert_eq!(answer(&history, &query("m", 5, 5, 1)), Err(QueryError::Times));
    assert_eq!(answer(&history, &query("m", 0, 5, 0)), Err(QueryError::Times));
    assert_eq!(answer(&history, &query("m", 0, 4000, 1)), Err(QueryError::Points(4000)));
    assert_eq!(answer(&history, &query("x", 0, 4000, 10)), Err(QueryError::Metric("x".into())));
    let lines = answer(&history, &query("m", 0, 10_000, 10_000)).unwrap();
    assert_eq!((lines.len(), &lines[0].1[..]), (1, &[(10_000, 1.0)][..]));
}
