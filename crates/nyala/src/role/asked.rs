// SPDX-License-Identifier: Apache-2.0

//! How a service of this host is asked whether it is well: at its own address, with its own secret, as other nodes ask it.

use crate::cluster::Cluster;
use crate::exit::Failure;
use nyala_transport::HandshakeConfig;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// How a service is asked.
#[derive(Clone, Debug)]
pub struct Asked {
    at: SocketAddr,
    secret: PathBuf,
    encrypt: bool,
}

impl Asked {
    /// A service that listens there.
    pub fn new(listen: SocketAddr, secret: &Path, encrypt: bool) -> Asked {
        let ip = match listen.ip() {
            ip if !ip.is_unspecified() => ip,
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        };
        Asked { at: SocketAddr::new(ip, listen.port()), secret: secret.to_owned(), encrypt }
    }

    /// The address under which it can be reached on this host.
    pub fn at(&self) -> SocketAddr {
        self.at
    }

    /// What a connection to it begins with.
    pub fn handshake(&self) -> Result<HandshakeConfig, Failure> {
        Ok(Cluster::new(Vec::new(), &self.secret, self.encrypt)?.handshake())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_asked_where_it_listens() {
        let at = |listen: &str| Asked::new(listen.parse().unwrap(), Path::new("/s"), false).at().to_string();
        assert_eq!(at("0.0.0.0:8005"), "127.0.0.1:8005");
        assert_eq!(at("[::]:8005"), "[::1]:8005");
        assert_eq!(at("10.1.2.3:8005"), "10.1.2.3:8005");
    }
}
