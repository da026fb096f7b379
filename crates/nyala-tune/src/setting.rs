// SPDX-License-Identifier: Apache-2.0

//! One setting of the kernel: what guides say of it, and which value is taken.

use crate::rule::{Decision, Rule};
use serde::Serialize;

/// A published guide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Guide {
    /// NVMe drives behind a software RAID, 2022.
    Flash,
    /// Arrays of hard disks, 2020.
    Disks,
}

impl Guide {
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Guide::Flash => "flash guide",
            Guide::Disks => "disk guide",
        }
    }
}

/// What a device holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Storage targets.
    Storage,
    /// Metadata or management.
    Meta,
}

/// What has the setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "of", content = "role")]
pub enum Scope {
    /// The host, once.
    Host,
    /// Each processor.
    Processor,
    /// Each block device with targets of a kind.
    Device(Role),
    /// Each network interface, where several are in one subnet.
    Interface,
}

/// A setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Its name, as `tune` lists it.
    pub id: &'static str,
    /// The kernel's file, from the root, with `{}` for the processor, device or interface.
    pub file: &'static str,
    /// What has it.
    pub scope: Scope,
    /// What guides say, in the order of their publication.
    pub said: &'static [(Guide, &'static str)],
    /// Values with which a request may stall or a packet be dropped.
    pub harm: &'static [&'static str],
    /// What is taken where all values that guides say do harm.
    pub instead: Option<&'static str>,
    /// The file that counts in place of this one unless it is 0.
    pub counterpart: Option<&'static str>,
    /// The file that says the most that this one should have: a number, or the size of the memory, of which it is a twentieth.
    pub limit: Option<&'static str>,
    /// Whether a larger number that is there already stays.
    pub least: bool,
    /// What it is good for.
    pub reason: &'static str,
}

/// What settings have unless they say otherwise.
pub const PLAIN: Setting = Setting {
    id: "",
    file: "",
    scope: Scope::Host,
    said: &[],
    harm: &[],
    instead: None,
    counterpart: None,
    limit: None,
    least: false,
    reason: "",
};

impl Setting {
    /// Which value is taken: first those that do harm go, then the largest of what is left is taken.
    ///
    /// # Panics
    /// For a setting of which nothing is left; the catalogue has none, which a test holds.
    pub fn decide(&self) -> Decision {
        let distinct = |values: &[&'static str]| values.windows(2).any(|pair| pair[0] != pair[1]);
        let said: Vec<&'static str> = self.said.iter().map(|(_, value)| *value).collect();
        let calm: Vec<&'static str> = said.iter().copied().filter(|value| !self.harm.contains(value)).collect();
        let number = |value: &&&str| value.parse::<u64>().unwrap_or(0);
        let largest = calm.iter().max_by_key(number).copied();
        let rule = match (said.len(), calm.len()) {
            (_, 0) => Rule::Default,
            (1, _) => Rule::Alone,
            (all, left) if left < all => Rule::Calm,
            _ if distinct(&calm) => Rule::Largest,
            _ => Rule::Agreed,
        };
        let value = largest.or(self.instead).expect("the catalogue names a value for what does harm");
        Decision { value, rule }
    }

    /// What the guides say, as it is printed.
    pub fn sayings(&self) -> String {
        let say = |(guide, value): &(Guide, &str)| format!("{}: {value}", guide.name());
        self.said.iter().map(say).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictions_are_settled_by_a_rule() {
        use Guide::{Disks, Flash};
        let of = |said, harm, instead| {
            let decision = Setting { said, harm, instead, ..PLAIN }.decide();
            (decision.value, decision.rule)
        };
        assert_eq!(of(&[(Disks, "5"), (Flash, "5")], &[], None), ("5", Rule::Agreed));
        assert_eq!(of(&[(Flash, "performance")], &[], None), ("performance", Rule::Alone));
        assert_eq!(of(&[(Disks, "never"), (Flash, "always")], &["always"], None), ("never", Rule::Calm));
        assert_eq!(of(&[(Disks, "256"), (Flash, "64")], &[], None), ("256", Rule::Largest));
        assert_eq!(of(&[(Disks, "64"), (Flash, "256")], &[], None), ("256", Rule::Largest));
        assert_eq!(of(&[(Flash, "1")], &["1"], Some("0")), ("0", Rule::Default));
        let setting = Setting { said: &[(Disks, "64"), (Flash, "256")], ..PLAIN };
        assert_eq!(setting.sayings(), "disk guide: 64, flash guide: 256");
    }
}
