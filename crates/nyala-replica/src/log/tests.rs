// SPDX-License-Identifier: Apache-2.0

//! A primary and a member, told by hand.

use super::*;
use nyala_wire::map::{Group, TargetKind};
use std::collections::BTreeSet;

const GROUP: GroupId = GroupId(1);
const A: TargetId = TargetId(1);
const B: TargetId = TargetId(2);

fn view(epoch: u32, term: u32, states: [MemberState; 2]) -> View {
    let group = Group {
        id: GROUP,
        kind: TargetKind::Meta,
        epoch,
        members: vec![A, B],
        states: states.to_vec(),
        term,
        since: MapVersion(epoch.into()),
        fencing: Vec::new(),
        resync_stopped: false,
        full: Vec::new(),
        losses: 0,
        serves: Some(A),
    };
    View { version: MapVersion(epoch.into()), group, reachable: BTreeSet::from([A, B]) }
}

fn member(me: TargetId, last: u64) -> LogMember {
    LogMember::open(me, GROUP, LogConfig::default(), LogState { last, ..LogState::default() })
}

fn handle(member: &mut LogMember, now_ms: u64, input: LogInput) -> Vec<LogEffect> {
    let mut effects = Vec::new();
    member.handle(now_ms * 1000, input, &mut effects);
    effects
}

fn lease(member: &mut LogMember) -> Vec<LogEffect> {
    handle(member, 0, LogInput::Lease { until_ms: 10_000, version: MapVersion(0) })
}

/// What one sends to the other, until nobody has anything to say; what else is wanted.
fn talk(a: &mut LogMember, b: &mut LogMember, first: Vec<LogEffect>) -> Vec<LogEffect> {
    let (mut queue, mut rest) = (first.into_iter().map(|effect| (A, effect)).collect::<VecDeque<_>>(), Vec::new());
    while let Some((from, effect)) = queue.pop_front() {
        match effect {
            LogEffect::Send(to, envelope, records) => {
                let other = if to == A { &mut *a } else { &mut *b };
                let wants = handle(other, 1, LogInput::Message(from, envelope, records));
                queue.extend(wants.into_iter().map(|effect| (to, effect)));
            }
            LogEffect::Apply { first, ref records } => {
                let last = first + records.len() as u64 - 1;
                rest.push(effect);
                let me = if from == A { &mut *a } else { &mut *b };
                let wants = handle(me, 1, LogInput::Written(last));
                queue.extend(wants.into_iter().map(|effect| (from, effect)));
            }
            LogEffect::Sync(index) => {
                let me = if from == A { &mut *a } else { &mut *b };
                let wants = handle(me, 1, LogInput::Durable(index));
                queue.extend(wants.into_iter().map(|effect| (from, effect)));
            }
            other => rest.push(other),
        }
    }
    rest
}

fn record() -> Record {
    b"record"[..].into()
}

/// A server that was not mirrored leads at once, with its own number of records; one whose log is shared takes what follows.
#[test]
fn a_record_counts_when_every_good_member_has_it() {
    use MemberState::{Good, Resyncing};
    let (mut a, mut b) = (member(A, 9), member(B, 9));
    lease(&mut a);
    let begins = handle(&mut a, 0, LogInput::Map(view(1, 1, [Good, Resyncing])));
    assert!(begins.contains(&LogEffect::BeginTerm { term: 1, index: 10 }), "{begins:?}");
    handle(&mut b, 0, LogInput::Map(view(1, 1, [Good, Resyncing])));
    let leads = handle(&mut a, 0, LogInput::Append(vec![record()]));
    assert!(leads.contains(&LogEffect::Lead(1)), "nobody else is good: {leads:?}");
    let rest = talk(&mut a, &mut b, [begins, leads].concat());
    assert!(rest.contains(&LogEffect::Apply { first: 10, records: vec![record()] }), "{rest:?}");
    assert!(rest.iter().any(|effect| matches!(effect, LogEffect::Ask(Command::MemberResynced(_)))), "{rest:?}");
    assert_eq!((a.position(), b.position()), (Position { term: 1, index: 10 }, Position { term: 1, index: 10 }));

    // From now on nothing counts without it, though the map does not call it good yet.
    let sent = handle(&mut a, 2, LogInput::Append(vec![record()]));
    assert!(!sent.contains(&LogEffect::Committed(11)), "{sent:?}");
    let rest = talk(&mut a, &mut b, sent);
    assert!(rest.contains(&LogEffect::Committed(11)), "{rest:?}");
}

