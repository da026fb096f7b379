// SPDX-License-Identifier: Apache-2.0

//! How a session behaves. The defaults are the ones that `reference/spikes.md` 5 found good.

use crate::transport::Transport;
use std::time::Duration;

/// What the session asks of the kernel and of this machine.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// Largest write, and largest read. The kernel's `max_pages_limit` allows 1 MiB unless changed.
    pub max_write_bytes: u32,
    /// Read-ahead that the kernel may do, as far as its block device information allows (see `Mount::set_read_ahead`).
    pub max_readahead_bytes: u32,
    /// Requests that the kernel sends without anybody waiting for them (read-ahead, direct asynchronous I/O).
    pub max_background: u16,
    /// From so many on the kernel says that the device is congested.
    pub congestion_threshold: u16,
    /// Resolution of times in nanoseconds.
    pub time_gran_ns: u32,
    /// What carries the requests.
    pub transport: Transport,
    /// Threads that read requests. One is the session's own. With more, the device has so many, each with an event loop of
    /// its own; io_uring has one on every CPU, kept there, and handlers run on it while timers and connections
    /// are the session's runtime's.
    pub threads: usize,
    /// io_uring: requests that a CPU's queue may have in the handler at once, to begin with; a queue that runs low
    /// gets more. Each keeps a buffer of `max_write_bytes`, backed by memory as far as it was used.
    pub ring_entries: usize,
    /// WRITE requests whose data may be in memory at once; the reader waits beyond. At most `max_write_bytes` each.
    pub max_write_buffers: usize,
    /// Buffers that are kept when they are free.
    pub kept_buffers: usize,
    /// Ask for entries and attributes together where the kernel thinks it pays.
    pub readdirplus: bool,
    /// Keep the targets of symbolic links in the kernel. They never change, so that is always right.
    pub cache_symlinks: bool,
    /// The kernel drops a file's cached pages when it sees another mtime or size, and asks for both at every read. Off:
    /// only when told to, which is right under delegations and for a file system that only this kernel changes.
    pub auto_inval_data: bool,
    /// `mmap` works on files opened with direct I/O.
    pub direct_io_allow_mmap: bool,
    /// The handler, not the kernel, drops setuid and setgid bits on write, truncate and chown.
    pub handle_killpriv: bool,
    /// After an unmount, how long requests still in the handler may take before they are dropped.
    pub drain: Duration,
}

impl Default for SessionConfig {
    fn default() -> SessionConfig {
        SessionConfig {
            max_write_bytes: 1 << 20,
            max_readahead_bytes: 8 << 20,
            max_background: 128,
            congestion_threshold: 96,
            time_gran_ns: 1,
            transport: Transport::Auto,
            threads: 1,
            ring_entries: 16,
            max_write_buffers: 256,
            kept_buffers: 32,
            readdirplus: true,
            cache_symlinks: true,
            auto_inval_data: false,
            direct_io_allow_mmap: true,
            handle_killpriv: true,
            drain: Duration::from_secs(5),
        }
    }
}
