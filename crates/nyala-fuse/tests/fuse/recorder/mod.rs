// SPDX-License-Identifier: Apache-2.0

//! A file system of one file that keeps what is written, each write by itself, or holds on to the guards.

use super::harness::uring;
use bytes::Bytes;
use nyala_fuse::mount::{Mount, MountOptions};
use nyala_fuse::types::*;
use nyala_fuse::{Handler, Session, SessionConfig, SessionError, WriteData};
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const FILE: u64 = 2;

#[derive(Default)]
struct Recorder {
    held_data: Mutex<Vec<Bytes>>,
    hold: Mutex<Option<Duration>>,
    guards: Arc<AtomicU64>,
    wrong: Arc<AtomicU64>,
}

fn attr(ino: u64) -> Attr {
    let mode = if ino == FILE { libc::S_IFREG | 0o644 } else { libc::S_IFDIR | 0o755 };
    let time = Timestamp::default();
    let (atime, mtime, ctime) = (time, time, time);
    Attr { ino, size: 0, blocks: 0, atime, mtime, ctime, mode, nlink: 1, uid: 0, gid: 0, rdev: 0, blksize: 4096 }
}

impl Handler for Recorder {
    async fn lookup(&self, _: &Context, _: Ino, _: &[u8]) -> Result<Entry> {
        let ttl = Duration::from_secs(60);
        Ok(Entry { ino: Ino(FILE), generation: 0, attr: attr(FILE), entry_ttl: ttl, attr_ttl: ttl })
    }

    async fn getattr(&self, _: &Context, ino: Ino, _: Option<Fh>) -> Result<Attributes> {
        Ok(Attributes { attr: attr(ino.0), ttl: Duration::from_secs(60) })
    }

    async fn open(&self, _: &Context, _: Ino, _: &OpenArgs) -> Result<Opened> {
        Ok(Opened { fh: Fh(0), mode: OpenMode { direct_io: true, ..OpenMode::default() } })
    }

    async fn write(&self, _: &Context, _: Ino, _: &WriteArgs, data: WriteData) -> Result<u32> {
        let len = data.len() as u32;
        match *self.hold.lock() {
            None => self.held_data.lock().push(data.into_bytes()),
            Some(time) => {
                let (guards, wrong) = (Arc::clone(&self.guards), Arc::clone(&self.wrong));
                guards.fetch_add(1, Ordering::SeqCst);
                let before = data.to_vec();
                std::thread::spawn(move || {
                    // sleeps: so long the data of a request is kept
                    std::thread::sleep(time);
                    wrong.fetch_add(u64::from(before[..] != data[..]), Ordering::SeqCst);
                    drop(data);
                    guards.fetch_sub(1, Ordering::SeqCst);
                });
            }
        }
        Ok(len)
    }
}

pub struct Mounted {
    recorder: Arc<Recorder>,
    mount: Mount,
    session: Option<JoinHandle<std::result::Result<(), SessionError>>>,
    dir: tempfile::TempDir,
}

impl Mounted {
    pub fn new(config: SessionConfig) -> Mounted {
        let (config, _enabled) = uring::this_programs(config);
        let dir = tempfile::tempdir().unwrap();
        let mount = Mount::new(&MountOptions::new("recorder:/", dir.path())).unwrap();
        let recorder = Arc::new(Recorder::default());
        let (tell, told) = std::sync::mpsc::channel();
        let session =
            Session::new(mount.device(), Arc::clone(&recorder), config).on_ready(move |_| tell.send(()).unwrap());
        let session = Some(std::thread::spawn(move || session.run()));
        told.recv_timeout(Duration::from_secs(10)).unwrap();
        Mounted { recorder, mount, session, dir }
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("file")
    }

    pub fn held_data(&self) -> Vec<Bytes> {
        self.recorder.held_data.lock().clone()
    }

    pub fn hold_guards(&self, time: Duration) {
        *self.recorder.hold.lock() = Some(time);
    }

    pub fn guards(&self) -> u64 {
        self.recorder.guards.load(Ordering::SeqCst)
    }

    pub fn wrong(&self) -> u64 {
        self.recorder.wrong.load(Ordering::SeqCst)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.mount.unmount(true).unwrap();
        let ended = self.session.take().unwrap().join().unwrap();
        assert!(std::thread::panicking() || ended.is_ok(), "{ended:?}");
    }
}
