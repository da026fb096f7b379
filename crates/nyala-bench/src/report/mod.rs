// SPDX-License-Identifier: Apache-2.0

//! Results: rows of figures, aims, and how they are shown. Pure.

pub mod aim;
pub mod aims;
pub mod table;
#[cfg(test)]
pub mod tests;

use super::measure::latency::Percentiles;
use super::measure::loopback::Loopback;
use super::plan::Step;
use serde::{Deserialize, Serialize};

/// Where a workload ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// The client library in this process.
    Native,
    /// System calls on a mount of the cluster.
    Mount,
    /// System calls on a local file system.
    Local,
    /// Minimal programs that do the same transfers, without a cluster.
    Floor,
}

impl Backend {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Native => "native",
            Backend::Mount => "mount",
            Backend::Local => "local",
            Backend::Floor => "floor",
        }
    }
}

/// CPU time that a phase cost, microseconds, until all had come to rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    /// Management services.
    pub mgmt_us: Option<u64>,
    /// Metadata services.
    pub meta_us: Option<u64>,
    /// Storage services.
    pub storage_us: Option<u64>,
    /// The client: of native, this process, the generator of the load included; of a mount, its daemon.
    pub client_us: Option<u64>,
    /// This process, where the client is elsewhere.
    pub driver_us: Option<u64>,
}

/// What all metadata services together hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Held {
    /// Resident memory of their processes, bytes.
    pub resident_bytes: u64,
    /// Of their tables' files, what is used, bytes.
    pub table_bytes: u64,
}

/// Requests that the native client sent in a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Requests {
    /// To metadata.
    pub meta: u64,
    /// Bulk reads and writes to storage.
    pub storage: u64,
    /// Requests sent again.
    pub retries: u64,
}

/// One phase at one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The workload.
    pub workload: &'static str,
    /// What was done.
    pub step: Step,
    /// Where.
    #[serde(rename = "place")]
    pub backend: Backend,
    /// Tasks at once.
    pub tasks: usize,
    /// Operations done.
    pub ops: u64,
    /// Entries, of listings; else operations.
    pub items: u64,
    /// Content moved, bytes.
    pub bytes: u64,
    /// Wall time, fsync at the end included.
    pub seconds: f64,
    /// Latency of an operation, microseconds.
    pub latency_us: Percentiles,
    /// CPU time.
    pub cpu: Cpu,
    /// CPU time of each metadata service, microseconds, by its name.
    pub meta_each_us: Vec<(String, u64)>,
    /// What metadata services hold at its end.
    pub meta_held: Held,
    /// Requests on the wire, of the native client.
    pub requests: Option<Requests>,
    /// Rate ÷ rate of the same phase on the local file system.
    pub of_local: Option<f64>,
    /// Direct I/O was wanted and the page cache (or the client's buffer) was used.
    pub cached: bool,
}

impl Row {
    /// Items per second.
    pub fn rate(&self) -> f64 {
        per(self.items as f64, self.seconds)
    }

    /// GiB per second.
    pub fn gib_per_s(&self) -> f64 {
        per(self.gib(), self.seconds)
    }

    /// GiB moved.
    pub fn gib(&self) -> f64 {
        self.bytes as f64 / (1_u64 << 30) as f64
    }

    /// Microseconds of CPU for each item.
    pub fn us_per_item(&self, us: Option<u64>) -> Option<f64> {
        us.filter(|_| self.items > 0).map(|us| us as f64 / self.items as f64)
    }

    /// Seconds of CPU for each GiB.
    pub fn s_per_gib(&self, us: Option<u64>) -> Option<f64> {
        us.filter(|_| self.bytes > 0).map(|us| us as f64 / 1e6 / self.gib())
    }

    /// A stream, measured in bytes rather than operations.
    pub fn is_stream(&self) -> bool {
        matches!(self.step, Step::Write | Step::Read)
    }
}

fn per(amount: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { amount / seconds } else { 0.0 }
}

/// The machine and cluster that were measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Setting {
    /// CPUs of this machine.
    pub cpus: usize,
    /// Kernel release.
    pub kernel: String,
    /// Threads of the native client's load.
    pub native_threads: usize,
    /// Metadata services.
    pub meta: usize,
    /// Storage services.
    pub storage: usize,
    /// The mount.
    pub mount: Option<String>,
    /// The local directory.
    pub local: Option<String>,
}

/// Everything that a benchmark found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// `meta` or `data`.
    pub bench: &'static str,
    /// What was measured.
    pub setting: Setting,
    /// Loopback TCP.
    pub loopback: Loopback,
    /// The figures.
    pub rows: Vec<Row>,
    /// The design's aims.
    pub aims: Vec<aim::Aim>,
    /// A signal ended it early; the figures are incomplete and no aims are claimed.
    pub interrupted: bool,
    /// What the reader must know.
    pub notes: Vec<String>,
}

impl Report {
    /// Computes what follows from the rows.
    pub fn finish(&mut self) {
        let local: Vec<_> = self.rows.iter().filter(|row| row.backend == Backend::Local).cloned().collect();
        for row in self.rows.iter_mut().filter(|row| row.backend != Backend::Local) {
            let same = local.iter().find(|other| other.workload == row.workload && other.step == row.step);
            row.of_local = same.filter(|other| other.rate() > 0.0).map(|other| row.rate() / other.rate());
        }
        if !self.interrupted {
            self.aims = aims::answered(&self.rows, &self.loopback);
        }
        if self.rows.iter().any(|row| row.cached) {
            let note = "random transfers marked * went through a page cache or the client's buffer, not directly";
            self.notes.push(note.to_owned());
        }
    }
}
