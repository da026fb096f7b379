// SPDX-License-Identifier: Apache-2.0

//! Addresses of network interfaces, in the order in which an administrator prefers them.

use crate::exit::{Failure, io};
use if_addrs::{IfAddr, Interface};
use std::net::IpAddr;

/// The addresses that others can use of these interfaces of this host, interface by interface.
pub fn addresses(names: &[String]) -> Result<Vec<IpAddr>, Failure> {
    let all = if_addrs::get_if_addrs().map_err(io("cannot list the network interfaces"))?;
    chosen(&all, names)
}

fn chosen(all: &[Interface], names: &[String]) -> Result<Vec<IpAddr>, Failure> {
    let mut found = Vec::new();
    for name in names {
        let mut own: Vec<&Interface> = all.iter().filter(|interface| interface.name == *name).collect();
        if own.is_empty() {
            let mut known: Vec<&str> = all.iter().map(|interface| interface.name.as_str()).collect();
            known.dedup();
            return Err(Failure::usage(format!(
                "this host has no network interface {name:?} with an address; it has {}",
                known.join(", ")
            )));
        }
        // A link-local address means nothing without the name of an interface of the other host.
        own.retain(|interface| !interface.addr.is_link_local());
        if own.is_empty() {
            return Err(Failure::usage(format!("the network interface {name} has only link-local addresses")));
        }
        own.sort_by_key(|interface| matches!(interface.addr, IfAddr::V6(_)));
        found.extend(own.into_iter().map(Interface::ip));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_taken_in_their_order() {
        let all = if_addrs::get_if_addrs().unwrap();
        let of = |names: &[&str]| chosen(&all, &names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["lo"]).unwrap()[0], "127.0.0.1".parse::<IpAddr>().unwrap());
        let error = of(&["lo", "none0"]).unwrap_err();
        assert!(error.message.contains("\"none0\"") && error.message.contains("lo"), "{error}");
        assert_eq!(of(&[]).unwrap(), Vec::<IpAddr>::new());
    }
}
