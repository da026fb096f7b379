// SPDX-License-Identifier: Apache-2.0

//! Why a site makes no sense: each message says what is wrong and what to write instead.

/// Why a site makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A number is out of its range.
    #[error("--{flag} {value} is out of range: write {range}")]
    Range {
        /// The flag, without its dashes.
        flag: &'static str,
        /// What was said.
        value: String,
        /// What may be written.
        range: &'static str,
    },
    /// Groups of drives do not fit.
    #[error(
        "{drives} drives of an enclosure cannot be divided into RAID groups of {group}: leave {rest} as spares and write --drives {fits}"
    )]
    Groups {
        /// Drives of an enclosure.
        drives: u32,
        /// Drives of a group.
        group: u32,
        /// Drives that are left.
        rest: u32,
        /// The number that fits.
        fits: u32,
    },
    /// A group has more drives than an enclosure.
    #[error(
        "a RAID group of {group} drives is larger than an enclosure with {drives}: write --drives {group}, or a smaller group as in --raid 1+1"
    )]
    LargeGroup {
        /// Drives of an enclosure.
        drives: u32,
        /// Drives of a group.
        group: u32,
    },
    /// Copies have to be on different servers.
    #[error(
        "{copies} copies need as many servers, and there are {servers}: write --servers {copies} or --copies {servers}"
    )]
    Copies {
        /// Copies.
        copies: u32,
        /// Servers.
        servers: u32,
    },
    /// Drives inside the servers are one enclosure for each server.
    #[error(
        "drives inside the servers (--controllers 0) count as one enclosure for each server, and there are {enclosures} for {servers} servers: \
         write --enclosures {servers}"
    )]
    Inside {
        /// Enclosures.
        enclosures: u32,
        /// Servers.
        servers: u32,
    },
    /// A host has fewer ports than there are switches.
    #[error(
        "with {switches} switches and {ports} network port(s) on each host, some hosts would not reach each other through one switch: \
         write --ports {switches} or --switches {ports}"
    )]
    Switches {
        /// Switches.
        switches: u32,
        /// Ports of each host.
        ports: u32,
    },
    /// A switch has too few ports.
    #[error(
        "{hosts} hosts with {ports} network port(s) each need {needed} ports on a switch, and --switch-ports says {has}: \
         write --switch-ports {needed}, for a larger switch or several linked ones that count as one"
    )]
    SwitchPorts {
        /// Hosts on the network.
        hosts: u32,
        /// Ports of each host.
        ports: u32,
        /// Ports that are needed on the fullest switch.
        needed: u32,
        /// Ports that it has.
        has: u32,
    },
}

/// A whole number from 1 (or 0) to `most` is in its range.
pub(crate) fn count(
    flag: &'static str,
    value: u32,
    allowed: std::ops::RangeInclusive<u32>,
    range: &'static str,
) -> Result<(), PlanError> {
    match allowed.contains(&value) {
        true => Ok(()),
        false => Err(PlanError::Range { flag, value: value.to_string(), range }),
    }
}

/// A number above 0 and at most `most` is in its range.
pub(crate) fn amount(flag: &'static str, value: f64, most: f64, range: &'static str) -> Result<(), PlanError> {
    match value.is_finite() && value > 0.0 && value <= most {
        true => Ok(()),
        false => Err(PlanError::Range { flag, value: value.to_string(), range }),
    }
}
