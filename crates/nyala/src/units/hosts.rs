// SPDX-License-Identifier: Apache-2.0

//! Hosts with or without a port: `node01`, `10.0.0.1:8008`, `[::1]:8008`; several with commas.
//!
//! **Failure model.** A name may not resolve, now or ever: the error names it. A name with several addresses gives all.

use crate::exit::Failure;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

/// A host and perhaps a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// Name or address, without brackets.
    pub host: String,
    /// The port, if one was given.
    pub port: Option<u16>,
}

/// Hosts, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts(pub Vec<HostPort>);

impl FromStr for HostPort {
    type Err = String;

    fn from_str(text: &str) -> Result<HostPort, String> {
        let bad = || format!("{text:?} is not HOST or HOST:PORT (an IPv6 address stands in brackets: [::1]:8008)");
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let (host, after) = rest.split_once(']').ok_or_else(bad)?;
            host.parse::<std::net::Ipv6Addr>().map_err(|_| bad())?;
            (host, if after.is_empty() { None } else { Some(after.strip_prefix(':').ok_or_else(bad)?) })
        } else {
            match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            }
        };
        let fits = |c: char| c.is_ascii_alphanumeric() || "-._:%".contains(c);
        if host.is_empty() || host.len() > 253 || !host.chars().all(fits) {
            return Err(bad());
        }
        let port = port.map(|port| port.parse::<u16>().ok().filter(|port| *port != 0).ok_or_else(bad)).transpose()?;
        Ok(HostPort { host: host.to_owned(), port })
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.host.contains(':'), self.port) {
            (true, Some(port)) => write!(f, "[{}]:{port}", self.host),
            (true, None) => write!(f, "[{}]", self.host),
            (false, Some(port)) => write!(f, "{}:{port}", self.host),
            (false, None) => f.write_str(&self.host),
        }
    }
}

impl Hosts {
    /// All addresses of all hosts, in order, with `default_port` where none was given.
    pub fn resolve(&self, default_port: u16) -> Result<Vec<SocketAddr>, Failure> {
        let mut found = Vec::new();
        for HostPort { host, port } in &self.0 {
            let port = port.unwrap_or(default_port);
            if let Ok(ip) = host.parse::<IpAddr>() {
                found.push(SocketAddr::new(ip, port));
                continue;
            }
            let addresses = (host.as_str(), port).to_socket_addrs();
            let addresses = addresses
                .map_err(|error| Failure::unreachable(format!("host {host:?} cannot be resolved: {error}")))?;
            found.extend(addresses);
        }
        found.dedup();
        Ok(found)
    }
}

impl From<Vec<SocketAddr>> for Hosts {
    fn from(addresses: Vec<SocketAddr>) -> Hosts {
        let host = |address: SocketAddr| HostPort { host: address.ip().to_string(), port: Some(address.port()) };
        Hosts(addresses.into_iter().map(host).collect())
    }
}

impl FromStr for Hosts {
    type Err = String;

    fn from_str(text: &str) -> Result<Hosts, String> {
        text.split(',').map(|host| host.trim().parse()).collect::<Result<_, _>>().map(Hosts)
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(HostPort::to_string).collect();
        f.write_str(&texts.join(","))
    }
}

impl Serialize for Hosts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(HostPort::to_string))
    }
}

impl<'de> Deserialize<'de> for Hosts {
    /// A list of texts, or one text with commas.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hosts, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a host, or a list of hosts")]
        enum Either {
            One(String),
            Many(Vec<String>),
        }
        let text = match Either::deserialize(deserializer)? {
            Either::One(text) => text,
            Either::Many(texts) => texts.join(","),
        };
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_and_written() {
        for text in ["node01", "node01:8008", "10.0.0.1", "10.0.0.1:1", "[::1]", "[::1]:8008", "a,b:1,[fe80::1]:2"] {
            assert_eq!(text.parse::<Hosts>().unwrap().to_string(), text);
        }
        for bad in ["", ":8008", "a:", "a:0", "a:70000", "a:b", "::1", "[::1", "[::1]8008", "[x]:1", "a b", "a,,b"] {
            assert!(bad.parse::<Hosts>().is_err(), "{bad}");
        }
    }

    #[test]
    fn addresses_resolve_without_asking_anybody() {
        let hosts: Hosts = "10.0.0.1,[::1]:9".parse().unwrap();
        let want = ["10.0.0.1:8008", "[::1]:9"].map(|text| text.parse::<SocketAddr>().unwrap());
        assert_eq!(hosts.resolve(8008).unwrap(), want);
        assert_eq!(Hosts::from(want.to_vec()).to_string(), "10.0.0.1:8008,[::1]:9");
    }
}
