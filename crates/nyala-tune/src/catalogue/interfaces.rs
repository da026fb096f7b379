// SPDX-License-Identifier: Apache-2.0

//! Network interfaces, where several are in one subnet.

use crate::setting::Guide::Flash;
use crate::setting::{PLAIN, Scope, Setting};

const MULTI_HOMED: Setting = Setting { scope: Scope::Interface, ..PLAIN };

/// The settings. The guide names them twice, for single interfaces and for all.
pub const SETTINGS: &[Setting] = &[
    Setting {
        id: "net.arp_ignore",
        file: "proc/sys/net/ipv4/conf/{}/arp_ignore",
        said: &[(Flash, "1"), (Flash, "2")],
        harm: &["2"],
        reason: "an interface answers for its own addresses alone; with 2 it is silent to other subnets",
        ..MULTI_HOMED
    },
    Setting {
        id: "net.arp_filter",
        file: "proc/sys/net/ipv4/conf/{}/arp_filter",
        said: &[(Flash, "0"), (Flash, "1")],
        harm: &["1"],
        reason: "with 1, an interface is silent where the routing table has no rules for each source address",
        ..MULTI_HOMED
    },
    Setting {
        id: "net.arp_announce",
        file: "proc/sys/net/ipv4/conf/{}/arp_announce",
        said: &[(Flash, "2"), (Flash, "2")],
        reason: "others learn the address that belongs to the interface",
        ..MULTI_HOMED
    },
    Setting {
        id: "net.rp_filter",
        file: "proc/sys/net/ipv4/conf/{}/rp_filter",
        said: &[(Flash, "0"), (Flash, "1")],
        harm: &["1"],
        reason: "with 1, packets are dropped that come in by another interface than answers go out",
        ..MULTI_HOMED
    },
];
