// SPDX-License-Identifier: Apache-2.0

//! The keys of settings files that a bundle shows.
//!
//! A key that is not in the table is not shown, whatever its name. So a key that is new has to be put there, and a test says so.

/// What a value has to look like to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An absolute path. Where it leads to is not looked at.
    Path,
    /// `IP:PORT`.
    Address,
    /// Hosts, one or several.
    Hosts,
    /// A number, size or time.
    Number,
    /// Yes or no.
    Flag,
    /// A word of letters, digits, `-`, `_` and `.`: a name or a choice.
    Word,
    /// Of `http://…` the host and port alone.
    Url,
    /// Tables of a directory and what goes with it.
    Targets,
}

/// The keys that are shown, of all roles.
pub const SHOWN: &[(&str, Shape)] = &[
    ("dir", Shape::Path),
    ("listen", Shape::Address),
    ("advertise", Shape::Hosts),
    ("mgmt", Shape::Hosts),
    ("secret", Shape::Path),
    ("encrypt", Shape::Flag),
    ("metrics", Shape::Address),
    ("alias", Shape::Word),
    ("rest-listen", Shape::Address),
    ("rest-certificate", Shape::Path),
    ("rest-key", Shape::Path),
    ("rest-insecure", Shape::Flag),
    ("sample-interval", Shape::Number),
    ("join", Shape::Hosts),
    ("standby", Shape::Flag),
    ("pattern", Shape::Word),
    ("chunk-size", Shape::Number),
    ("num-targets", Shape::Number),
    ("inline-size", Shape::Number),
    ("placement", Shape::Word),
    ("heartbeat", Shape::Number),
    ("lease", Shape::Number),
    ("session-timeout", Shape::Number),
    ("rebalance-metadata", Shape::Flag),
    ("rebalance-settle", Shape::Number),
    ("rebalance-at-once", Shape::Number),
    ("rebalance-pause", Shape::Number),
    ("spare", Shape::Flag),
    ("sync-interval", Shape::Number),
    ("split-above", Shape::Number),
    ("slow-operation", Shape::Number),
    ("targets", Shape::Targets),
    ("drive-exports", Shape::Targets),
    ("drive-listen", Shape::Address),
    ("memory-limit", Shape::Number),
    ("workers-per-target", Shape::Number),
    ("cores", Shape::Number),
    ("sync-idle", Shape::Number),
    ("scrub-interval", Shape::Number),
    ("scrub-rate", Shape::Number),
    ("evacuate-errors", Shape::Number),
    ("retry-timeout", Shape::Number),
    ("write-buffer", Shape::Number),
    ("read-cache", Shape::Number),
    ("read-ahead", Shape::Number),
    ("metadata-cache", Shape::Number),
    ("max-dirty-age", Shape::Number),
    ("close-delay", Shape::Number),
    ("cache-time", Shape::Number),
    ("fuse-transport", Shape::Word),
    ("interval", Shape::Number),
    ("keep-samples", Shape::Number),
    ("keep", Shape::Number),
    ("memory", Shape::Number),
    ("disk", Shape::Number),
    ("max-series", Shape::Number),
    ("insecure", Shape::Flag),
    ("influx-url", Shape::Url),
    ("influx-database", Shape::Word),
    ("influx-password-file", Shape::Path),
    ("influx-bucket", Shape::Word),
    ("influx-token-file", Shape::Path),
];
/// Keys that are known and not shown: who somebody is at another system.
#[cfg(test)]
pub const WITHHELD: [&str; 2] = ["influx-user", "influx-org"];
/// Keys whose values are files with something secret in them.
pub const SECRET_FILES: [&str; 4] = ["secret", "rest-key", "influx-password-file", "influx-token-file"];
/// Of a storage target, and of a drive that is lent out.
pub const OF_TARGET: &[(&str, Shape)] = &[
    ("dir", Shape::Path),
    ("id", Shape::Number),
    ("alias", Shape::Word),
    ("limit", Shape::Number),
    ("name", Shape::Word),
];
