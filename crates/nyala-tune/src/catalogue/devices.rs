// SPDX-License-Identifier: Apache-2.0

//! Queues of block devices.

use crate::setting::Guide::{Disks, Flash};
use crate::setting::{PLAIN, Role, Scope, Setting};

const STORAGE: Setting = Setting { scope: Scope::Device(Role::Storage), ..PLAIN };
const META: Setting = Setting { scope: Scope::Device(Role::Meta), ..PLAIN };

/// The settings, in the order in which they are written: a scheduler goes before what it limits.
pub const SETTINGS: &[Setting] = &[
    Setting {
        id: "storage.scheduler",
        file: "sys/block/{}/queue/scheduler",
        said: &[(Disks, "deadline"), (Flash, "deadline")],
        reason: "no request is overtaken for ever by others; newer kernels call it mq-deadline",
        ..STORAGE
    },
    Setting {
        id: "storage.nr_requests",
        file: "sys/block/{}/queue/nr_requests",
        said: &[(Disks, "2048"), (Flash, "2048")],
        reason: "many streams become long sequences of requests before they reach a disk",
        ..STORAGE
    },
    Setting {
        id: "storage.read_ahead_kb",
        file: "sys/block/{}/queue/read_ahead_kb",
        said: &[(Disks, "4096"), (Flash, "4096")],
        reason: "a stream is read in pieces that keep all disks of an array busy",
        ..STORAGE
    },
    Setting {
        id: "storage.max_sectors_kb",
        file: "sys/block/{}/queue/max_sectors_kb",
        said: &[(Disks, "256"), (Flash, "64")],
        limit: Some("sys/block/{}/queue/max_hw_sectors_kb"),
        reason: "requests as long as a strip of the array: 64 suits strips of 64 KiB only",
        ..STORAGE
    },
    Setting {
        id: "meta.scheduler",
        file: "sys/block/{}/queue/scheduler",
        said: &[(Disks, "deadline"), (Flash, "deadline")],
        reason: "syncs of the log are not overtaken by write-back; newer kernels call it mq-deadline",
        ..META
    },
    Setting {
        id: "meta.nr_requests",
        file: "sys/block/{}/queue/nr_requests",
        said: &[(Disks, "128"), (Flash, "128")],
        reason: "short queues: small requests are answered soon",
        ..META
    },
    Setting {
        id: "meta.read_ahead_kb",
        file: "sys/block/{}/queue/read_ahead_kb",
        said: &[(Disks, "128"), (Flash, "128")],
        reason: "tables are read at random, and what is read ahead is not used",
        ..META
    },
    Setting {
        id: "meta.max_sectors_kb",
        file: "sys/block/{}/queue/max_sectors_kb",
        said: &[(Disks, "256"), (Flash, "256")],
        limit: Some("sys/block/{}/queue/max_hw_sectors_kb"),
        reason: "a long write does not hold up a short one for long",
        ..META
    },
];
