// SPDX-License-Identifier: Apache-2.0

//! File systems that are compared, each started for it and gone afterwards.
//!
//! **Failure model.** One that does not start is an error, with what it said. Whatever happens it is unmounted (detached, if it is
//! held), its processes are ended, and its directory goes unless something is still mounted there. This process may be killed: what it
//! started stays, in a directory that names it.

use super::kind::Kind;
use super::mounts::{is_mounted, takes_a_file};
use super::processes::{self, wait};
use super::{gluster, moosefs};
use crate::all::OwnCluster;
use crate::error::{BenchError, io};
use crate::host::Host;
use rustix::mount::{UnmountFlags, unmount};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a file system may take until a file can be written.
const READY: Duration = Duration::from_secs(60);

/// Where the systems work, and how.
#[derive(Clone, Debug)]
pub struct Setup {
    /// This program.
    pub host: Host,
    /// A directory on the file system that all work on.
    pub work: PathBuf,
    /// First of the ports; each has fifty.
    pub base_port: u16,
    /// Copies of content: 1 or 2.
    pub copies: u8,
}

/// A file system that runs and is mounted.
pub struct System {
    /// Which.
    pub kind: Kind,
    dir: PathBuf,
    mount: PathBuf,
    own: Option<OwnCluster>,
}

impl System {
    /// Starts one; `number` tells those apart that run at once.
    pub fn start(kind: Kind, number: u16, setup: &Setup) -> Result<System, BenchError> {
        let port = setup.base_port.saturating_add(50 * number);
        if kind == Kind::Nyala {
            let few = ["--storage", "2", "--storage-services", "2"];
            let more: &[&str] = if setup.copies > 1 { &["--mirror"] } else { &[] };
            let own = OwnCluster::start(&setup.host, &setup.work, port, &[&few[..], more].concat())?;
            return Ok(System { kind, dir: own.local_dir(), mount: own.mount(), own: Some(own) });
        }
        let dir = setup.work.join(format!("nyala-peers.{}.{number}", std::process::id()));
        let system = System { kind, mount: dir.join("mnt"), dir, own: None };
        fs::create_dir_all(&system.mount).map_err(io(format!("cannot make {}", system.mount.display())))?;
        let (dir, mount) = (&system.dir, &system.mount);
        match kind {
            Kind::GlusterFs => gluster::up(dir, mount, port, setup.copies)?,
            Kind::MooseFs => moosefs::up(dir, mount, port, setup.copies)?,
            Kind::Local | Kind::Nyala => return Ok(system),
        }
        let ready = format!("{} takes a file", kind.name());
        wait(&ready, dir, READY, || is_mounted(mount) && takes_a_file(mount))?;
        Ok(system)
    }

    /// Where it is mounted.
    pub fn mount(&self) -> &Path {
        &self.mount
    }

    /// CPU time of all its servers and its mount, microseconds.
    pub fn cpu_us(&self) -> u64 {
        if self.kind == Kind::Local { 0 } else { processes::cpu_us(&self.dir) }
    }
}

impl Drop for System {
    fn drop(&mut self) {
        if self.own.is_some() {
            return;
        }
        if self.kind != Kind::Local {
            // why ignored: it may not be mounted; and what is held is detached.
            let _ = unmount(&self.mount, UnmountFlags::empty()).or_else(|_| unmount(&self.mount, UnmountFlags::DETACH));
            if self.kind == Kind::GlusterFs {
                gluster::down(&self.dir);
            }
            processes::end(&self.dir);
        }
        // Nothing is removed through a mount that did not go.
        if is_mounted(&self.mount) && self.kind != Kind::Local {
            eprintln!("nyala bench: {} stays mounted", self.mount.display());
        } else if let Err(error) = fs::remove_dir_all(&self.dir) {
            eprintln!("nyala bench: cannot remove {}: {error}", self.dir.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_directory_is_a_system_that_goes_again() {
        let dir = tempfile::tempdir().unwrap();
        let host = Host { program: "false".into(), is_mounted: |_| false };
        let setup = Setup { host, work: dir.path().into(), base_port: 1, copies: 1 };
        let local = System::start(Kind::Local, 3, &setup).unwrap();
        assert!(takes_a_file(local.mount()) && local.cpu_us() == 0 && Kind::Local.missing().is_none());
        drop(local);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        let failed = System::start(Kind::Nyala, 0, &setup).err().unwrap().to_string();
        assert!(failed.starts_with("the cluster to measure does not start"), "{failed}");
    }
}
