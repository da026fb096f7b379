// SPDX-License-Identifier: Apache-2.0

//! The strangers, and what the services hold meanwhile.

use nyala_e2e::cluster::{sibling, text};
use nyala_e2e::{Cluster, run};
use std::fs;
use std::io::Read;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// All ports on which a cluster listens, with what they are for.
pub fn ports(cluster: &Cluster) -> Vec<(String, SocketAddr)> {
    let mut ports = Vec::new();
    for name in cluster.services() {
        let settings = fs::read_to_string(cluster.dir().join(format!("conf/{name}.toml"))).unwrap();
        for key in ["listen", "rest-listen"] {
            let of_key = |line: &str| line.strip_prefix(&format!("{key} = "))?.trim_matches('"').parse().ok();
            ports.extend(settings.lines().find_map(of_key).map(|address| (format!("{name} {key}"), address)));
        }
    }
    let services = cluster.services().len();
    assert_eq!(ports.len(), services + 1, "each service has a port, management two: {ports:?}");
    ports
}

/// Strangers on every port, until dropped.
pub struct Crowd {
    processes: Vec<(String, Child)>,
    stop: PathBuf,
}

impl Crowd {
    pub fn come(cluster: &Cluster, count: usize) -> Crowd {
        let stop = cluster.root().join("strangers-stop");
        let begin = |(name, address): (String, SocketAddr)| {
            let mut command = Command::new(sibling("nyala-e2e-strangers"));
            command.args([address.to_string(), count.to_string(), text(&stop)]).stdout(Stdio::piped());
            (name, command.spawn().unwrap())
        };
        let processes = ports(cluster).into_iter().map(begin).collect();
        Crowd { processes, stop }
    }

    /// They leave; each has made so many connections at least.
    pub fn leave(mut self, at_least: u64) {
        fs::write(&self.stop, b"").unwrap();
        for (name, mut child) in std::mem::take(&mut self.processes) {
            let ended = run::wait(&mut child, Duration::from_secs(30));
            let mut said = String::new();
            child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
            println!("{name}: connections made, refused, at once: {}", said.trim());
            let made = said.split(' ').next().and_then(|made| made.parse().ok()).unwrap_or(0);
            assert!(ended.is_some_and(|status| status.success()) && made >= at_least, "{name}: {ended:?} {said}");
        }
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for (_, child) in &mut self.processes {
            // why ignored: it may have ended.
            let _ = child.kill();
            run::wait(child, Duration::from_secs(10));
        }
    }
}

/// Connections and KiB of memory of each service. Files are not counted: storage keeps many open, as its own limit lets it.
pub fn sizes(cluster: &Cluster) -> Vec<(String, usize, u64)> {
    let size = |name: String| {
        let pid = cluster.pid(&name);
        // One that was closed since it was listed is none.
        let is_socket = |link: PathBuf| fs::read_link(link).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"));
        let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        let open = open.filter(|entry| entry.as_ref().is_ok_and(|entry| is_socket(entry.path()))).count();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok());
        (name, open, kib.unwrap())
    };
    cluster.services().into_iter().map(size).collect()
}
