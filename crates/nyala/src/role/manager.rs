// SPDX-License-Identifier: Apache-2.0

//! Tells the service manager how a service is, where it was started by one (`NOTIFY_SOCKET`, the protocol of `sd_notify(3)`): ready
//! once it answers as others would ask it, alive (`WATCHDOG_USEC`) as long as it goes on to answer, stopping once it was told to.
//!
//! **Failure model.** There may be no service manager: nothing is sent. Its socket may be gone or full: the message is lost, the
//! service goes on, and a log line says so. The service may hang on one of its threads while this task runs: it is asked over the
//! network, so that it then counts as dead, and the service manager ends and starts it. Management may be away: the service
//! waits for it, and is not ready meanwhile.

use crate::cluster::{Cluster, ask_node};
use crate::exit::Failure;
use nyala_transport::HandshakeConfig;
use sd_notify::NotifyState;
use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

/// Pause between questions to a service that is not ready.
const PAUSE: Duration = Duration::from_millis(100);
/// A service is asked so many times within the time after which it would be taken for dead.
const ASKED: u32 = 6;

/// Runs a service and, beside it, tells the service manager about it.
pub async fn watched<T>(
    listen: SocketAddr,
    secret: &Path,
    encrypt: bool,
    service: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    if std::env::var_os("NOTIFY_SOCKET").is_none() {
        return service.await;
    }
    let handshake = Cluster::new(Vec::new(), secret, encrypt)?.handshake();
    let asked = own_address(listen);
    tokio::select! {
        ended = service => ended,
        never = tell(asked, &handshake, sd_notify::watchdog_enabled()) => match never {},
    }
}

/// The address under which a service that listens there can be reached on this host.
fn own_address(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    SocketAddr::new(ip, listen.port())
}

/// Until the service ends.
async fn tell(asked: SocketAddr, handshake: &HandshakeConfig, watchdog: Option<Duration>) -> Infallible {
    let answers = async || ask_node(&[asked], handshake).await.reached.is_some();
    send(&[NotifyState::Status("starting, or waiting for management")]);
    while !answers().await {
        tokio::time::sleep(PAUSE).await;
    }
    let status = format!("answers at {asked}");
    send(&[NotifyState::Ready, NotifyState::Status(&status)]);
    let Some(longest) = watchdog else { return std::future::pending().await };
    loop {
        tokio::time::sleep(longest / ASKED).await;
        if answers().await {
            send(&[NotifyState::Watchdog]);
        } else {
            tracing::warn!(%asked, ?longest, "the service does not answer itself; the service manager will start it again");
        }
    }
}

/// The service was told to stop.
pub fn stopping() {
    if std::env::var_os("NOTIFY_SOCKET").is_some() {
        send(&[NotifyState::Stopping, NotifyState::Status("stopping")]);
    }
}

fn send(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the service manager cannot be told how this service is");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_asked_where_it_listens() {
        let at = |listen: &str| own_address(listen.parse().unwrap()).to_string();
        assert_eq!(at("0.0.0.0:8005"), "127.0.0.1:8005");
        assert_eq!(at("[::]:8005"), "[::1]:8005");
        assert_eq!(at("10.1.2.3:8005"), "10.1.2.3:8005");
    }
}
