// SPDX-License-Identifier: Apache-2.0

//! What is followed, for how long, and how much of it is kept.

use super::*;

fn arrived(opcode: Opcode, ino: u64, came: Instant) -> Arrived {
    Arrived { opcode: opcode as u32, ino: Ino(ino), came, queued: Duration::from_micros(5) }
}

fn recorded(traces: &Traces) -> Vec<MountTrace> {
    codec::decode(&traces.value()).unwrap()
}

#[test]
fn one_in_so_many_is_followed_until_the_time_is_over() {
    let (traces, now) = (Traces::default(), Instant::now());
    let ids = |count: u32, at: Instant| {
        (0..count).filter_map(|_| traces.id(&arrived(Opcode::Write, 7, at))).collect::<Vec<u64>>()
    };
    assert!(ids(100, now).is_empty());
    for wrong in [b"".as_slice(), b"1", b"x 1", b"1 -1", b"-1 1", b"\xff 1"] {
        assert_eq!(traces.ask(Ino::ROOT, wrong, now), Err(Errno::EINVAL));
    }
    traces.ask(Ino::ROOT, b"4 30", now).unwrap();
    let mut all = ids(100, now + Duration::from_secs(29));
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 25);
    assert!(ids(100, now + Duration::from_secs(31)).is_empty());
    traces.ask(Ino::ROOT, b"1 999999", now).unwrap();
    assert!(!ids(1, now + Duration::from_secs(599)).is_empty() && ids(1, now + Duration::from_secs(601)).is_empty());
    traces.ask(Ino(9), b"1 30", now).unwrap();
    assert!(ids(10, now).is_empty(), "of another inode");
    assert!(traces.id(&arrived(Opcode::Create, 9, now)).is_some());
    traces.ask(Ino::ROOT, b"0 0", now).unwrap();
    assert_eq!(traces.id(&arrived(Opcode::Create, 9, now)), None);
}

#[test]
fn what_was_waited_for_is_kept_the_newest_first() {
    let (traces, came) = (Traces::default(), Instant::now());
    let at = |us| came + Duration::from_micros(us);
    let address = "10.0.0.1:8003".parse().unwrap();
    let asked = |from, to| Asked { address, request: 3, message_type: 0x0201, took: (at(from), at(to)) };
    let one = arrived(Opcode::Create, 9, came);
    traces.add(76, one, at(5), [].into_iter());
    assert!(recorded(&traces).is_empty(), "nobody asks");
    traces.ask(Ino::ROOT, b"1 30", came).unwrap();
    traces.add(77, one, at(95), [asked(10, 60), asked(50, 200)].into_iter());
    traces.add(78, arrived(Opcode::Write, 10, came), at(50), [].into_iter());
    let all = recorded(&traces);
    assert!(all[1].ended_unix_ns > 1_700_000_000_000_000_000);
    let expected = MountTrace {
        trace: 77,
        operation: "create".to_owned(),
        inode: InodeId(9),
        queue_ns: 5_000,
        total_ns: 100_000,
        requests: vec![MountRequest { address, request: 3, message_type: 0x0201, at_ns: 15_000, ns: 50_000 }],
        ended_unix_ns: all[1].ended_unix_ns,
    };
    assert_eq!((all.len(), all[0].trace, &all[1]), (2, 78, &expected));
    for trace in 0..2000 {
        traces.add(trace, one, at(95), (0..20).map(|_| asked(1, 2)));
    }
    let all = recorded(&traces);
    assert!(traces.value().len() <= MOST_BYTES && all.len() > 50 && all[0].trace == 1999, "{}", all.len());
    traces.ask(Ino::ROOT, b"1 1", came).unwrap();
    assert!(recorded(&traces).is_empty());
}
