// SPDX-License-Identifier: Apache-2.0

//! An open file.
//!
//! **Failure model.** Errors of background writes belong to the file; every handle reports each of them once, at its next
//! flush, fsync or release. A handle dropped without release is released in the background.

use crate::core::Core;
use crate::delegation::logic::delegations::Need;
use crate::error::Result;
use crate::file::encode_later;
use crate::file::logic::read_ahead::Stream;
use crate::file::open::Opened;
use crate::file::state::File;
use crate::file::write;
use crate::rpc::deadline::Deadline;
use crate::types::SeekTarget;
use crate::writeback::flush::Flush;
use bytes::Bytes;
use nyala_wire::meta::DelegationMode;
use nyala_wire::{Attr, InodeId};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// An open file. Clones are the same handle: one place in the stream, one error report, one release.
#[derive(Clone)]
pub struct FileHandle {
    inner: Arc<Inner>,
}

struct Inner {
    core: Arc<Core>,
    file: Arc<File>,
    stream: Mutex<Stream>,
    /// Failures of the file that this handle has reported.
    reported: AtomicU64,
    append: bool,
    buffered: AtomicBool,
    delegation: DelegationMode,
    released: AtomicBool,
}

impl FileHandle {
    /// The file counts the handle already, and the table has a user for it.
    pub(crate) fn new(core: Arc<Core>, opened: Opened) -> FileHandle {
        let (file, options, delegation) = opened.take_over();
        let reported = AtomicU64::new(file.state.lock().failures().count());
        let released = AtomicBool::new(false);
        FileHandle {
            inner: Arc::new(Inner {
                core,
                file,
                stream: Mutex::new(Stream::new()),
                reported,
                append: options.append,
                buffered: AtomicBool::new(options.buffered),
                delegation,
                released,
            }),
        }
    }

    /// The file.
    pub fn inode(&self) -> InodeId {
        self.inner.file.inode
    }

    /// The file's attributes as this client knows them now, own unwritten changes included; no request is sent.
    pub fn known_attr(&self) -> Option<Attr> {
        self.inner.file.state.lock().known_attr()
    }

    /// Reads up to `len` bytes at `offset`: pieces in order, together shorter than `len` only at the file's end.
    pub async fn read(&self, offset: u64, len: usize) -> Result<Vec<Bytes>> {
        let Inner { core, file, stream, .. } = &*self.inner;
        Ok(core.ops.read(file, stream, offset, len, self.inner.is_buffered()).await?.into_pieces())
    }

    /// What opening got; under [`DelegationMode::Uncached`] nothing of the file may be kept.
    pub fn delegation(&self) -> DelegationMode {
        self.inner.delegation
    }

    /// Somebody above keeps what is read through this handle: from now on a delegation that allows no keeping is of no use.
    pub fn set_buffered(&self, buffered: bool) {
        self.inner.buffered.store(buffered, Ordering::Release);
    }

    /// Writes at the end of the file, whoever wrote there last. Returns the offset written at.
    pub async fn append(&self, data: &[u8]) -> Result<u64> {
        write::append(&self.inner.core.ops, &self.inner.file, data).await
    }

    /// Writes at `offset` (at the end if opened so). Returns the number of bytes taken: all.
    pub async fn write(&self, offset: u64, data: &[u8]) -> Result<usize> {
        let Inner { core, file, append, .. } = &*self.inner;
        match append {
            true => write::append(&core.ops, file, data).await.map(|_| ())?,
            false => write::write(&core.ops, file, offset, data, self.inner.is_buffered()).await?,
        }
        Ok(data.len())
    }

    /// What close(2) does: pushes to the servers, or lets a small file's content go out in a moment; reports errors.
    pub async fn flush(&self) -> Result<()> {
        self.flush_as(Flush { exact: true, ..Flush::default() }).await?;
        // Said, and not counted as reported: of several processes that have the handle, it may be a child that closes its copy and
        // looks at no result, while the one that wrote asks with fsync.
        self.failure_after(self.inner.reported.load(Ordering::Acquire))
    }

    /// Data and attributes are on disk when it returns. `datasync`: attributes that are not needed to read the data
    /// need not be (they are, too).
    pub async fn fsync(&self, _datasync: bool) -> Result<()> {
        let Inner { core, file, .. } = &*self.inner;
        if core.ctx.config.delegations && !file.state.lock().is_loaded() {
            // Whoever has something unsent of it sends it first. why ignored: the push meets the same server, and says so.
            let _ = core.delegations.admit(file, Need::default()).await;
        }
        self.flush_as(Flush { sync: true, ..Flush::default() }).await?;
        self.report()
    }

