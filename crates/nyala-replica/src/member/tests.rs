// SPDX-License-Identifier: Apache-2.0

//! One member at a time, against a script. How members get along with each other is `nyala-sim`'s business.

use super::*;
use crate::effect::{Answer, Effect};
use crate::input::{Input, Operation, Request, Ticket, Token};
use crate::lists::FileRegions;
use crate::message::{Body, Envelope};
use crate::regions::Span;
use crate::session_fences::FENCES;
use nyala_cluster::Command;
use nyala_wire::map::{Group, MemberState, TargetKind};
use nyala_wire::storage::ChunkFileId;
use nyala_wire::{InodeId, MapVersion};

const P: TargetId = TargetId(1);
const S: TargetId = TargetId(2);
const FILE: ChunkFileId = ChunkFileId { inode: InodeId(1), index: 0 };

fn view(version: u64, epoch: u32, term: u32, members: &[(TargetId, MemberState)], fencing: &[TargetId]) -> View {
    let group = Group {
        id: GroupId(1),
        kind: TargetKind::Storage,
        epoch,
        members: members.iter().map(|(t, _)| *t).collect(),
        states: members.iter().map(|(_, s)| *s).collect(),
        term,
        since: MapVersion(version),
        fencing: fencing.to_vec(),
        resync_stopped: false,
        losses: 0,
        serves: None,
        full: Vec::new(),
    };
    View { version: MapVersion(version), group, reachable: members.iter().map(|(t, _)| *t).collect() }
}

const BOTH: [(TargetId, MemberState); 2] = [(P, MemberState::Good), (S, MemberState::Good)];

struct Script {
    member: Member,
    now_ms: u64,
}

impl Script {
    fn new(me: TargetId) -> Script {
        let member = Member::open(me, GroupId(1), Config::default(), []);
        let mut script = Script { member, now_ms: 0 };
        script.put(Input::Lease { until_ms: 1_000_000, version: MapVersion(0) });
        script
    }

    /// A primary that has done its first duty, with member `S` good.
    fn primary() -> Script {
        let mut script = Script::new(P);
        let gather = script.put(Input::Map(view(1, 1, 1, &BOTH, &[])));
        assert!(sent(&gather).contains(&Body::Gather { done: vec![] }), "{gather:?}");
        let read = script.hear(S, 1, Body::Gathered { regions: vec![] });
        assert!(matches!(read[..], [Effect::ReadRegion { file: FENCES, .. }]), "{read:?}");
        let copy = script.disk(&read);
        assert!(matches!(sent(&copy)[..], [Body::Copy { seq: 1, .. }]), "{copy:?}");
        let tell = script.hear(S, 1, Body::Forwarded { seq: 1, ok: true });
        let Some(Body::Sync { id, flush: false, .. }) = sent(&tell).into_iter().next() else { panic!("{tell:?}") };
        assert_eq!(script.member.role(), MemberRole::Recovering);
        script.hear(S, 1, Body::Synced { id, ok: true });
        assert_eq!(script.member.role(), MemberRole::Primary);
        script
    }

    fn put(&mut self, input: Input) -> Vec<Effect> {
        self.member.handle(self.now_ms * 1000, input)
    }

    fn hear(&mut self, from: TargetId, epoch: u32, body: Body) -> Vec<Effect> {
        let envelope = Envelope { group: GroupId(1), epoch, term: 1, body };
        self.put(Input::Message { from, envelope, payload: Ticket(77) })
    }

    fn ask(&mut self, seq: u64, epoch: u32, operation: Operation) -> Vec<Effect> {
        self.put(Input::Request(Request {
            token: Token(seq),
            client: 1,
            seq,
            lowest: 0,
            epoch,
            operation,
            came_us: self.now_ms * 1000,
        }))
    }

    /// All disk work that these effects ask for works; what follows from that.
    fn disk(&mut self, effects: &[Effect]) -> Vec<Effect> {
        let mut all = Vec::new();
        for effect in effects {
            let (Effect::Persist { job, .. }
            | Effect::Apply { job, .. }
            | Effect::Read { job, .. }
            | Effect::WriteRegion { job, .. }
            | Effect::Flush { job }
            | Effect::ReadRegion { job, .. }) = effect
            else {
                continue;
            };
            let then = self.put(Input::Done { job: *job, ok: true, last: false, bytes: 0 });
            let more = self.disk(&then);
            all.extend(then);
            all.extend(more);
        }
        all
    }

