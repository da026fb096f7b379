// SPDX-License-Identifier: Apache-2.0

//! A mounted file system in memory that is unmounted whatever happens to the test.
#![allow(dead_code, reason = "each test program uses a part")]

pub mod uring;

use super::memfs::MemFs;
use nyala_fuse::mount::{Mount, MountOptions, Via};
use nyala_fuse::{Notifier, Session, SessionConfig, SessionError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub struct Mounted {
    pub fs: Arc<MemFs>,
    pub notifier: Notifier,
    pub mount: Arc<Mount>,
    session: Option<JoinHandle<Result<(), SessionError>>>,
    // Last, so that the directory goes after the mount.
    dir: tempfile::TempDir,
}

impl Mounted {
    pub fn new() -> Mounted {
        Mounted::with(SessionConfig::default(), Via::System)
    }

    pub fn with(config: SessionConfig, via: Via) -> Mounted {
        Mounted::start(config, via, MemFs::new())
    }

    pub fn start(config: SessionConfig, via: Via, fs: MemFs) -> Mounted {
        let (config, _enabled) = uring::this_programs(config);
        let wanted = config.transport;
        let dir = tempfile::tempdir().unwrap();
        let mut options = MountOptions::new("memfs:/", dir.path());
        options.via = via;
        let mount = Arc::new(Mount::new(&options).unwrap());
        let fs = Arc::new(fs);
        let session = Session::new(mount.device(), Arc::clone(&fs), config);
        let notifier = session.notifier();
        let (ready, is_ready) = mpsc::channel();
        let read_ahead = mount.read_ahead();
        let session = session.on_ready(move |negotiated| {
            assert_eq!(negotiated.over_io_uring(), wanted == nyala_fuse::Transport::Uring);
            ready.send(read_ahead.set(1024)).unwrap();
        });
        let session = std::thread::spawn(move || session.run());
        is_ready.recv_timeout(Duration::from_secs(10)).expect("the session did not start").unwrap();
        watch(&mount);
        Mounted { fs, notifier, mount, session: Some(session), dir }
    }

    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Waits for the session's own end, which an unmount brings about.
    pub fn join(&mut self) -> Result<(), SessionError> {
        let session = self.session.take().unwrap();
        wait("the session's end", || session.is_finished());
        session.join().unwrap()
    }
}

/// A test that hangs in the kernel, on a mount of its own process, could not even be killed: after a while the mount
/// is aborted, and what hangs fails.
fn watch(mount: &Arc<Mount>) {
    let mount = Arc::downgrade(mount);
    std::thread::spawn(move || {
        // sleeps: a test that hangs is ended then
        std::thread::sleep(Duration::from_secs(40));
        if let Some(mount) = mount.upgrade() {
            let flags = rustix::mount::UnmountFlags::FORCE | rustix::mount::UnmountFlags::NOFOLLOW;
            let _ = rustix::mount::unmount(mount.mountpoint(), flags);
        }
    });
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.fs.let_go.notify_waiters();
        if self.mount.is_mounted() {
            let _ = self.mount.unmount(true);
        }
        if let Some(session) = self.session.take() {
            // A session that does not end would hang the test program; the failed test says enough.
            let end = Instant::now() + Duration::from_secs(8);
            while !session.is_finished() && Instant::now() < end {
                // sleeps: between two looks
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

pub fn wait(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !done() {
        assert!(Instant::now() < end, "waited in vain for {what}");
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(2));
    }
}