    pub(crate) fn file(&self) -> &Arc<File> {
        &self.inner.file
    }

    /// Failures are kept with the file.
    async fn flush_as(&self, flush: Flush) -> Result<()> {
        let Inner { core, file, .. } = &*self.inner;
        let due = {
            let state = file.state.lock();
            !state.is_clean() || (state.commit().is_usage_due() && !state.is_inline())
        };
        if flush.sync || (due && !core.writeback.defer_close(file)) {
            let _gate = file.pass_gate(&core.ctx).await?;
            // why ignored: the failure is kept with the file, and reported from there.
            let _ = core.writeback.flush(file, flush).await;
        }
        Ok(())
    }

    /// The failure that this handle has not reported yet.
    fn report(&self) -> Result<()> {
        let count = self.inner.file.state.lock().failures().count();
        self.failure_after(self.inner.reported.swap(count, Ordering::AcqRel))
    }

    fn failure_after(&self, reported: u64) -> Result<()> {
        let state = self.inner.file.state.lock();
        state.failures().after(reported).map_or(Ok(()), |error| Err(error.clone()))
    }

    /// The handle is done; the file's last one pushes and closes it. Reports errors not reported yet. Where there is
    /// nothing to push, the close runs in the background. Other clones of the handle must not be used any more.
    pub async fn release(self) -> Result<()> {
        if self.inner.released.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        if self.inner.leave() {
            let inner = self.inner.clone();
            self.inner.core.ctx.spawn(async move { inner.finish().await });
        } else if self.inner.core.writeback.defer_close(&self.inner.file) {
            encode_later::encode_later(&self.inner.core.ops, &self.inner.file);
            self.inner.core.files.release(&self.inner.file);
        } else {
            self.finish().await?;
        }
        self.report()
    }

    /// Pushes and closes; goes on by itself where that takes longer than the call may last.
    async fn finish(&self) -> Result<()> {
        let inner = self.inner.clone();
        let (done, over) = tokio::sync::oneshot::channel();
        self.inner.core.ctx.spawn(async move {
            inner.finish().await;
            // why ignored: nobody waits any more.
            let _ = done.send(());
        });
        let last = "others flush it, or its delegation is on its way to a server that does not answer";
        // why ignored: it ends without a word when the runtime ends.
        Deadline::of_call(&self.inner.core.ctx).wait("close a file", last, over).await.map(drop)
    }

    /// `fallocate(2)`: mode 0, `KEEP_SIZE`, `PUNCH_HOLE|KEEP_SIZE`, `ZERO_RANGE`, `ZERO_RANGE|KEEP_SIZE`; others are
    /// EOPNOTSUPP.
    pub async fn fallocate(&self, mode: i32, offset: u64, len: u64) -> Result<()> {
        self.inner.core.ops.fallocate(&self.inner.file, mode, offset, len).await
    }

    /// `SEEK_DATA` and `SEEK_HOLE`; ENXIO behind the end.
    pub async fn seek(&self, offset: u64, target: SeekTarget) -> Result<u64> {
        self.inner.core.ops.seek(&self.inner.file, offset, target == SeekTarget::Hole).await
    }
}

impl Inner {
    /// Takes the handle off the file; true if nothing has to be pushed.
    fn leave(&self) -> bool {
        let mut state = self.file.state.lock();
        state.open_mut().drop_handle();
        state.is_clean()
    }

    fn is_buffered(&self) -> bool {
        self.buffered.load(Ordering::Acquire)
    }

    async fn finish(&self) {
        let last_or_dirty = {
            let state = self.file.state.lock();
            let last = state.open().handles() == 0;
            (last && (state.open().is_registered() || !self.core.ctx.config.delegations)) || !state.is_clean()
        };
        if last_or_dirty {
            // why ignored: the failure is kept with the file for whoever reports.
            let _ = self.core.ops.close(&self.file).await;
        }
        encode_later::encode_later(&self.core.ops, &self.file);
        self.core.files.release(&self.file);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.released.swap(true, Ordering::AcqRel) {
            return;
        }
        self.leave();
        let copy = Inner {
            core: self.core.clone(),
            file: self.file.clone(),
            stream: Mutex::new(Stream::new()),
            reported: AtomicU64::new(0),
            append: false,
            buffered: AtomicBool::new(false),
            delegation: DelegationMode::None,
            released: AtomicBool::new(true),
        };
        if !self.core.ctx.spawn(async move { copy.finish().await }) {
            tracing::warn!(inode = %self.file.inode, "a file was dropped outside a runtime and stays open");
        }
    }
}
