// SPDX-License-Identifier: Apache-2.0

//! What is known about a host before it is judged.

use crate::judge::Texts;
use crate::links::{HostClock, Link};
use crate::plan::Item;
use crate::setting::Role;
use std::path::PathBuf;

/// Everything that a check looks at. What could not be read is absent, and is not judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The file systems below the directories of services, one for each directory.
    pub file_systems: Vec<FileSystem>,
    /// Settings of the kernel.
    pub settings: Vec<KernelFile>,
    /// `vm.swappiness`, and whether there is swap at all.
    pub swap: Option<Swap>,
    /// The clock.
    pub clock: Option<Clock>,
    /// Network interfaces that are up, without loopback.
    pub interfaces: Vec<Interface>,
    /// Servers of the cluster; empty where no cluster was asked.
    pub nodes: Vec<Node>,
    /// Ways between servers.
    pub links: Vec<Link>,
    /// Clocks of this host and those of servers, one for each host.
    pub clocks: Vec<HostClock>,
}

/// The file system below a directory of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// The directory.
    pub dir: PathBuf,
    /// What it holds.
    pub role: Role,
    /// Where it is mounted.
    pub mountpoint: PathBuf,
    /// Its type, such as `xfs`.
    pub fs_type: String,
    /// Options of the mount and of the file system.
    pub options: Vec<String>,
    /// Device number, `major:minor`.
    pub device: String,
    /// Size, bytes.
    pub total_bytes: u64,
    /// Free to everyone, bytes.
    pub free_bytes: u64,
    /// Inodes; 0 where there is no table.
    pub total_inodes: u64,
    /// Free ones.
    pub free_inodes: u64,
}

/// A file of the kernel and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelFile {
    /// The setting.
    pub item: Item,
    /// What its files say.
    pub texts: Texts,
}

/// Swapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swap {
    /// `vm.swappiness`.
    pub swappiness: u64,
    /// Whether swap is on.
    pub on: bool,
}

/// The clock, as the kernel keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Something keeps it in step with others.
    pub synchronized: bool,
    /// The most that it may be wrong, as that something says, microseconds.
    pub max_error_us: u64,
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Largest packet, bytes.
    pub mtu: Option<u64>,
    /// Mbit/s.
    pub speed: Option<u64>,
    /// `full` or `half`.
    pub duplex: Option<String>,
    /// Its networks, as in `10.0.0.0/24`.
    pub subnets: Vec<String>,
}

/// A server, as this host reaches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// As in `storage s1 [ID: 3]`.
    pub name: String,
    /// The interface by which packets to it go out, if it was reached.
    pub interface: Option<String>,
    /// The shortest of several round trips, microseconds; absent where nothing answered.
    pub round_trip_us: Option<u64>,
    /// Addresses that did not answer, and why.
    pub failed: Vec<(String, String)>,
}