/// A primary whose lease is over answers for nothing, whatever members say.
#[test]
fn nothing_counts_without_a_lease() {
    let (mut a, mut b) = (member(A, 9), member(B, 9));
    lease(&mut a);
    let good = view(1, 1, [MemberState::Good; 2]);
    handle(&mut b, 0, LogInput::Map(good.clone()));
    let asks = handle(&mut a, 0, LogInput::Map(good));
    let rest = talk(&mut a, &mut b, asks);
    assert_eq!(rest, [LogEffect::BeginTerm { term: 1, index: 10 }]);
    let sent = handle(&mut a, 10_001, LogInput::Append(vec![record()]));
    let rest = talk(&mut a, &mut b, sent);
    assert!(!rest.iter().any(|effect| matches!(effect, LogEffect::Committed(_) | LogEffect::Lead(_))), "{rest:?}");
    let renewed = handle(&mut a, 10_002, LogInput::Lease { until_ms: 20_000, version: MapVersion(1) });
    assert_eq!(renewed[..2], [LogEffect::Committed(10), LogEffect::Lead(1)]);
}

/// A member that has records of its own behind what it shares is given everything.
#[test]
fn a_member_with_another_history_is_given_everything() {
    let mut a = LogMember::open(
        A,
        GROUP,
        LogConfig::default(),
        LogState { last: 9, terms: Terms::new([(1, 5)]), copying: None },
    );
    let terms = Terms::new([(1, 5)]);
    let mut b = LogMember::open(B, GROUP, LogConfig::default(), LogState { last: 12, terms, copying: None });
    lease(&mut a);
    let resyncs = view(4, 3, [MemberState::Good, MemberState::Resyncing]);
    handle(&mut b, 0, LogInput::Map(resyncs.clone()));
    let begins = handle(&mut a, 0, LogInput::Map(resyncs));
    let leads = handle(&mut a, 0, LogInput::Append(vec![record()]));
    let rest = talk(&mut a, &mut b, [begins, leads].concat());
    let begun = rest.iter().find_map(|effect| match effect {
        LogEffect::BeginCopy { position, .. } => Some(*position),
        _ => None,
    });
    assert_eq!(begun, Some(Position { term: 3, index: 10 }), "{rest:?}");
}

/// Both good, and A has begun its term with record 10, which both have written.
fn both_good() -> (LogMember, LogMember) {
    let (mut a, mut b) = (member(A, 9), member(B, 9));
    lease(&mut a);
    let good = view(1, 1, [MemberState::Good; 2]);
    handle(&mut b, 0, LogInput::Map(good.clone()));
    let asks = handle(&mut a, 0, LogInput::Map(good));
    talk(&mut a, &mut b, asks);
    let begins = handle(&mut a, 1, LogInput::Append(vec![record()]));
    talk(&mut a, &mut b, begins);
    handle(&mut a, 1, LogInput::Written(10));
    assert_eq!((a.role(), a.committed()), (MemberRole::Primary, 10));
    (a, b)
}

/// What a member syncs for reasons of its own is known as safe without anybody asking.
#[test]
fn news_of_the_disk_come_unasked() {
    let (mut a, mut b) = both_good();
    handle(&mut a, 2, LogInput::Durable(10));
    let tells = handle(&mut b, 2, LogInput::Durable(10));
    let [LogEffect::Send(A, envelope, records)] = &tells[..] else { panic!("{tells:?}") };
    let heard = handle(&mut a, 3, LogInput::Message(B, envelope.clone(), records.clone()));
    assert!(heard.contains(&LogEffect::DurableEverywhere(10)), "{heard:?}");
    assert_eq!(handle(&mut b, 4, LogInput::Durable(10)), [], "it is no news");
}

/// A primary that stood still gets its next lease with a newer map's version: it does not count before the map is handled.
#[test]
fn a_lease_counts_for_the_map_that_it_came_with() {
    let (mut a, _) = both_good();
    assert!(a.serves(9_999) && !a.serves(10_000), "to its end");
    handle(&mut a, 10_001, LogInput::Lease { until_ms: 20_000, version: MapVersion(7) });
    assert!(!a.serves(10_002), "that map may say that somebody else serves");
    let sent = handle(&mut a, 10_002, LogInput::Append(vec![record()]));
    assert!(!sent.iter().any(|effect| matches!(effect, LogEffect::Committed(_))), "{sent:?}");
    let same = View { version: MapVersion(7), ..view(1, 1, [MemberState::Good; 2]) };
    handle(&mut a, 10_003, LogInput::Map(same));
    assert!(a.serves(10_004));
}

