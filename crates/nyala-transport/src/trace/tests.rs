// SPDX-License-Identifier: Apache-2.0

//! Records of followed requests: they add up, and are bounded.

use super::parts::{Followed, Record, now};
use super::traces::MOST;
use super::*;
use nyala_wire::trace::TracedRequest;
use std::time::{Duration, Instant};

fn record(named: Vec<(&'static str, u64)>, ran: u64, answered: u64) -> Record {
    let began = Instant::now();
    let micros = Duration::from_micros;
    let named = named.into_iter().map(|(name, us)| (name, micros(us))).collect();
    Record { began, answered: began + micros(answered), ran: micros(ran), named }
}

fn parts(record: Record, after: u64) -> (u64, Vec<(String, u64)>) {
    let left = record.answered + Duration::from_micros(after);
    let traced = record.finish(left, after > 0, 1, 2);
    (traced.total_ns / 1000, traced.parts.into_iter().map(|part| (part.name, part.ns / 1000)).collect())
}

#[test]
fn parts_add_up_to_the_whole() {
    for (named, ran, answered, after, want) in [
        (vec![], 30, 100, 50, vec![("work", 30), ("wait", 70), ("log", 50)]),
        (vec![], 100, 100, 0, vec![("work", 100)]),
        (vec![("disk", 60), ("mirrors", 30)], 80, 100, 0, vec![("work", 10), ("disk", 60), ("mirrors", 30)]),
    ] {
        let (total, parts) = parts(record(named, ran, answered), after);
        assert_eq!(total, answered + after);
        assert_eq!(parts.iter().map(|(_, us)| us).sum::<u64>(), total);
        assert_eq!(parts, want.into_iter().map(|(name, us)| (name.to_owned(), us)).collect::<Vec<_>>());
    }
}

#[test]
fn a_server_keeps_the_last_and_no_more() {
    let traces = Traces::default();
    for request in 0..KEPT as u64 + 10 {
        traces.add(request % 2 + 1, TracedRequest { request, ..TracedRequest::default() });
    }
    assert_eq!(traces.0.lock().len(), KEPT);
    let kept = traces.of(1).requests;
    assert_eq!((kept.len(), kept[0].request), (MOST, 10));
    assert!(traces.of(3).requests.is_empty());
}

#[test]
fn only_what_is_followed_is_recorded() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let nap = || tokio::time::sleep(Duration::from_millis(2));
        part("nobody follows", nap()).await;
        let ((), record) = Followed::new(async {
            part("first", nap()).await;
            // Another task of this thread that is not followed.
            tokio::task::yield_now().await;
            part("second", nap()).await;
        })
        .await;
        let names: Vec<&str> = record.named.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["first", "second"]);
        assert!(record.named.iter().all(|(_, time)| *time >= Duration::from_millis(2)));
        assert!(now().is_none());
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
