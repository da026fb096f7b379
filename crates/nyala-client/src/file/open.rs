// SPDX-License-Identifier: Apache-2.0

//! Opening and closing files, and keeping what is known of them fresh. Under a lease the server is not told.
//!
//! **Failure model.** Close runs in the background and may be late: the file's gate keeps a new open behind it. A server
//! that lost the session is told again what is open. A file whose name is removed, here or elsewhere, stays usable until its
//! last close: another client's removal revokes the lease first, and with it the server hears that the file is open. This client's own
//! removal does not, so it says so itself (`Core::register_open`), and an open that comes after that asks the server, until it
//! is known that the file outlived the removal (`file::logic::removals`). A close on its way counts as done.

use crate::core::Core;
use crate::delegation::admission::Access;
use crate::delegation::cache::Note;
use crate::delegation::logic::delegations::Need;
use crate::error::{Error, Result};
use crate::file::handle::FileHandle;
use crate::file::state::File;
use crate::rpc::cluster_map::unexpected_reply;
use crate::rpc::meta::{MetaAnswer, SendOutcome};
use crate::rpc::session::Session;
use crate::types::OpenOptions;
use crate::writeback::flush::Flush;
use nyala_wire::meta::{FileReply, LeaseMode, MetaOp, MetaReply, Owner, Want};
use nyala_wire::{ErrorCode, InodeId};
use std::sync::Arc;

/// What making a file said.
#[derive(Clone, Copy)]
pub(crate) struct Made<'a> {
    pub(crate) answer: &'a MetaAnswer,
    pub(crate) note: &'a Note,
    pub(crate) reply: &'a FileReply,
    /// Its server has noted that it is open here; else it is so under the lease that came with the answer.
    pub(crate) registered: bool,
}

/// The removal of a name of a file, under way until it is dropped.
pub(crate) struct Removal {
    core: Arc<Core>,
    file: Arc<File>,
}

impl Removal {
    pub(crate) fn inode(&self) -> InodeId {
        self.file.inode
    }
}

impl Drop for Removal {
    fn drop(&mut self) {
        let unused = {
            let mut state = self.file.state.lock();
            state.removals.end();
            state.handles == 0 && state.opened
        };
        // Its last handle may have gone while the server was being told of it.
        self.core.give_back(&self.file, unused);
    }
}

/// A file that is being opened: one user and one handle, given back when dropped.
struct Opening<'a> {
    core: &'a Arc<Core>,
    file: Option<Arc<File>>,
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        let Some(file) = self.file.take() else { return };
        let close = {
            let mut state = file.state.lock();
            state.handles -= 1;
            state.handles == 0 && state.opened
        };
        self.core.give_back(&file, close);
    }
}

impl Core {
    /// One user of a file less; first it is closed if need be.
    fn give_back(self: &Arc<Core>, file: &Arc<File>, close: bool) {
        let (core, closing) = (self.clone(), file.clone());
        let work = async move {
            // why ignored: the failure is kept with the file, and nobody has it open.
            let _ = core.close(&closing).await;
            core.release(&closing);
        };
        if !close || !self.spawn(work) {
            self.release(file);
        }
    }

    /// Opens a file for one more handle. `made`: what creating it said.
    pub(crate) async fn open_handle(
        self: &Arc<Core>,
        inode: InodeId,
        made: Option<Made<'_>>,
        options: OpenOptions,
    ) -> Result<FileHandle> {
        if self.is_stopped() {
            return Err(Error::ShutDown);
        }
        let file = self.files.acquire(inode);
        // It counts from now on: if the lease goes back meanwhile, the server hears that the file is open.
        file.state.lock().handles += 1;
        let mut opening = Opening { core: self, file: Some(file.clone()) };
        let lease = match made {
            Some(Made { answer, note, reply, registered }) => {
                self.take_file(answer, note, &file, reply);
                file.state.lock().opened |= registered;
                if !registered && self.leased(inode) == LeaseMode::None {
                    // It was taken back before it was here.
                    let _gate = self.gate(&file).await?;
                    self.open_at_server(&file).await?;
                }
                self.leased(inode)
            }
            None if self.config.leases => self.lease_to_open(&file, options).await?,
            None => {
                let _gate = self.gate(&file).await?;
                self.open_at_server(&file).await?;
                LeaseMode::None
            }
        };
        opening.file = None;
        Ok(FileHandle::new(self.clone(), file, options, lease))
    }

    /// A lease makes saying that the file is open unnecessary; without one it is said.
    async fn lease_to_open(self: &Arc<Core>, file: &Arc<File>, options: OpenOptions) -> Result<LeaseMode> {
        let need = Need { write: options.write || options.append, cached: options.buffered, patient: false };
        if !need.write {
            self.delegations.lock().predictor.opened(file.inode, self.now_ms());
        }
        let access = self.admit(file, need).await?.access;
        let mode = self.leased(file.inode);
        let registered = {
            let state = file.state.lock();
            let leased = access != Access::Direct || mode == LeaseMode::Uncached;
            !state.removals.in_doubt() && (leased || !state.is_open_implicitly())
        };
        if !registered {
            let _gate = self.gate(file).await?;
            self.open_at_server(file).await?;
        }
        Ok(if access == Access::Cached { mode } else { LeaseMode::Uncached })
    }