/// A member that answers and whose disk does not is not waited for any longer than one that does not answer.
#[test]
fn a_member_whose_disk_does_nothing_is_given_up() {
    let (mut a, mut b) = both_good();
    // Long enough that no lease ends.
    handle(&mut a, 2, LogInput::Lease { until_ms: 1_000_000, version: MapVersion(1) });
    let give_up_ms = LogConfig::default().give_up_ms;
    let mut marked = None;
    let mut effects = handle(&mut a, 2, LogInput::WantDurable(10));
    handle(&mut a, 2, LogInput::Durable(10));
    for now_ms in (10..2 * give_up_ms).step_by(100) {
        effects.extend(handle(&mut a, now_ms, LogInput::Tick));
        for effect in std::mem::take(&mut effects) {
            match effect {
                LogEffect::Send(B, envelope, records) => {
                    for answer in handle(&mut b, now_ms, LogInput::Message(A, envelope, records)) {
                        match answer {
                            LogEffect::Send(A, envelope, records) => {
                                effects.extend(handle(&mut a, now_ms, LogInput::Message(B, envelope, records)));
                            }
                            other => assert!(matches!(other, LogEffect::Sync(10)), "{other:?}"),
                        }
                    }
                }
                LogEffect::Ask(Command::MarkNeedsResync { member, .. }) => {
                    assert_eq!(member.target, B);
                    marked.get_or_insert(now_ms);
                }
                _ => {}
            }
        }
    }
    let marked = marked.expect("it is marked");
    assert!((give_up_ms..give_up_ms + 300).contains(&marked), "{marked}");
}

/// What B has to say reaches A; what A wants then.
fn hear(a: &mut LogMember, now_ms: u64, said: Vec<LogEffect>) -> Vec<LogEffect> {
    let mut wants = Vec::new();
    for effect in said {
        if let LogEffect::Send(A, envelope, records) = effect {
            wants.extend(handle(a, now_ms, LogInput::Message(B, envelope, records)));
        }
    }
    wants
}

/// The key from which A reads rows first, if it does so within two seconds.
fn reads(a: &mut LogMember, from_ms: u64) -> Option<Vec<u8>> {
    let ticks = (from_ms..from_ms + 2000).step_by(20);
    ticks.flat_map(|now_ms| handle(a, now_ms, LogInput::Tick)).find_map(|effect| match effect {
        LogEffect::ReadRows { from, .. } => Some(from),
        _ => None,
    })
}

/// An operator's word holds a copy that is under way, which goes on later where it was. How far it is can be seen all the while.
#[test]
fn a_copy_stops_and_goes_on_as_an_operator_says() {
    let state = |last| LogState { last, terms: Terms::new([(1, 5)]), copying: None };
    let mut a = LogMember::open(A, GROUP, LogConfig::default(), state(9));
    let mut b = LogMember::open(B, GROUP, LogConfig::default(), state(12));
    lease(&mut a);
    let map = |version, stopped| {
        let mut view = view(4, 3, [MemberState::Good, MemberState::Resyncing]);
        (view.version, view.group.resync_stopped) = (MapVersion(version), stopped);
        LogInput::Map(view)
    };
    handle(&mut b, 0, map(4, false));
    let begins = handle(&mut a, 0, map(4, false));
    let leads = handle(&mut a, 0, LogInput::Append(vec![record()]));
    talk(&mut a, &mut b, [begins, leads].concat());
    let begun = handle(&mut b, 2, LogInput::CopyTaken);
    hear(&mut a, 2, begun);
    assert_eq!(reads(&mut a, 10), Some(vec![]), "it begins");

    let rows = LogInput::Rows { member: B, from: vec![], to: vec![5], rows: record() };
    let part = handle(&mut a, 2100, rows);
    let rest = talk(&mut a, &mut b, part);
    assert!(rest.iter().any(|effect| matches!(effect, LogEffect::PutRows { .. })), "{rest:?}");
    handle(&mut a, 2200, map(5, true));
    let taken = handle(&mut b, 2200, LogInput::CopyTaken);
    let wants = hear(&mut a, 2200, taken);
    assert!(!wants.iter().any(|effect| matches!(effect, LogEffect::ReadRows { .. })), "{wants:?}");
    assert_eq!(reads(&mut a, 2300), None, "it is stopped");
    let progress = a.progress(100);
    assert!(progress[0].1.stopped && (progress[0].1.copied_bytes, progress[0].1.left_bytes) == (6, 94), "{progress:?}");

    handle(&mut a, 4400, map(6, false));
    assert_eq!(reads(&mut a, 4400), Some(vec![5]), "it goes on where it was");
}

