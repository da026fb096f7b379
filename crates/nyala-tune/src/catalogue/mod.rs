// SPDX-License-Identifier: Apache-2.0

//! All settings that the guides name, and what they advise that is not taken.

mod devices;
mod host;
mod interfaces;
mod not_taken;

use crate::setting::Setting;
pub use not_taken::{NOT_TAKEN, NotTaken};

/// The settings, in the order in which they are written.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    host::SETTINGS.iter().chain(devices::SETTINGS).chain(interfaces::SETTINGS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Rule;
    use crate::setting::Scope;

    #[test]
    fn every_setting_has_a_value_and_a_reason() {
        let all: Vec<&Setting> = settings().collect();
        for (at, setting) in all.iter().enumerate() {
            let decision = setting.decide();
            assert!(!setting.harm.contains(&decision.value) && !setting.reason.is_empty(), "{setting:?}");
            let numbers = setting.said.iter().all(|(_, value)| value.parse::<u64>().is_ok());
            assert!(decision.rule != Rule::Largest || numbers, "only numbers have a largest: {setting:?}");
            assert_eq!(setting.file.contains("{}"), setting.scope != Scope::Host, "{setting:?}");
            assert!(!all[..at].iter().any(|other| other.id == setting.id), "{setting:?}");
        }
        let of = |id: &str| settings().find(|setting| setting.id == id).unwrap().decide();
        assert_eq!((of("vm.zone_reclaim_mode").value, of("vm.zone_reclaim_mode").rule), ("0", Rule::Default));
        assert_eq!(of("transparent_hugepage.enabled").rule, Rule::Calm);
        assert_eq!((of("storage.max_sectors_kb").value, of("storage.max_sectors_kb").rule), ("256", Rule::Largest));
        assert_eq!((of("net.rp_filter").value, of("net.arp_announce").value), ("0", "2"));
    }

    #[test]
    fn schedulers_are_set_before_what_depends_on_them() {
        let at = |id: &str| settings().position(|setting| setting.id == id).unwrap();
        assert!(at("storage.scheduler") < at("storage.nr_requests") && at("meta.scheduler") < at("meta.nr_requests"));
    }
}
