// SPDX-License-Identifier: Apache-2.0

//! Kernel, memory and disks of this host: a list of the kernel's files that say nothing of anybody, and what is below the directories of services.

use super::archive::Archive;
use crate::host::{Root, gather};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::PathBuf;

/// Files of the kernel that are taken as they are.
const FILES: [&str; 20] = [
    "etc/os-release",
    "proc/version",
    "proc/uptime",
    "proc/loadavg",
    "proc/cpuinfo",
    "proc/stat",
    "proc/meminfo",
    "proc/vmstat",
    "proc/buddyinfo",
    "proc/swaps",
    "proc/diskstats",
    "proc/mdstat",
    "proc/pressure/cpu",
    "proc/pressure/io",
    "proc/pressure/memory",
    "proc/net/dev",
    "proc/net/snmp",
    "proc/net/netstat",
    "proc/net/sockstat",
    "proc/sys/fs/file-nr",
];
/// Most of one of them, bytes.
const MOST: usize = 256 << 10;

/// Adds them.
pub fn add<W: Write>(archive: &mut Archive<W>, root: &Root, dirs: &[PathBuf]) -> io::Result<()> {
    for file in FILES {
        match root.text(file) {
            Some(mut text) => {
                let cut = (text.len() > MOST).then(|| format!("what is beyond {MOST} bytes is left out"));
                text.truncate(text.floor_char_boundary(MOST));
                archive.add(&format!("host/{file}"), text.as_bytes(), cut)?;
            }
            None => archive.missing(&format!("host/{file}"), "this kernel does not have it, or does not show it"),
        }
    }
    archive.add_json("host/facts.json", &facts(root, dirs))
}

fn facts(root: &Root, dirs: &[PathBuf]) -> Value {
    let gathered = gather(root, dirs, None);
    let facts = &gathered.facts;
    let file_system = |found: &nyala_tune::facts::FileSystem| {
        // Of options the names alone: what stands behind them is anybody's.
        let options: Vec<&str> = found.options.iter().filter_map(|option| option.split('=').next()).collect();
        json!({
            "dir": found.dir, "mountpoint": found.mountpoint, "type": found.fs_type, "options": options, "device": found.device,
            "total_bytes": found.total_bytes, "free_bytes": found.free_bytes,
            "total_inodes": found.total_inodes, "free_inodes": found.free_inodes,
        })
    };
    let setting = |file: &nyala_tune::facts::KernelFile| json!({ "file": file.item.file(), "says": file.texts.own.as_deref().map(str::trim) });
    let interface = |found: &nyala_tune::facts::Interface| json!({ "name": found.name, "mtu": found.mtu, "speed": found.speed, "duplex": found.duplex, "subnets": found.subnets });
    json!({
        "file_systems": facts.file_systems.iter().map(file_system).collect::<Vec<_>>(),
        "settings": facts.settings.iter().map(setting).collect::<Vec<_>>(),
        "interfaces": facts.interfaces.iter().map(interface).collect::<Vec<_>>(),
        "clock_synchronized": facts.clock.map(|clock| clock.synchronized),
    })
}
