// SPDX-License-Identifier: Apache-2.0

//! The storage service: connections on one thread per core, file operations on worker threads of each target.
//!
//! ```text
//! connection ─► StorageService ─► Queue (bounded) ─► worker thread ─► ChunkWorker
//!                   ▲   │                                  │  └─► sync threads, remover
//!                   │   └─► InlinePath: ChunkWorker, page cache, io_uring
//!                   └───────────── oneshot ◄───────────────┘
//! ```
//!
//! # Failure model
//! - Clients send more than disks take: requests take memory from a budget before they are read from the socket, reads
//!   take theirs before they are queued, queues are bounded. What does not fit waits in the network.
//! - Clients send what is wrong: everything is checked before anything is allocated or queued, and answered with a
//!   typed error.
//! - The lease runs out: requests get `NOT_READY` until it is renewed; then, and after a start, clients' changes wait until metadata
//!   has said who was fenced meanwhile (`sessions`). Management expels us: the service ends.
//! - A disk hangs: the workers of that target wait, and with them its requests; other targets go on.
//! - A target's directory is missing, empty, another's or damaged: that target is refused and shown offline, the others are
//!   served. A service that was registered makes no target by itself: the disk may not be mounted.
//! - Too many drives of other hosts are away, or another service has taken them: the targets on them cannot go on. The service answers `NOT_READY`, closes, and starts
//!   again within the process: it then waits for the drives, or for the other service to be offline (`far_sets`).
//! - The service dies: see [`crate::chunk_store`]. An orderly stop ends what is queued, syncs and says goodbye.

mod access;
mod evacuator;
mod exports;
mod far_sets;
mod handler;
mod inline_path;
mod job_times;
mod list;
mod metrics;
mod metrics_page;
mod mirror;
mod mirror_rows;
mod ops;
mod orders;
mod pass_on;
mod queue;
mod raid;
mod read_reply;
mod request;
mod ring_reads;
mod run;
mod scrub;
mod sessions;
mod set_metrics;
mod shared_spares;
mod stalls;
mod target;
mod target_parts;
mod targets;
mod walk;
mod worker_thread;
mod write_batch;

pub use handler::StorageService;
pub use metrics::Metrics;
#[doc(hidden)]
pub use mirror::fuzzing;
pub use queue::{Outcome, Task};
pub use run::{run, run_on};
pub use target::Target;
