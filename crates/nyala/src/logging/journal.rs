// SPDX-License-Identifier: Apache-2.0

//! Events for the journal of systemd, with their fields: `journalctl NYALA_GROUP=3` finds what concerns a group.
//!
//! **Failure model.** A journal that is not there when the program starts is an error. One that ends later (it restarts) loses
//! what is said meanwhile: its socket takes datagrams again when it is back.

use std::ffi::OsStr;
use tracing_journald::{Priority, PriorityMappings};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;

/// Put before the names of fields, which are the journal's own otherwise.
const PREFIX: &str = "NYALA";

/// Whether standard error goes to the journal: then systemd has put its device and inode into the environment (systemd.exec(5)).
pub fn is_standard_error() -> bool {
    let stream = std::env::var_os("JOURNAL_STREAM");
    rustix::fs::fstat(std::io::stderr()).is_ok_and(|stat| names(stream.as_deref(), (stat.st_dev, stat.st_ino)))
}

fn names(stream: Option<&OsStr>, identity: (u64, u64)) -> bool {
    let parts = stream.and_then(OsStr::to_str).and_then(|text| text.split_once(':'));
    parts.is_some_and(|(device, inode)| (device.parse(), inode.parse()) == (Ok(identity.0), Ok(identity.1)))
}

/// Everything that passes the filter goes to the journal.
pub fn subscriber(filter: EnvFilter) -> std::io::Result<impl tracing::Subscriber + Send + Sync> {
    let weights = PriorityMappings { info: Priority::Informational, debug: Priority::Debug, ..PriorityMappings::new() };
    let layer = tracing_journald::layer()?.with_field_prefix(Some(PREFIX.into())).with_priority_mappings(weights);
    Ok(tracing_subscriber::registry().with(filter).with(layer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_known_by_device_and_inode() {
        for (stream, is) in
            [(Some("8:31"), true), (Some("8:32"), false), (Some("831"), false), (Some("a:b"), false), (None, false)]
        {
            assert_eq!(names(stream.map(OsStr::new), (8, 31)), is, "{stream:?}");
        }
    }
}
