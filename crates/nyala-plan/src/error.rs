// SPDX-License-Identifier: Apache-2.0

//! Why a site makes no sense.

/// Why a site makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A number is out of its range.
    #[error("{what} = {value} makes no sense; it has to be {range}")]
    Range {
        /// Which.
        what: &'static str,
        /// What was said.
        value: String,
        /// What it may be.
        range: &'static str,
    },
    /// Groups of drives do not fit.
    #[error("{drives} drives cannot be divided into RAID groups of {group}; leave {rest} as spares: --drives {fits}")]
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
    /// Copies have to be on different servers.
    #[error("{copies} copies need at least as many servers, and there are {servers}")]
    Copies {
        /// Copies.
        copies: u32,
        /// Servers.
        servers: u32,
    },
}
