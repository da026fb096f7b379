// SPDX-License-Identifier: Apache-2.0

//! What guides advise that is not taken.

use serde::Serialize;

/// Advice of the guides that is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NotTaken {
    /// What they say.
    pub advice: &'static str,
    /// Why not.
    pub why: &'static str,
}

/// What `tune` does not do, and says so.
pub const NOT_TAKEN: &[NotTaken] = &[
    NotTaken {
        advice: "mount with nobarrier",
        why: "after a power cut the disk's cache is gone, and with it what was acknowledged as synced",
    },
    NotTaken {
        advice: "boot with mitigations=off and its relatives",
        why: "programs of one user could read memory of another; that is the administrator's to give up",
    },
    NotTaken {
        advice: "queue/iostats = 0",
        why: "nobody could see what the disks do, for a gain of a few per cent of CPU time",
    },
    NotTaken {
        advice: "queue/io_poll_delay = 0, nvme poll_queues",
        why: "Nyala does not poll devices, and kernels from 5.19 on ignore the delay",
    },
    NotTaken { advice: "50000 processes for root", why: "the units of the services carry their own limits" },
    NotTaken {
        advice: "the tuned profile throughput-performance",
        why: "it sets some of the same files to other values; let one of the two set them",
    },
    NotTaken {
        advice: "worker threads, connections, buffers of BeeGFS",
        why: "they are not the kernel's; Nyala has settings of its own",
    },
];