    /// What a copy or a sync asks our disk or member `S` for works; what follows from that.
    fn goes_well(&mut self, effect: &Effect, epoch: u32) -> Vec<Effect> {
        match *effect {
            Effect::ReadRegion { job, .. } => self.put(Input::Done { job, ok: true, last: true, bytes: 0 }),
            Effect::Persist { job, .. } | Effect::Flush { job } => {
                self.put(Input::Done { job, ok: true, last: false, bytes: 0 })
            }
            Effect::Send(S, Envelope { body: Body::Copy { seq, .. }, .. }, _) => {
                self.hear(S, epoch, Body::Forwarded { seq, ok: true })
            }
            Effect::Send(S, Envelope { body: Body::Sync { id, .. }, .. }, _) => {
                self.hear(S, epoch, Body::Synced { id, ok: true })
            }
            _ => Vec::new(),
        }
    }
}

fn sent(effects: &[Effect]) -> Vec<Body> {
    let body = |effect: &Effect| match effect {
        Effect::Send(_, envelope, _) => Some(envelope.body.clone()),
        _ => None,
    };
    effects.iter().filter_map(body).collect()
}

fn answers(effects: &[Effect]) -> Vec<(u64, Answer)> {
    let answer = |effect: &Effect| match effect {
        Effect::Reply(token, answer) => Some((token.0, *answer)),
        _ => None,
    };
    effects.iter().filter_map(answer).collect()
}

fn write(start: u64, end: u64) -> Operation {
    Operation::Change(Change { file: FILE, span: Span { start, end } }, Ticket(5))
}

#[test]
fn a_change_is_answered_when_all_have_it_and_its_intent_came_first() {
    let mut script = Script::primary();
    let begun = script.ask(1, 1, write(0, 10));
    assert!(matches!(begun[..], [Effect::Send(S, ..), Effect::Persist { durable: true, .. }]), "{begun:?}");
    let applied = script.disk(&begun);
    assert!(matches!(applied[0], Effect::Apply { .. }) && answers(&applied).is_empty(), "S has not answered");
    let read = script.ask(2, 1, Operation::Read(FILE, Span { start: 5, end: 6 }));
    assert!(read.is_empty(), "it waits for its turn");
    let done = script.hear(S, 1, Body::Forwarded { seq: 2, ok: true });
    assert_eq!(answers(&done), [(1, Answer::Done)]);
    assert!(matches!(done.last(), Some(Effect::Read { .. })), "now the read has its turn: {done:?}");
    assert_eq!(answers(&script.ask(1, 1, write(0, 10))), [(1, Answer::Done)], "sent again: from memory");
}

#[test]
fn a_silent_member_is_marked_before_the_answer_and_remembered() {
    let mut script = Script::primary();
    let begun = script.ask(1, 1, write(0, 10));
    script.disk(&begun);
    script.now_ms = 1600;
    let asks = script.put(Input::Tick);
    let ask = asks.iter().find(|effect| matches!(effect, Effect::Ask(Command::MarkNeedsResync { .. })));
    assert!(ask.is_some() && answers(&asks).is_empty(), "{asks:?}");
    let alone = [(P, MemberState::Good), (S, MemberState::NeedsResync)];
    let unsettled = script.put(Input::Map(view(2, 2, 1, &alone, &[S])));
    assert!(answers(&unsettled).is_empty(), "S may still serve reads without knowing");
    let settled = script.put(Input::Map(view(3, 2, 1, &alone, &[])));
    assert_eq!(answers(&settled), [(1, Answer::Done)]);
    assert_eq!(script.member.tracked().2, [(S, 1)]);
}

#[test]
fn a_member_out_of_reach_is_marked_at_once_and_not_brought_up_to_date_until_it_answers() {
    let mut script = Script::primary();
    let begun = script.ask(1, 1, write(0, 10));
    script.disk(&begun);
    let asks = script.put(Input::Silent { target: S, until_ms: 5000 });
    assert!(asks.iter().any(|effect| matches!(effect, Effect::Ask(Command::MarkNeedsResync { .. }))), "{asks:?}");
    let alone = [(P, MemberState::Good), (S, MemberState::NeedsResync)];
    let settled = script.put(Input::Map(view(2, 2, 1, &alone, &[])));
    assert_eq!(answers(&settled), [(1, Answer::Done)]);
    let starts = |effects: &[Effect]| effects.iter().any(|e| matches!(e, Effect::Ask(Command::StartResync(_))));
    for now_ms in [2500, 4000] {
        script.now_ms = now_ms;
        assert!(!starts(&script.put(Input::Tick)), "management hears it, and it would not hear us");
        script.put(Input::Silent { target: S, until_ms: now_ms + 4000 });
    }
    script.now_ms = 8100;
    assert!(starts(&script.put(Input::Tick)));
}

