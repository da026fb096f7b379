// SPDX-License-Identifier: Apache-2.0

//! Puts each value where it belongs.

use super::users::Users;
use nyala_metrics::catalog::Source;
use nyala_mon::Instance;
use nyala_mon::logic::series::{Field, Key};
use nyala_web::{ClientFigures, Figures, Line, ServiceFigures, TargetFigures};
use nyala_wire::{GroupId, TargetId};
use std::collections::BTreeMap;

/// An operation that waits for news on purpose says nothing about how fast its service is.
const WAITS: [&str; 2] = ["watch_map", "delegation_poll"];

/// Figures that are being made.
#[derive(Default)]
pub(super) struct Making {
    figures: Figures,
    clients: BTreeMap<String, ClientFigures>,
    users: Users,
}

impl Making {
    /// None yet.
    pub fn new(at_ms: u64) -> Making {
        Making { figures: Figures { at_ms, ..Figures::default() }, ..Making::default() }
    }

    /// The service whose values come next.
    pub fn push(&mut self, service: ServiceFigures) {
        self.figures.services.push(service);
    }

    /// A value, of a counter its growth in a second.
    pub fn add(&mut self, instance: &Instance, key: &Key, value: f64) {
        let value_of = key.field == Field::Value;
        match key.metric.as_str() {
            "nyala_meta_request_duration_seconds" => {
                self.requests(key, value, Some((Line::MetaRequests, Line::MetaLatency)));
            }
            "nyala_storage_request_duration_seconds" => {
                self.requests(key, value, Some((Line::StorageRequests, Line::StorageLatency)));
            }
            "nyala_mgmt_request_duration_seconds" => self.requests(key, value, None),
            "nyala_storage_job_duration_seconds" if key.field == Field::P99 => {
                self.target(key, |target| target.p99_s = Some(target.p99_s.unwrap_or(0.0).max(value)));
            }
            metric if value_of => self.value(instance, key, metric, value),
            _ => {}
        }
    }

    fn value(&mut self, instance: &Instance, key: &Key, metric: &str, value: f64) {
        match metric {
            "nyala_target_size_bytes" => self.target(key, |target| target.size = value),
            "nyala_target_free_bytes" => self.target(key, |target| target.free = value),
            "nyala_storage_target_ops" => self.target(key, |target| target.operations += value),
            "nyala_storage_target_read_bytes" => {
                self.total(Line::Read, value);
                self.target(key, |target| target.read += value);
            }
            "nyala_storage_target_written_bytes" => {
                self.total(Line::Written, value);
                self.target(key, |target| target.written += value);
            }
            "nyala_meta_client_requests" | "nyala_storage_client_requests" => {
                self.client(key, |client| client.requests += value);
            }
            "nyala_storage_client_read_bytes" => self.client(key, |client| client.read += value),
            "nyala_storage_client_written_bytes" => self.client(key, |client| client.written += value),
            "nyala_meta_user_requests" | "nyala_meta_user_changes" | "nyala_fuse_user_requests" => {
                label(key, "uid").into_iter().for_each(|uid| self.users.add(uid, metric, value));
            }
            "nyala_mirror_resync_copied_bytes" => self.resync(key, |resync| resync.copied = value),
            "nyala_mirror_resync_left_bytes" => self.resync(key, |resync| resync.remaining = value),
            "nyala_mirror_resync_rate_bytes" => self.resync(key, |resync| resync.rate = value),
            _ if instance.service != Source::Mount => self.service(|service| match metric {
                "process_cpu_seconds" => service.cpu = value,
                "process_resident_memory_bytes" => service.memory = value,
                _ => {}
            }),
            _ => {}
        }
    }

    fn requests(&mut self, key: &Key, value: f64, lines: Option<(Line, Line)>) {
        let waits = label(key, "op").is_some_and(|op| WAITS.contains(&op));
        match key.field {
            Field::Count => {
                lines.iter().for_each(|(line, _)| self.total(*line, value));
                self.service(|service| service.requests += value);
            }
            Field::P99 if !waits => {
                if let Some((_, line)) = lines {
                    let most = self.figures.totals.get(line).max(value);
                    self.figures.totals.set(line, most);
                }
                self.service(|service| service.p99_s = Some(service.p99_s.unwrap_or(0.0).max(value)));
            }
            _ => {}
        }
    }

    fn total(&mut self, line: Line, value: f64) {
        let sum = self.figures.totals.get(line) + value;
        self.figures.totals.set(line, sum);
    }

    /// The service whose values are being added.
    fn service(&mut self, change: impl FnOnce(&mut ServiceFigures)) {
        self.figures.services.last_mut().map(change);
    }

    fn target(&mut self, key: &Key, change: impl FnOnce(&mut TargetFigures)) {
        if let Some(id) = label(key, "target").and_then(|id| id.parse().ok()) {
            change(self.figures.targets.entry(TargetId(id)).or_default());
        }
    }

    fn resync(&mut self, key: &Key, change: impl FnOnce(&mut nyala_web::Resync)) {
        let of = |name| label(key, name).and_then(|id| id.parse().ok());
        let (Some(group), Some(target)) = (of("group"), of("target")) else { return };
        change(self.figures.resyncs.entry((GroupId(group), TargetId(target))).or_default());
    }

    fn client(&mut self, key: &Key, change: impl FnOnce(&mut ClientFigures)) {
        let Some(name) = label(key, "client") else { return };
        if !self.clients.contains_key(name) {
            self.clients.insert(name.to_owned(), ClientFigures { name: name.to_owned(), ..ClientFigures::default() });
        }
        self.clients.get_mut(name).map(change);
    }

    /// All of them.
    pub fn done(mut self) -> Figures {
        self.figures.clients = self.clients.into_values().collect();
        self.figures.users = self.users.done();
        self.figures
    }
}

fn label<'a>(key: &'a Key, name: &str) -> Option<&'a str> {
    key.labels.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}
