// SPDX-License-Identifier: Apache-2.0

//! What a check of a host says.

use serde::Serialize;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Data may be lost, or a service cannot work.
    Danger,
    /// It works, but slower or less evenly than it could.
    Advice,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Area {
    /// File systems below targets.
    FileSystem,
    /// Settings of the kernel.
    Kernel,
    /// The clock.
    Clock,
    /// Network and reach of servers.
    Network,
}

/// Something to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub level: Level,
    /// What it is about.
    pub area: Area,
    /// Which directory, file, interface or server.
    pub subject: String,
    /// How it is.
    pub is: String,
    /// What to do.
    pub change: String,
    /// Why.
    pub why: String,
}

impl Finding {
    /// One about the network.
    pub(crate) fn of_network(level: Level, subject: &str, is: String, change: &str, why: &str) -> Finding {
        Finding { level, area: Area::Network, subject: subject.into(), is, change: change.into(), why: why.into() }
    }
}