#[test]
fn old_epochs_and_lost_leases_get_nothing() {
    let mut script = Script::primary();
    assert_eq!(answers(&script.ask(1, 0, write(0, 1))), [(1, Answer::WrongEpoch)]);
    let mut member = Script::new(S);
    member.put(Input::Map(view(5, 3, 1, &BOTH, &[])));
    let change = Change { file: FILE, span: Span { start: 0, end: 1 } };
    let origin = Origin { client: 1, seq: 1, lowest: 0 };
    let old = member.hear(P, 2, Body::Forward { seq: 1, committed_below: 1, change, origin });
    assert_eq!(sent(&old), [Body::Behind]);
    let newer = member.hear(P, 4, Body::Forward { seq: 1, committed_below: 1, change, origin });
    assert!(newer.contains(&Effect::FetchMap) && sent(&newer).is_empty());
    script.now_ms = 1_000_000;
    assert_eq!(answers(&script.ask(2, 1, write(0, 1))), [(2, Answer::NotReady)], "the lease is over");
    let mut ahead = Script::new(S);
    ahead.put(Input::Map(view(5, 3, 1, &BOTH, &[])));
    ahead.put(Input::Lease { until_ms: 2_000_000, version: MapVersion(6) });
    let read = ahead.ask(1, 3, Operation::Read(FILE, Span { start: 0, end: 1 }));
    assert_eq!(answers(&read), [(1, Answer::NotReady)], "a lease is worth nothing without its map");
}

#[test]
fn a_member_hides_what_may_not_be_committed() {
    let mut script = Script::new(S);
    script.put(Input::Map(view(1, 1, 1, &BOTH, &[])));
    let change = Change { file: FILE, span: Span { start: 0, end: 10 } };
    let origin = Origin { client: 1, seq: 1, lowest: 0 };
    let begun = script.hear(P, 1, Body::Forward { seq: 1, committed_below: 1, change, origin });
    let applied = script.disk(&begun);
    assert_eq!(sent(&applied), [Body::Forwarded { seq: 1, ok: true }]);
    let read = |script: &mut Script, at| script.ask(9, 1, Operation::Read(FILE, Span { start: at, end: at + 1 }));
    assert_eq!(answers(&read(&mut script, 5)), [(9, Answer::AskPrimary)]);
    assert!(matches!(read(&mut script, 10)[..], [Effect::Read { .. }]), "elsewhere it may");
    let again = script.hear(P, 1, Body::Forward { seq: 1, committed_below: 1, change, origin });
    assert_eq!(sent(&again), [Body::Forwarded { seq: 1, ok: true }], "answered again, not done again");
    script.hear(P, 1, Body::Committed { committed_below: 2 });
    assert!(matches!(read(&mut script, 5)[..], [Effect::Read { .. }]), "committed");
}

