// SPDX-License-Identifier: Apache-2.0

//! The mounts that serve metrics, as far as they said so. Pure: times are arguments.

use nyala_wire::ErrorCode;
use nyala_wire::error::WireError;
use nyala_wire::mgmt::{MOUNT_KNOWN_S, MountAt};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// Most mounts that are known at once.
const MOST: usize = 16_384;
/// Longest name of a mount, bytes.
const MAX_NAME: usize = 512;

/// Mounts by the address of their metrics: name, and when it was said, milliseconds.
#[derive(Debug, Default)]
pub(crate) struct KnownMounts(BTreeMap<SocketAddr, (String, u64)>);

impl KnownMounts {
    /// A mount that asks from this address says where its metrics are.
    pub fn add(&mut self, now_ms: u64, mount: MountAt, from: IpAddr) -> Result<(), WireError> {
        let address = reachable(&mount.address, from)?;
        if mount.name.len() > MAX_NAME || mount.name.chars().any(char::is_control) {
            return Err(ErrorCode::INVALID.with(format!("a mount's name has at most {MAX_NAME} bytes, on one line")));
        }
        if self.0.len() >= MOST && !self.0.contains_key(&address) {
            self.forget(now_ms);
            if self.0.len() >= MOST {
                return Err(ErrorCode::NO_SPACE.with(format!("{MOST} mounts are known, and no more can be")));
            }
        }
        self.0.insert(address, (mount.name, now_ms));
        Ok(())
    }

    /// Those that were heard of lately.
    pub fn list(&mut self, now_ms: u64) -> Vec<MountAt> {
        self.forget(now_ms);
        let mount = |(address, (name, _)): (&SocketAddr, &(String, u64))| MountAt {
            name: name.clone(),
            address: address.to_string(),
        };
        self.0.iter().map(mount).collect()
    }

    fn forget(&mut self, now_ms: u64) {
        self.0.retain(|_, (_, said)| now_ms.saturating_sub(*said) <= MOUNT_KNOWN_S * 1000);
    }
}

/// The address at which others reach what a mount serves there. On loopback that is for its own host only.
fn reachable(text: &str, from: IpAddr) -> Result<SocketAddr, WireError> {
    let said: SocketAddr = text.parse().map_err(|_| ErrorCode::INVALID.with(format!("{text:?} is not IP:PORT")))?;
    let ip = if said.ip().is_unspecified() { from.to_canonical() } else { said.ip() };
    if said.port() == 0 || (ip.is_loopback() && !from.to_canonical().is_loopback()) {
        let what =
            format!("{said} is reached by the mount's own host only; name another address in the option metrics");
        return Err(ErrorCode::INVALID.with(what));
    }
    Ok(SocketAddr::new(ip, said.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(name: &str, address: &str) -> MountAt {
        MountAt { name: name.to_owned(), address: address.to_owned() }
    }

    #[test]
    fn mounts_are_known_for_a_while() {
        let (mut known, from) = (KnownMounts::default(), "10.0.0.7".parse().unwrap());
        known.add(1000, at("c1:/mnt", "0.0.0.0:9804"), from).unwrap();
        known.add(2000, at("c1:/other", "10.1.0.7:9805"), from).unwrap();
        assert_eq!(known.list(60_000), [at("c1:/mnt", "10.0.0.7:9804"), at("c1:/other", "10.1.0.7:9805")]);
        assert_eq!(known.list(61_001), [at("c1:/other", "10.1.0.7:9805")]);
        known.add(62_000, at("c1:/new", "10.1.0.7:9805"), from).unwrap();
        assert_eq!(known.list(62_001), [at("c1:/new", "10.1.0.7:9805")]);
    }

    #[test]
    fn what_nobody_else_reaches_is_refused() {
        let mut known = KnownMounts::default();
        let (far, near) = ("10.0.0.7".parse().unwrap(), "127.0.0.1".parse().unwrap());
        for wrong in ["", "host:1", "127.0.0.1:9804", "10.0.0.7:0", "[::1]:9804"] {
            let refused = known.add(0, at("c", wrong), far).unwrap_err();
            assert_eq!(refused.code, ErrorCode::INVALID, "{wrong}");
        }
        known.add(0, at("c", "127.0.0.1:9804"), near).unwrap();
        known.add(0, at(&"x".repeat(MAX_NAME + 1), "10.0.0.7:1"), far).unwrap_err();
        assert_eq!(known.list(0).len(), 1);
    }

    #[test]
    fn their_number_is_bounded() {
        let (mut known, from) = (KnownMounts::default(), "10.0.0.7".parse().unwrap());
        let all = |port: usize| at("c", &format!("10.{}.0.1:{}", port / 60_000, port % 60_000 + 1));
        (0..MOST).for_each(|port| known.add(0, all(port), from).unwrap());
        assert_eq!(known.add(0, all(MOST), from).unwrap_err().code, ErrorCode::NO_SPACE);
        known.add(1, all(0), from).expect("one that is known");
        known.add(70_000, all(MOST), from).expect("the others are forgotten");
        assert_eq!(known.list(70_000).len(), 1);
    }
}
