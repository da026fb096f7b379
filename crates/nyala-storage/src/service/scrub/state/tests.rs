// SPDX-License-Identifier: Apache-2.0

//! Whole scrubs in simulated time.

use super::*;
use crate::service::scrub::describe::{describe, figures};
use nyala_wire::InodeId;
use nyala_wire::storage::ChunkFileId;

const DAY_MS: u64 = 24 * 3600 * 1000;
const CONFIG: ScrubConfig = ScrubConfig { interval: Duration::from_millis(DAY_MS), rate: 64 << 20 };

fn at(inode: u64) -> WalkAt {
    WalkAt { file: ChunkFileId { inode: InodeId(inode), index: 0 }, offset: 0 }
}

fn state(phase: u32) -> TargetState {
    TargetState::new(CONFIG, phase, (Progress::new(0), Vec::new()))
}

/// Scrubs a target of so many bytes, which serves so many bytes a second, with a disk of 200 MB/s; the time of the whole scrub.
fn scrubbed(state: &mut TargetState, clock: &mut Duration, total: u64, served: u64) -> Duration {
    let mut began = None;
    loop {
        let now = Now { clock: *clock, ms: u64::try_from(clock.as_millis()).unwrap() };
        let seen = Use { ops: 0, bytes: (served as f64 * clock.as_secs_f64()) as u64, waiting: 0 };
        match state.next(now, seen, total) {
            Next::Sleep(time) => *clock += time,
            Next::Again(at) => state.looked(at, (1, 1), Reason::NotMirrored, now),
            Next::Step(from, bytes) => {
                let began = *began.get_or_insert(*clock);
                *clock += Duration::from_secs_f64(f64::from(bytes) / 2e8);
                state.pace.read(bytes.into());
                let done = state.progress.bytes + u64::from(bytes) >= total;
                let next = WalkAt { offset: from.offset + u64::from(bytes), ..from };
                let ended_ms = u64::try_from(clock.as_millis()).unwrap();
                state.step(bytes.into(), (!done).then_some(next), Now { clock: *clock, ms: ended_ms });
                if done {
                    return *clock - began;
                }
            }
        }
    }
}

#[test]
fn an_idle_target_is_scrubbed_at_its_rate_and_a_busy_one_in_time() {
    let (mut state, mut clock) = (state(u32::MAX / 2), Duration::ZERO);
    let total = 100 << 30;
    let took = scrubbed(&mut state, &mut clock, total, 0);
    assert!(clock > Duration::from_millis(DAY_MS / 2), "it began in the middle of the interval");
    assert!(took > Duration::from_secs(1590) && took < Duration::from_secs(1700), "{took:?}");
    // 100 GiB in three quarters of a day are 1.6 MiB a second: hardly anybody notices.
    let took = scrubbed(&mut state, &mut clock, total, 500_000_000);
    assert!(took > Duration::from_millis(DAY_MS / 2) && took < Duration::from_millis(DAY_MS / 20 * 16), "{took:?}");
    assert!(state.progress.ended_ms > 0 && !figures(&state, state.progress.ended_ms).late);
}

#[test]
fn it_goes_on_after_a_restart_and_is_remembered_now_and_then() {
    let mut first = state(0);
    let now = |seconds| Now { clock: Duration::from_secs(seconds), ms: seconds * 1000 };
    assert!(first.is_to_be_saved(now(0)), "since when it is scrubbed");
    first.saved(true, now(0));
    assert!(!first.is_to_be_saved(now(3600)), "nothing happens");
    assert_eq!(first.next(now(3600), Use::default(), 1 << 40), Next::Step(WalkAt::default(), 1 << 20));
    assert!(first.is_to_be_saved(now(3600)), "it has begun");
    first.step(1 << 20, Some(at(7)), now(3600));
    first.saved(true, now(3600));
    assert!(!first.is_to_be_saved(now(3609)) && first.is_to_be_saved(now(3610)));
    let kept = Progress::recall(Some(&first.progress.encode()), 3_700_000);
    let mut second = TargetState::new(CONFIG, 0, (kept, Vec::new()));
    assert_eq!(second.next(now(3700), Use::default(), 1 << 40), Next::Step(at(7), 1 << 20));
    assert_eq!(describe(&second, 3_700_000, None).bytes, 1 << 20);
}

#[test]
fn known_damage_comes_first_after_a_start_and_counts() {
    let damage = Damage { bad: 3, found_ms: 5, reason: Reason::NotMirrored };
    let mut state = TargetState::new(CONFIG, u32::MAX, (Progress::new(0), vec![(at(4), damage)]));
    let now = Now { clock: Duration::from_secs(1), ms: 10 };
    assert_eq!(figures(&state, 10).damaged_bytes, 8192);
    assert_eq!(state.next(now, Use::default(), 1), Next::Again(at(4)));
    state.looked(at(4), (0, 0), Reason::NotMirrored, now);
    assert_eq!(state.unsaved(), [(at(4), None)], "it was restored");
    assert_eq!(state.next(now, Use::default(), 1), Next::Sleep(IDLE));
    state.looked(at(5), (7, 1), Reason::NoGoodCopy, now);
    assert_eq!(state.unsaved().len(), 2);
    let found = figures(&state, 10);
    assert_eq!((found.found_bytes, found.repaired_bytes, found.damaged_bytes), (12288, 8192, 4096));
    assert_eq!([None, Some(0)].map(|total| describe(&state, 10, total).total_bytes), [0, 1]);
    let said = describe(&state, 10, Some(99));
    assert_eq!((said.damaged_bytes, said.total_bytes, said.damage[0].bad), (4096, 99, 1));
    assert_eq!(said.damage[0].reason, "no other member could give a good copy");
}

#[test]
fn what_cannot_be_remembered_is_tried_again_and_is_not_lost() {
    let mut state = state(0);
    let now = |seconds| Now { clock: Duration::from_secs(seconds), ms: seconds * 1000 };
    state.saved(true, now(0));
    state.looked(at(5), (1, 1), Reason::NotMirrored, now(1));
    assert!(state.is_to_be_saved(now(1)));
    state.saved(false, now(1));
    assert!(!state.is_to_be_saved(now(600)) && state.is_to_be_saved(now(601)));
    state.looked(at(5), (0, 0), Reason::NotMirrored, now(300));
    assert_eq!(state.unsaved(), [(at(5), None)], "what was last");
    state.saved(true, now(601));
    assert!(state.unsaved().is_empty() && !state.is_to_be_saved(now(9999)));
}

#[test]
fn nobody_is_late_who_is_switched_off() {
    let late_ms = 90 * DAY_MS;
    assert!(figures(&state(0), late_ms).late && describe(&state(0), late_ms, None).late);
    let off = ScrubConfig { interval: Duration::ZERO, ..CONFIG };
    let off = TargetState::new(off, 0, (Progress::new(0), Vec::new()));
    assert!(!figures(&off, late_ms).late && describe(&off, late_ms, None).due_ms == 0);
}