#[test]
fn a_resync_copies_what_changed_here_and_there_and_syncs() {
    let mut script = Script::primary();
    let alone = [(P, MemberState::Good), (S, MemberState::NeedsResync)];
    script.put(Input::Map(view(2, 2, 1, &alone, &[])));
    let begun = script.ask(1, 2, write(0, 10));
    assert_eq!(answers(&script.disk(&begun)), [(1, Answer::Done)]);
    script.now_ms = 3000;
    let asks = script.put(Input::Tick);
    assert!(asks.iter().any(|effect| matches!(effect, Effect::Ask(Command::StartResync(_)))), "{asks:?}");
    let back = [(P, MemberState::Good), (S, MemberState::Resyncing)];
    assert_eq!(sent(&script.put(Input::Map(view(3, 3, 1, &back, &[])))), [Body::Gather { done: vec![] }]);
    let mut runs = crate::Runs::default();
    runs.insert(Span { start: 7, end: 8 });
    script.hear(S, 3, Body::Gathered { regions: vec![FileRegions { file: FILE, runs }] });
    script.put(Input::Tick);
    script.now_ms = 3200;
    assert_eq!(
        script.put(Input::Tick).len(),
        1,
        "first it is seen whether somebody works: only the committed_below is told"
    );
    let mut reads = Vec::new();
    // At the lowest rate, a region takes an eighth of a second.
    for now_ms in (3300..=3800).step_by(50) {
        script.now_ms = now_ms;
        reads.extend(script.put(Input::Tick));
    }
    let regions = |effect: &Effect| match effect {
        Effect::ReadRegion { file, span, .. } => Some((file.inode.0, span.start >> 20)),
        _ => None,
    };
    assert_eq!(
        reads.iter().filter_map(regions).collect::<Vec<_>>(),
        [(0, 0), (1, 0), (1, 7)],
        "fences, ours and its own: {reads:?}"
    );
    let copies = script.disk(&reads);
    let numbers: Vec<u64> = sent(&copies)
        .iter()
        .filter_map(|body| match body {
            Body::Copy { seq, .. } => Some(*seq),
            _ => None,
        })
        .collect();
    let last: Vec<Body> =
        numbers.iter().flat_map(|seq| sent(&script.hear(S, 3, Body::Forwarded { seq: *seq, ok: true }))).collect();
    let Some(Body::Sync { id, flush: true, .. }) = last.last() else { panic!("{last:?}") };
    let done = script.hear(S, 3, Body::Synced { id: *id, ok: true });
    assert!(done.iter().any(|effect| matches!(effect, Effect::Ask(Command::MemberResynced(_)))), "{done:?}");
}

#[test]
fn a_failing_disk_makes_the_primary_step_down() {
    let mut script = Script::primary();
    let begun = script.ask(1, 1, write(0, 10));
    let Some(Effect::Persist { job, .. }) = begun.last() else { panic!("{begun:?}") };
    let failed = script.put(Input::Done { job: *job, ok: false, last: false, bytes: 0 });
    assert!(answers(&failed).is_empty());
    let asks = script.put(Input::Tick);
    let me =
        |effect: &Effect| matches!(effect, Effect::Ask(Command::MarkNeedsResync { member, .. }) if member.target == P);
    assert!(asks.iter().any(me), "{asks:?}");
    let deposed = [(S, MemberState::Good), (P, MemberState::NeedsResync)];
    let gone = script.put(Input::Map(view(2, 2, 2, &deposed, &[])));
    assert_eq!(answers(&gone), [(1, Answer::WrongEpoch)]);
    assert_eq!(script.member.busy(), 0);
}

/// A new member lacks everything, not only what changed while the primary knew it.
#[test]
fn a_member_on_the_full_list_gets_all_files() {
    let mut script = Script::primary();
    let with_new = |version, epoch, state, full: &[TargetId]| {
        let mut view = view(version, epoch, 1, &[(P, MemberState::Good), (S, state)], &[]);
        view.group.full = full.to_vec();
        view
    };
    script.put(Input::Map(with_new(2, 2, MemberState::NeedsResync, &[S])));
    script.put(Input::Map(with_new(3, 3, MemberState::Resyncing, &[S])));
    script.hear(S, 3, Body::Gathered { regions: vec![] });
    let mut asked = Vec::new();
    let (mut copied, mut resynced) = (Vec::new(), false);
    let mut effects = Vec::new();
    let other = ChunkFileId { inode: InodeId(2), index: 3 };
    for _ in 0..2000 {
        script.now_ms += 50;
        let mut next = std::mem::take(&mut effects);
        next.extend(script.put(Input::Tick));
        for effect in next {
            match effect {
                Effect::ListFiles { of, after } => {
                    assert_eq!(of, S);
                    asked.push(after);
                    let files = if after.is_none() { vec![FILE, other] } else { Vec::new() };
                    // An answer to another question is none to this one.
                    script.put(Input::Listed { of, after: Some(FILE), files: Some(Vec::new()) });
                    effects.extend(script.put(Input::Listed { of, after, files: Some(files) }));
                }
                Effect::Ask(Command::MemberResynced(_)) => resynced = true,
                effect => {
                    if let Effect::ReadRegion { file, .. } = effect {
                        copied.push(file);
                    }
                    effects.extend(script.goes_well(&effect, 3));
                }
            }
        }
        if resynced {
            break;
        }
    }
    assert!(resynced, "asked {asked:?}, copied {copied:?}");
    assert_eq!(asked, [None, Some(other)]);
    assert!(copied.contains(&FILE) && copied.contains(&other), "{copied:?}");
}
