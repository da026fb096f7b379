// SPDX-License-Identifier: Apache-2.0

//! Users and groups by number, or by their names on this host. Failure model: see the parent module.

use crate::exit::Failure;
use nix::unistd::{Group, User};

/// The number of a user of this host, or the number itself.
pub fn uid(name: &str) -> Result<u32, Failure> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let found = User::from_name(name).map_err(|error| Failure::failed(format!("user {name:?}: {error}")))?;
    let missing =
        || Failure::failed(format!("this host knows no user {name:?}; give a number, or a name of this host"));
    found.map(|user| user.uid.as_raw()).ok_or_else(missing)
}

/// The number of a group of this host, or the number itself.
pub fn gid(name: &str) -> Result<u32, Failure> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let found = Group::from_name(name).map_err(|error| Failure::failed(format!("group {name:?}: {error}")))?;
    let missing =
        || Failure::failed(format!("this host knows no group {name:?}; give a number, or a name of this host"));
    found.map(|group| group.gid.as_raw()).ok_or_else(missing)
}
