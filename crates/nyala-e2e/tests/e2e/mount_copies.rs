// SPDX-License-Identifier: Apache-2.0

//! A mount ends although another mount namespace (a container, a service with a private `/tmp`) has a copy of it.

use nyala_e2e::cluster::text;
use nyala_e2e::run::kill_group;
use nyala_e2e::{Cluster, Mounts, Options, alone, shared, wait_until};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// What is waited for in vain when nobody ends the mount: a minute.
const SOON: Duration = Duration::from_secs(20);

/// A program in a mount namespace of its own; ended when dropped.
struct Elsewhere(Child);

impl Elsewhere {
    fn start(mount: &Path) -> Elsewhere {
        let script = format!("cd / && exec sleep 600 < {}/held", text(mount));
        fs::write(mount.join("held"), b"held").unwrap();
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", &script]).process_group(0);
        let program = Elsewhere(command.spawn().unwrap());
        let own = fs::read_link("/proc/self/ns/mnt").unwrap();
        let has_begun = || {
            let proc = format!("/proc/{}", program.0.id());
            fs::read_to_string(format!("{proc}/comm")).is_ok_and(|name| name.trim() == "sleep")
                && fs::read_link(format!("{proc}/ns/mnt")).is_ok_and(|namespace| namespace != own)
        };
        wait_until(Duration::from_secs(10), has_begun, || "unshare begins".to_owned());
        program
    }

    fn is_named_in(&self, said: &str) -> bool {
        said.contains(&format!("process {} (sleep)", self.0.id()))
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        kill_group(&mut self.0);
    }
}

#[test]
fn e2e_copies_of_a_mount_elsewhere_do_not_keep_it() {
    let _one = alone();
    let cluster = shared();
    let mut mounts = Mounts::new(&cluster, 1, "");
    let point = mounts.add("");
    let daemon = mounts.pid(&point);
    let elsewhere = Elsewhere::start(&point);
    fs::write(point.join("written"), b"just before").unwrap();
    let began = Instant::now();
    let done = cluster.nyala(["umount", &text(&point)]);
    assert!(done.ok() && began.elapsed() < SOON, "{:?}: {}", began.elapsed(), done.describe());
    assert!(elsewhere.is_named_in(&done.err), "{}", done.describe());
    assert!(!nyala_e2e::cleanup::alive(daemon, &point), "the client has ended");
    let began = Instant::now();
    assert_eq!(fs::read(cluster.mount().join("written")).unwrap(), b"just before");
    fs::write(cluster.mount().join("written"), b"and after").unwrap();
    assert!(began.elapsed() < Duration::from_secs(5), "its delegations and session have ended with it");
}

#[test]
fn e2e_down_ends_a_cluster_whose_mount_is_copied_elsewhere() {
    let _one = alone();
    let cluster = Cluster::start(Options::default());
    let elsewhere = Elsewhere::start(&cluster.mount());
    let began = Instant::now();
    let down = cluster.down();
    assert!(down.ok() && began.elapsed() < SOON, "{:?}: {}", began.elapsed(), down.describe());
    assert!(elsewhere.is_named_in(&down.err), "{}", down.describe());
    assert_eq!(cluster.running(), [] as [String; 0]);
}