/// The question that a primary asks with its records.
fn range() -> RangeSum {
    RangeSum { number: 7, from: b"E".to_vec(), to: b"F".to_vec(), most: 9 }
}

fn appends(effects: &[LogEffect]) -> Vec<(usize, Option<RangeSum>)> {
    let of = |effect: &LogEffect| match effect {
        LogEffect::Send(_, LogEnvelope { body: LogBody::Append { question, .. }, .. }, records) => {
            Some((records.len(), question.clone()))
        }
        _ => None,
    };
    effects.iter().filter_map(of).collect()
}

/// A member sums up a range when it has the records up to the primary's sum, and none behind them.
#[test]
fn a_range_is_summed_up_between_two_records() {
    let (mut a, mut b) = both_good();
    // On its way when the question comes, and one that comes behind it.
    let first = handle(&mut a, 2, LogInput::Append(vec![record()]));
    assert!(appends(&handle(&mut a, 2, LogInput::Compare(range()))).is_empty(), "one message at a time");
    handle(&mut a, 2, LogInput::Append(vec![record()]));
    assert_eq!(a.last(), 12);
    let rest = talk(&mut a, &mut b, first);
    let order: Vec<u64> = rest
        .iter()
        .filter_map(|effect| match effect {
            LogEffect::Apply { first, .. } => Some(*first),
            LogEffect::SumUp(asked) => Some(asked.number * 1000),
            _ => None,
        })
        .collect();
    assert_eq!(order, [11, 7000, 12], "{rest:?}");
    let sum = Summed { rows: 3, hash: 5 };
    let answer = handle(&mut b, 3, LogInput::Summed(7, Some(sum)));
    assert_eq!(talk_to_a(&mut a, answer), [LogEffect::Compared(B, 7, Some(sum))]);
    // Without anything new there is a message for it alone.
    let asked = handle(&mut a, 4, LogInput::Compare(range()));
    assert_eq!(appends(&asked), [(0, Some(range()))]);
    assert!(talk(&mut a, &mut b, asked).contains(&LogEffect::SumUp(range())));
}

/// What `b` sends, and what comes of it at `a`.
fn talk_to_a(a: &mut LogMember, effects: Vec<LogEffect>) -> Vec<LogEffect> {
    let sent = effects.into_iter().filter_map(|effect| match effect {
        LogEffect::Send(A, envelope, records) => Some((envelope, records)),
        _ => None,
    });
    sent.flat_map(|(envelope, records)| handle(a, 3, LogInput::Message(B, envelope, records))).collect()
}

/// A question that is lost is asked again with its records; one that comes late finds more records, and is not answered.
#[test]
fn a_lost_question_is_asked_again_and_a_late_one_is_none() {
    let (mut a, mut b) = both_good();
    let lost = handle(&mut a, 2, LogInput::Compare(range()));
    assert_eq!(appends(&lost), [(0, Some(range()))]);
    let LogEffect::Send(_, late, _) = lost[0].clone() else { panic!("{lost:?}") };
    handle(&mut a, 3, LogInput::Append(vec![record()]));
    let again = handle(&mut a, 2 + LogConfig::default().resend_ms, LogInput::Tick);
    assert_eq!(appends(&again), [(0, Some(range()))], "and nothing behind it");
    let rest = talk(&mut a, &mut b, again);
    assert!(rest.contains(&LogEffect::SumUp(range())) && b.last() == 11, "{rest:?}");
    let answer = handle(&mut b, 500, LogInput::Message(A, late, Vec::new()));
    assert!(!answer.contains(&LogEffect::SumUp(range())), "{answer:?}");
    assert!(!talk_to_a(&mut a, answer).iter().any(|effect| matches!(effect, LogEffect::Compared(..))));
    assert!(appends(&handle(&mut a, 1000, LogInput::Tick)).is_empty(), "nothing is asked for ever");
}
