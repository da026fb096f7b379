// SPDX-License-Identifier: Apache-2.0

//! The kernel's files on one host, and what is to be written to each of them.

use crate::catalogue::settings;
use crate::rule::Decision;
use crate::setting::{Role, Scope, Setting};
use serde::Serialize;

/// A block device with targets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Device {
    /// As below `/sys/block`.
    pub name: String,
    /// What it holds; storage wins where it holds both.
    pub role: Role,
}

/// What a host has that settings are for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Hardware {
    /// Processors, as in `cpu0`.
    pub processors: Vec<String>,
    /// Block devices with targets.
    pub devices: Vec<Device>,
    /// Network interfaces of which several are in one subnet.
    pub interfaces: Vec<String>,
}

/// A setting on this host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Which.
    #[serde(flatten)]
    pub setting: &'static Setting,
    /// The processor, device or interface; empty for the host.
    pub subject: String,
    /// What is taken.
    pub decision: Decision,
}

/// All settings of a host.
pub fn items(hardware: &Hardware) -> Vec<Item> {
    let subjects = |scope: Scope| -> Vec<String> {
        match scope {
            Scope::Host => vec![String::new()],
            Scope::Processor => hardware.processors.clone(),
            Scope::Interface => hardware.interfaces.clone(),
            Scope::Device(role) => {
                hardware.devices.iter().filter(|device| device.role == role).map(|device| device.name.clone()).collect()
            }
        }
    };
    let of = |setting: &'static Setting| {
        let decision = setting.decide();
        subjects(setting.scope).into_iter().map(move |subject| Item { setting, subject, decision })
    };
    settings().flat_map(of).collect()
}

impl Item {
    /// Its file, from the root.
    pub fn file(&self) -> String {
        self.setting.file.replace("{}", &self.subject)
    }

    /// The file whose number is the most that this one takes.
    pub fn limit_file(&self) -> Option<String> {
        self.setting.limit.map(|file| file.replace("{}", &self.subject))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hardware() -> Hardware {
        let device = |name: &str, role| Device { name: name.into(), role };
        Hardware {
            processors: vec!["cpu0".into(), "cpu1".into()],
            devices: vec![device("sda", Role::Storage), device("nvme0n1", Role::Meta)],
            interfaces: Vec::new(),
        }
    }

    #[test]
    fn a_host_has_the_settings_of_what_is_in_it() {
        let files: Vec<String> = items(&hardware()).iter().map(Item::file).collect();
        let has = |file: &str| files.iter().filter(|own| *own == file).count();
        assert_eq!(has("proc/sys/vm/dirty_ratio"), 1);
        assert_eq!(has("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"), 1);
        assert_eq!((has("sys/block/sda/queue/nr_requests"), has("sys/block/nvme0n1/queue/nr_requests")), (1, 1));
        assert!(!files.iter().any(|file| file.contains("net/ipv4")), "one address in each subnet");
        let limit = items(&hardware()).into_iter().find(|item| item.setting.id == "storage.max_sectors_kb").unwrap();
        assert_eq!(limit.limit_file().as_deref(), Some("sys/block/sda/queue/max_hw_sectors_kb"));
    }
}