    /// This client is about to remove a name of the inode: a file that it has open must not go. Who opens it from now on,
    /// until the removal is dropped, asks its server.
    pub(crate) async fn register_open(self: &Arc<Core>, inode: InodeId) -> Result<Removal> {
        let file = self.files.acquire(inode);
        let implicit = {
            let mut state = file.state.lock();
            state.removals.begin();
            state.is_open_implicitly()
        };
        let removal = Removal { core: self.clone(), file };
        if implicit {
            let _gate = self.gate(&removal.file).await?;
            if removal.file.state.lock().is_open_implicitly() {
                match self.open_at_server(&removal.file).await {
                    Err(error) if matches!(error.code(), ErrorCode::NOT_FOUND | ErrorCode::STALE) => {}
                    other => other?,
                }
            }
        }
        Ok(removal)
    }

    /// Asks the file's server; the gate is held. Registers the session unless it is registered.
    pub(crate) async fn open_at_server(self: &Arc<Core>, file: &Arc<File>) -> Result<()> {
        let (registered, noted) = {
            let state = file.state.lock();
            (state.opened && state.handles > 1, state.removals.note())
        };
        let note = self.note(file.inode);
        let inode = file.inode;
        let op = if registered { MetaOp::FileInfo { inode } } else { MetaOp::Open { inode } };
        let answer = self.meta_wanting("open a file", op, Owner::default(), Want::NOTHING).await?;
        let MetaReply::Opened(reply) = &answer.reply else { return Err(unexpected_reply("open a file")) };
        self.take_file(&answer, &note, file, reply);
        let mut state = file.state.lock();
        state.opened = true;
        if reply.attr.nlink > 0 {
            state.removals.survived(noted);
        }
        Ok(())
    }

    pub(crate) async fn fetch_file_info(self: &Arc<Core>, file: &Arc<File>) -> Result<Box<FileReply>> {
        match self.meta("look at a file", MetaOp::FileInfo { inode: file.inode }, Owner::default()).await? {
            MetaReply::Opened(reply) => Ok(reply),
            _ => Err(unexpected_reply("look at a file")),
        }
    }

    /// Learns the file's size, times and inline content anew.
    pub(crate) async fn file_info(self: &Arc<Core>, file: &Arc<File>) -> Result<()> {
        let generation = file.state.lock().generation;
        let reply = self.fetch_file_info(file).await?;
        file.state.lock().install(&reply, generation, self.now_ms());
        Ok(())
    }

    /// The same if what is known is older than the cache time.
    pub(crate) async fn freshen(self: &Arc<Core>, file: &Arc<File>) -> Result<()> {
        let now_ms = self.now_ms();
        {
            let mut state = file.state.lock();
            if state.attr_ms > 0 && now_ms.saturating_sub(state.attr_ms) <= self.cache_ms() {
                return Ok(());
            }
            // Others that come meanwhile go on with what is known.
            state.attr_ms = now_ms;
        }
        let fresh = self.file_info(file).await;
        if fresh.is_err() {
            file.state.lock().attr_ms = 0;
        }
        fresh
    }

    /// The last handle is gone: push and close, unless somebody opened the file again meanwhile.
    pub(crate) async fn close(self: &Arc<Core>, file: &Arc<File>) -> Result<()> {
        // A lease on its way back may be what says that the file is open: the close must not come first.
        loop {
            let news = file.news.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            if !self.config.leases || !self.delegations.lock().held.is_returning(file.inode) {
                break;
            }
            news.await;
        }
        let _gate = file.gate.lock().await;
        let flush = {
            let mut state = file.state.lock();
            let close = state.handles == 0 && state.opened;
            if close && !state.loaded {
                state.cache.clear();
            }
            state.closing = close;
            Flush { close, ..Flush::default() }
        };
        let flushed = self.flush(file, flush).await;
        file.state.lock().closing = false;
        flushed
    }

    /// The session with a target was lost: what is open there is registered again. One try each; a file that cannot be
    /// is gone, and its next use says so.
    pub(crate) async fn reopen_files(self: &Arc<Core>, session: &Arc<Session>) {
        let view = self.maps.view();
        for file in self.files.all() {
            let here = view.map.slot_target(file.inode.slot()) == Some(session.target);
            let open = {
                let state = file.state.lock();
                state.opened || state.handles > 0
            };
            if !here || !open {
                continue;
            }
            let ticket = session.begin().await;
            let mut request = self.request(MetaOp::Open { inode: file.inode }, Owner::default());
            request.sequence = ticket.sequence;
            match self.send_meta(session, "open again", &mut request).await {
                Ok(SendOutcome::Reply(_)) => file.state.lock().opened = true,
                Ok(_) => tracing::warn!(inode = %file.inode, "an open file could not be registered again"),
                Err(error) => tracing::warn!(inode = %file.inode, %error, "an open file could not be registered again"),
            }
        }
    }
}
