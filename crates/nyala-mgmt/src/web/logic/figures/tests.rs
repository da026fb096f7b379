// SPDX-License-Identifier: Apache-2.0

//! Figures of rounds that were made up.

use super::*;
use nyala_mon::logic::series::Field;
use nyala_mon::{Answered, Instance};
use nyala_web::{Line, UserFigures};
use nyala_wire::mgmt::ServiceStats;
use nyala_wire::{GroupId, TargetId};

fn key(service: Source, metric: &str, labels: &[(&str, &str)], field: Field, kind: Kind) -> Key {
    let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Key { metric: metric.to_owned(), service, instance: "s1".to_owned(), labels, field, kind, micros: false }
}

fn round(values: &[(Key, i64)]) -> Round {
    let instance = Instance { service: values[0].0.service, name: "s1".to_owned() };
    Round::from([(instance, Answered { values: values.to_vec(), ..Answered::default() })])
}

#[test]
fn counters_become_rates_and_gauges_stay() {
    let of = |metric, labels: &[(&str, &str)], kind| key(Source::Storage, metric, labels, Field::Value, kind);
    let written = of("nyala_storage_target_written_bytes", &[("target", "101")], Kind::Counter);
    let size = of("nyala_target_size_bytes", &[("target", "101")], Kind::Gauge);
    let left = of("nyala_mirror_resync_left_bytes", &[("group", "2"), ("target", "101")], Kind::Gauge);
    let asked = of("nyala_storage_client_requests", &[("client", "10.0.0.9")], Kind::Counter);
    let all = |n: i64| {
        round(&[(written.clone(), 1000 * n), (size.clone(), 5000), (left.clone(), 70), (asked.clone(), 10 * n)])
    };
    let made = figures(9000, &all(1), &all(5), 2.0);
    let target = made.targets[&TargetId(101)];
    assert_eq!((target.written, target.size), (2000.0, 5000.0));
    assert_eq!(made.totals.get(Line::Written), 2000.0);
    assert_eq!(made.resyncs[&(GroupId(2), TargetId(101))].remaining, 70.0);
    assert_eq!((made.clients[0].name.as_str(), made.clients[0].requests), ("10.0.0.9", 20.0));
    let anew = figures(9000, &all(5), &all(1), 2.0);
    assert_eq!(anew.totals.get(Line::Written), 500.0, "it was started anew");
    let first = figures(9000, &Round::new(), &all(1), 2.0);
    assert_eq!(first.totals.get(Line::Written), 0.0, "nobody knows since when");
}

#[test]
fn users_are_of_metadata_services_and_of_mounts() {
    let of = |service, metric, uid: &str| key(service, metric, &[("uid", uid)], Field::Value, Kind::Counter);
    let asked = of(Source::Meta, "nyala_meta_user_requests", "1000");
    let changed = of(Source::Meta, "nyala_meta_user_changes", "1000");
    let idle = of(Source::Meta, "nyala_meta_user_requests", "7");
    let meta = |n: i64| round(&[(asked.clone(), 10 * n), (changed.clone(), 4 * n), (idle.clone(), 9)]);
    let mounted = of(Source::Mount, "nyala_fuse_user_requests", "1000");
    let both = |n: i64| meta(n).into_iter().chain(round(&[(mounted.clone(), 50 * n)])).collect::<Round>();
    let made = figures(9000, &both(1), &both(5), 2.0);
    let user = UserFigures { uid: "1000".to_owned(), requests: 20.0, changes: 8.0, at_mounts: 100.0, mounts: 1 };
    assert_eq!(made.users, [user], "who asked for nothing is left out");
}

#[test]
fn latencies_are_the_largest_of_what_does_not_wait_on_purpose() {
    let p99 = |op| key(Source::Meta, "nyala_meta_request_duration_seconds", &[("op", op)], Field::P99, Kind::Peak);
    let now = round(&[(p99("create"), 3), (p99("lookup"), 2), (p99("delegation_poll"), 90)]);
    let made = figures(1, &Round::new(), &now, 1.0);
    assert_eq!((made.totals.get(Line::MetaLatency), made.services[0].p99_s), (3.0, Some(3.0)));
}

#[test]
fn who_is_silent_is_there_with_why() {
    let instance = Instance { service: Source::Meta, name: "m".to_owned() };
    let silent = Round::from([(instance, Answered { failed: Some("refused".to_owned()), ..Answered::default() })]);
    let made = figures(1, &Round::new(), &silent, 1.0);
    assert_eq!(made.services[0].failed.as_deref(), Some("refused"));
}

#[test]
fn what_a_service_says_of_its_health_is_kept_also_where_it_says_no_figures() {
    let counters = vec![("slow.lately".to_owned(), 4), ("scrub.101.late".to_owned(), 1)];
    let stats = Some(ServiceStats { counters, ..ServiceStats::default() });
    let instance = Instance { service: Source::Storage, name: "s".to_owned() };
    let stuck = Answered { failed: Some("stuck".to_owned()), stats, ..Answered::default() };
    let made = figures(1, &Round::new(), &Round::from([(instance, stuck)]), 1.0);
    let said = made.services[0].said.as_ref().unwrap();
    assert_eq!((said.slow_operations, said.scrubs[0].late, &said.failed), (Some(4), true, &None));
}
