// SPDX-License-Identifier: Apache-2.0

//! Tells the service manager how a service is, where it was started by one (`NOTIFY_SOCKET`, the protocol of `sd_notify(3)`): ready
//! once it answers as others would ask it, alive (`WATCHDOG_USEC`) as long as it goes on to answer, stopping once it was told to.
//!
//! **Failure model.** There may be no service manager: nothing is sent. Its socket may be gone, or full because nobody reads it: the
//! service never waits for that. The message is lost, and a log line says so; that it is ready is said again until it is heard. The service may hang on one of its threads while this task runs: it is asked over the
//! network, so that it then counts as dead, and the service manager ends and starts it. Management may be away: the service
//! waits for it, and is not ready meanwhile.

use super::Asked;
use crate::cluster::ask_node;
use crate::exit::Failure;
use std::convert::Infallible;
use std::ffi::OsStr;
use std::future::Future;
use std::io::{Error, ErrorKind};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{self as unix, UnixDatagram};
use std::time::Duration;

/// Pause between questions to a service that is not ready.
const PAUSE: Duration = Duration::from_millis(100);
/// Pause before it is said again that the service is ready.
const AGAIN: Duration = Duration::from_secs(1);
/// A service is asked so many times within the time after which it would be taken for dead.
const ASKED: u32 = 6;

/// Runs a service and, beside it, tells the service manager about it.
pub async fn watched<T>(asked: Asked, service: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    if Manager::found().is_none() {
        return service.await;
    }
    let handshake = asked.handshake()?;
    let answers = async || ask_node(&[asked.at()], &handshake).await.reached.is_some();
    watched_by(answers, &format!("answers at {}", asked.at()), service).await
}

/// The same for a service that shows in another way that it is `alive`; `what` it does then is said to the manager.
pub async fn watched_by<T>(
    alive: impl AsyncFnMut() -> bool,
    what: &str,
    service: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let Some(manager) = Manager::found() else { return service.await };
    tokio::select! {
        ended = service => ended,
        never = manager.tell(alive, what) => match never {},
    }
}

/// The service was told to stop.
pub fn stopping() {
    if let Some(manager) = Manager::found() {
        manager.says("STOPPING=1\nSTATUS=stopping\n");
    }
}

/// A service manager that listens.
struct Manager {
    socket: UnixDatagram,
    address: unix::SocketAddr,
    /// The service counts as dead when it was silent for so long.
    watchdog: Option<Duration>,
}

impl Manager {
    /// The one that the variables name; none where they name none.
    fn found() -> Option<Manager> {
        let name = std::env::var_os("NOTIFY_SOCKET")?;
        let variable = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
        let ours = variable("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let watchdog = variable("WATCHDOG_USEC").filter(|usec| ours && *usec > 0).map(Duration::from_micros);
        match Manager::at(&name, watchdog) {
            Ok(manager) => Some(manager),
            Err(error) => {
                tracing::warn!(%error, "NOTIFY_SOCKET names no socket: the service manager is told nothing");
                None
            }
        }
    }

    /// A name that begins with `@` is one that has no file.
    fn at(name: &OsStr, watchdog: Option<Duration>) -> Result<Manager, Error> {
        let address = match name.as_bytes().split_first() {
            Some((b'@', rest)) => unix::SocketAddr::from_abstract_name(rest)?,
            _ => unix::SocketAddr::from_pathname(name)?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        Ok(Manager { socket, address, watchdog })
    }

    /// Sends lines as one datagram, or not.
    fn send(&self, lines: &str) -> Result<(), Error> {
        let sent = self.socket.send_to_addr(lines.as_bytes(), &self.address)?;
        if sent == lines.len() { Ok(()) } else { Err(ErrorKind::WriteZero.into()) }
    }

    fn says(&self, lines: &str) -> bool {
        let sent = self.send(lines);
        if let Err(error) = &sent {
            tracing::warn!(%error, "the service manager was not told: {}", lines.trim_end().replace('\n', ", "));
        }
        sent.is_ok()
    }

    /// Until the service ends.
    async fn tell(&self, mut alive: impl AsyncFnMut() -> bool, what: &str) -> Infallible {
        self.says("STATUS=starting, or waiting for management\n");
        while !alive().await {
            tokio::time::sleep(PAUSE).await;
        }
        while !self.says(&format!("READY=1\nSTATUS={what}\n")) {
            tokio::time::sleep(AGAIN).await;
        }
        let Some(longest) = self.watchdog else { return std::future::pending().await };
        loop {
            tokio::time::sleep(longest / ASKED).await;
            if alive().await {
                self.says("WATCHDOG=1\n");
            } else {
                tracing::warn!(
                    what,
                    ?longest,
                    "the service does not show that it is alive; its manager will start it again"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_that_does_not_listen_holds_nobody_up() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        assert!(Manager::at(path.as_os_str(), None).unwrap().send("READY=1\n").is_err(), "there is none");
        let listens = UnixDatagram::bind(&path).unwrap();
        let manager = Manager::at(path.as_os_str(), None).unwrap();
        assert!(manager.says("READY=1\n"));
        let full = (0..100_000).find(|_| manager.send("WATCHDOG=1\n").is_err());
        assert!(full.is_some(), "it is never full, or this would hang");
        let mut bytes = [0; 64];
        let len = listens.recv(&mut bytes).unwrap();
        assert_eq!(&bytes[..len], b"READY=1\n");
        assert!(manager.says("WATCHDOG=1\n"), "there is room again");
        let name = format!("@nyala-test-{}", std::process::id());
        let address = unix::SocketAddr::from_abstract_name(&name[1..]).unwrap();
        let listens = UnixDatagram::bind_addr(&address).unwrap();
        assert!(Manager::at(OsStr::new(&name), None).unwrap().says("READY=1\n"));
        assert_eq!(listens.recv(&mut bytes).unwrap(), 8);
    }
}
