// SPDX-License-Identifier: Apache-2.0

//! Records of followed requests: they add up, and are bounded.

use super::clock::Clock;
use super::parts::{Parts, with};
use super::record::About;
use super::traces::MOST;
use super::*;
use nyala_wire::InodeId;
use nyala_wire::trace::TracedRequest;
use std::time::{Duration, Instant};

fn record(named: Vec<(&'static str, u64)>, queued: u64, ran: u64, answered: u64) -> Record {
    let micros = Duration::from_micros;
    let named = named.into_iter().map(|(name, us)| (name, micros(us))).collect();
    let at = |us: u64| Moment(1_000_000 + us * 1000);
    let (came, began, answered) = (at(0), at(queued), at(queued + answered));
    let (trace, about, clock) = (None, About::default(), Clock::Exact);
    Record { trace, came, began, answered, ran: micros(ran), named, about, clock }
}

fn parts(record: &Record, after: u64) -> (u64, Vec<(String, u64)>) {
    let left = Moment(record.answered.0 + after * 1000);
    let traced = record.traced(left, "log", 1, 2, 0);
    (traced.total_ns / 1000, traced.parts.into_iter().map(|part| (part.name, part.ns / 1000)).collect())
}

#[test]
fn parts_add_up_to_the_whole() {
    for (named, queued, ran, answered, after, want) in [
        (vec![], 0, 30, 100, 50, vec![("work", 30), ("wait", 70), ("log", 50)]),
        (vec![], 7, 100, 100, 0, vec![("queue", 7), ("work", 100)]),
        (vec![("queue", 5), ("log", 10)], 20, 90, 90, 1, vec![("queue", 25), ("work", 75), ("log", 11)]),
        (vec![("disk", 60), ("mirrors", 30)], 0, 80, 100, 0, vec![("work", 10), ("disk", 60), ("mirrors", 30)]),
        // Measured in milliseconds, and so more than there was.
        (vec![("sync", 300), ("mirrors", 100)], 0, 10, 200, 0, vec![("sync", 150), ("mirrors", 50)]),
    ] {
        let (total, parts) = parts(&record(named, queued, ran, answered), after);
        assert_eq!(total, queued + answered + after);
        assert_eq!(parts.iter().map(|(_, us)| us).sum::<u64>(), total);
        assert_eq!(parts, want.into_iter().map(|(name, us)| (name.to_owned(), us)).collect::<Vec<_>>());
    }
}

#[test]
fn a_server_keeps_the_last_and_no_more() {
    let traces = Traces::default();
    for request in 0..MAX_TRACES as u64 + 10 {
        traces.add(request % 2 + 1, TracedRequest { request, ..TracedRequest::default() });
    }
    assert_eq!(traces.0.lock().len(), MAX_TRACES);
    let kept = traces.of(1).requests;
    assert_eq!((kept.len(), kept[0].request), (MOST, 10));
    assert!(traces.of(3).requests.is_empty());
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

#[test]
fn only_what_is_measured_is_recorded() {
    block_on(async {
        // sleeps: what is measured
        let nap = || tokio::time::sleep(Duration::from_millis(2));
        part("nobody measures", nap()).await;
        let request = Box::pin(async {
            part("first", nap()).await;
            // Another task of this thread that is not measured.
            tokio::task::yield_now().await;
            part("second", nap()).await;
        });
        let ((), record) =
            Followed::new(request, None, (Moment::default(), false), Some(Parts::new(Clock::Exact))).await;
        let named = record.unwrap().named;
        assert_eq!(named.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["first", "second"]);
        assert!(named.iter().all(|(_, time)| *time >= Duration::from_millis(2)));
        assert!(with(|_| ()).is_none());
        assert!(Followed::new(Box::pin(nap()), None, (Moment::default(), false), None).await.1.is_none());
    });
}

#[test]
fn a_part_within_another_counts_once_and_the_next_request_begins_anew() {
    block_on(async {
        let parts = Parts::new(Clock::Exact);
        let hours = Duration::from_secs(3600);
        let request = Box::pin(async {
            operation("write");
            inode(InodeId(7));
            part("disk", async {
                measured_part("queue", hours);
                // sleeps: what is measured
                part("memory", tokio::time::sleep(Duration::from_millis(2))).await;
            })
            .await;
        });
        let ((), record) = Followed::new(request, None, (Moment::default(), false), Some(parts.clone())).await;
        let Record { named, about, .. } = record.unwrap();
        assert_eq!(about, About { operation: "write", inode: Some(InodeId(7)), waits_on_purpose: false });
        assert_eq!(named.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["queue", "memory"]);
        let ((), record) = Followed::new(Box::pin(async {}), None, (Moment::default(), false), Some(parts)).await;
        let record = record.unwrap();
        assert_eq!((record.named.len(), record.about), (0, About::default()));
    });
}

#[test]
fn a_tracer_keeps_what_has_its_id() {
    let tracer = Tracer::default();
    assert_eq!(tracer.id(), None);
    tracer.follow(7);
    let (address, now) = ("127.0.0.1:1".parse().unwrap(), Instant::now());
    let exchange = |trace| Exchange { trace, address, request: 1, message_type: 2, began: now, ended: now };
    (0..MOST + 5).for_each(|_| tracer.note(exchange(tracer.id().unwrap())));
    assert_eq!(tracer.take(8), []);
    assert_eq!(tracer.take(7).len(), MOST);
    tracer.note(exchange(8));
    assert_eq!(tracer.take(8).len(), 1);
}
