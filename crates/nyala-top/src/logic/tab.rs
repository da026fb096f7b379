// SPDX-License-Identifier: Apache-2.0

//! The tables that there are.

/// Which table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tab {
    /// Processes.
    Services,
    /// Targets.
    Targets,
    /// Addresses of clients.
    Clients,
    /// Users of clients.
    Users,
    /// Operations by kind of process.
    Operations,
    /// The busiest files.
    Files,
    /// The busiest directories.
    Directories,
}

impl Tab {
    /// All of them, in the order of their keys.
    pub const ALL: [Tab; Tab::COUNT] =
        [Tab::Services, Tab::Targets, Tab::Clients, Tab::Users, Tab::Operations, Tab::Files, Tab::Directories];
    /// How many there are.
    pub const COUNT: usize = 7;

    /// Whether its rows are of inodes, which services are asked for when it is shown.
    pub fn is_of_inodes(self) -> bool {
        matches!(self, Tab::Files | Tab::Directories)
    }

    /// Its title.
    pub fn word(self) -> &'static str {
        match self {
            Tab::Services => "services",
            Tab::Targets => "targets",
            Tab::Clients => "clients",
            Tab::Users => "users",
            Tab::Operations => "operations",
            Tab::Files => "files",
            Tab::Directories => "directories",
        }
    }

    /// Heads of its columns; the first is what its rows are.
    pub fn heads(self) -> &'static [&'static str] {
        match self {
            Tab::Services => &["NAME", "TYPE", "REQ/S", "ERR/S", "READ/S", "WRITE/S", "P99", "CPU", "MEMORY"],
            Tab::Targets => &["TARGET", "SERVICE", "OPS/S", "READ/S", "WRITE/S", "QUEUE", "WAIT", "SYNC", "USED"],
            Tab::Clients => &["CLIENT", "REQ/S", "READ/S", "WRITE/S"],
            Tab::Users => &["USER", "META/S", "CHANGE/S", "MOUNT/S", "MOUNTS"],
            Tab::Operations => &["OPERATION", "AT", "REQ/S", "ERR/S", "MEAN", "P50", "P99"],
            Tab::Files => &["FILE", "REQ/S", "CHANGE/S", "READ/S", "WRITE/S"],
            Tab::Directories => &["DIRECTORY", "REQ/S", "CHANGE/S"],
        }
    }

    /// The column that it is ordered by at first: how much was done.
    pub fn busiest(self) -> usize {
        match self {
            Tab::Services | Tab::Targets | Tab::Operations => 2,
            Tab::Clients | Tab::Users | Tab::Files | Tab::Directories => 1,
        }
    }
}
