// SPDX-License-Identifier: Apache-2.0

//! Opening and closing files, and keeping what is known of them fresh. Under a delegation the server is not told.
//!
//! **Failure model.** Close runs in the background and may be late: the file's gate keeps a new open behind it. A server
//! that lost the session is told again what is open. A file whose name is removed, here or elsewhere, stays usable until its
//! last close: another client's removal revokes the delegation first, and with it the server hears that the file is
//! open. This client's own removal does not, so it says so itself (`FileOps::register_open`), and an open that comes
//! after that asks the server, until it is known that the file outlived the removal (`file::logic::removals`). A close
//! on its way counts as done.

use crate::delegation::admission::Access;
use crate::delegation::cache::Note;
use crate::delegation::logic::delegations::Need;
use crate::error::{Error, Result};
use crate::file::encode;
use crate::file::ops::FileOps;
use crate::file::state::File;
use crate::rpc::failure::unexpected_reply;
use crate::rpc::meta::{MetaAnswer, SendOutcome};
use crate::rpc::session::Session;
use crate::types::OpenOptions;
use crate::writeback::flush::Flush;
use nyala_wire::meta::{DelegationMode, FileReply, MetaOp, MetaReply, Owner, Want};
use nyala_wire::{ErrorCode, InodeId};
use std::sync::Arc;

/// What making a file said.
#[derive(Clone, Copy)]
pub(crate) struct Made<'a> {
    pub(crate) answer: &'a MetaAnswer,
    pub(crate) note: &'a Note,
    pub(crate) reply: &'a FileReply,
    /// Its server has noted that it is open here; else it is so under the delegation that came with the answer.
    pub(crate) registered: bool,
}

/// The removal of a name of a file, under way until it is dropped.
pub(crate) struct Removal {
    ops: Arc<FileOps>,
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
            state.open_mut().removals_mut().end();
            state.open().needs_close()
        };
        // Its last handle may have gone while the server was being told of it.
        self.ops.give_back(&self.file, unused);
    }
}

/// A file with one more handle and one more user; both are given back if this is dropped before a handle takes it over.
pub(crate) struct Opened {
    ops: Arc<FileOps>,
    file: Arc<File>,
    options: OpenOptions,
    delegation: DelegationMode,
    is_taken: bool,
}

impl Opened {
    pub(crate) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// The file, for a handle that gives it back; how it was opened, and what the delegation allows.
    pub(crate) fn take_over(mut self) -> (Arc<File>, OpenOptions, DelegationMode) {
        self.is_taken = true;
        (self.file.clone(), self.options, self.delegation)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.is_taken {
            return;
        }
        let close = {
            let mut state = self.file.state.lock();
            state.open_mut().drop_handle();
            state.open().needs_close()
        };
        self.ops.give_back(&self.file, close);
    }
}

impl FileOps {
    /// One user of a file less; first it is closed if need be.
    fn give_back(self: &Arc<FileOps>, file: &Arc<File>, close: bool) {
        let (ops, closing) = (self.clone(), file.clone());
        let work = async move {
            // why ignored: the failure is kept with the file, and nobody has it open.
            let _ = ops.close(&closing).await;
            ops.files.release(&closing);
        };
        if !close || !self.ctx.spawn(work) {
            self.files.release(file);
        }
    }

    /// Opens a file for one more handle. `made`: what creating it said.
    pub(crate) async fn open_handle(
        self: &Arc<FileOps>,
        inode: InodeId,
        made: Option<Made<'_>>,
        options: OpenOptions,
    ) -> Result<Opened> {
        if self.ctx.is_stopped() {
            return Err(Error::ShutDown);
        }
        let file = self.files.acquire(inode);
        // It counts from now on: if the delegation goes back meanwhile, the server hears that the file is open.
        file.state.lock().open_mut().add_handle();
        let delegation = DelegationMode::None;
        let mut opened = Opened { ops: self.clone(), file: file.clone(), options, delegation, is_taken: false };
        opened.delegation = match made {
            Some(Made { answer, note, reply, registered }) => {
                self.delegations.take_file(answer, note, &file, reply);
                if registered {
                    file.state.lock().open_mut().register();
                }
                if !registered && self.delegations.delegation(inode) == DelegationMode::None {
                    // It was taken back before it was here.
                    let _gate = file.pass_gate(&self.ctx).await?;
                    self.open_at_server(&file).await?;
                }
                self.delegations.delegation(inode)
            }
            None if self.ctx.config.delegations => self.delegation_to_open(&file, options).await?,
            None => {
                let _gate = file.pass_gate(&self.ctx).await?;
                self.open_at_server(&file).await?;
                DelegationMode::None
            }
        };
        encode::opened(self, &file, options.write || options.append).await?;
        Ok(opened)
    }

    /// A delegation makes saying that the file is open unnecessary; without one it is said.
    async fn delegation_to_open(self: &Arc<FileOps>, file: &Arc<File>, options: OpenOptions) -> Result<DelegationMode> {
        let need = Need { write: options.write || options.append, cached: options.buffered, patient: false };
        if !need.write {
            self.delegations.predictor().opened(file.inode, self.ctx.now_ms());
        }
        let access = self.delegations.admit(file, need).await?.access;
        let mode = self.delegations.delegation(file.inode);
        let registered = {
            let state = file.state.lock();
            let delegated = access != Access::Direct || mode == DelegationMode::Uncached;
            !state.open().removals().in_doubt() && (delegated || !state.open().is_implicit())
        };
        if !registered {
            let _gate = file.pass_gate(&self.ctx).await?;
            self.open_at_server(file).await?;
        }
        Ok(if access == Access::Cached { mode } else { DelegationMode::Uncached })
    }

    /// This client is about to remove a name of the inode: a file that it has open must not go. Who opens it from now on,
    /// until the removal is dropped, asks its server.
    pub(crate) async fn register_open(self: &Arc<FileOps>, inode: InodeId) -> Result<Removal> {
        let file = self.files.acquire(inode);
        let implicit = {
            let mut state = file.state.lock();
            state.open_mut().removals_mut().begin();
            state.open().is_implicit()
        };
        let removal = Removal { ops: self.clone(), file };
        if implicit {
            let _gate = removal.file.pass_gate(&self.ctx).await?;
            if removal.file.state.lock().open().is_implicit() {
                match self.open_at_server(&removal.file).await {
                    Err(error) if matches!(error.code(), ErrorCode::NOT_FOUND | ErrorCode::STALE) => {}
                    other => other?,
                }
            }
        }
        Ok(removal)
    }

    /// Asks the file's server; the gate is held. Registers the session unless it is registered.
    pub(crate) async fn open_at_server(self: &Arc<FileOps>, file: &Arc<File>) -> Result<()> {
        let (registered, noted) = {
            let state = file.state.lock();
            (state.open().is_registered() && state.open().handles() > 1, state.open().removals().note())
        };
        let note = self.delegations.note(file.inode);
        let inode = file.inode;
        let op = if registered { MetaOp::FileInfo { inode } } else { MetaOp::Open { inode } };
        let answer = self.cluster.meta_wanting("open a file", op, Owner::default(), Want::NOTHING).await?;
        let MetaReply::Opened(reply) = &answer.reply else { return Err(unexpected_reply("open a file")) };
        self.delegations.take_file(&answer, &note, file, reply);
        let mut state = file.state.lock();
        state.open_mut().register();
        if reply.attr.nlink > 0 {
            state.open_mut().removals_mut().survived(noted);
        }
        Ok(())
    }

    /// The last handle is gone: push and close, unless somebody opened the file again meanwhile.
    pub(crate) async fn close(self: &Arc<FileOps>, file: &Arc<File>) -> Result<()> {
        // A delegation on its way back may be what says that the file is open: the close must not come first.
        loop {
            let news = file.news.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            if !self.ctx.config.delegations || !self.delegations.lock(file.inode).is_returning(file.inode) {
                break;
            }
            news.await;
        }
        let _gate = file.gate.lock().await;
        let flush = {
            let mut state = file.state.lock();
            let close = state.open_mut().begin_close();
            if close && !state.is_loaded() {
                state.cache_mut().clear();
            }
            Flush { close, ..Flush::default() }
        };
        let flushed = self.writeback.flush(file, flush).await;
        file.state.lock().open_mut().end_close();
        flushed
    }

    fn is_open_at(&self, file: &File, session: &Session) -> bool {
        let here = self.cluster.maps.view().map.slot_target(file.inode.slot()) == Some(session.target);
        here && {
            let state = file.state.lock();
            state.open().is_registered() || state.open().handles() > 0
        }
    }

    /// The files that are open, or count as open at a session's server.
    pub(crate) fn open_at(&self, session: &Session) -> Vec<InodeId> {
        let open = |file: &Arc<File>| self.is_open_at(file, session).then_some(file.inode);
        self.files.all().iter().filter_map(open).collect()
    }

    /// The session with a target was lost: what is open there is registered again. One try each; a file that cannot be
    /// is gone, and its next use says so.
    pub(crate) async fn reopen_files(self: &Arc<FileOps>, session: &Arc<Session>) {
        for file in self.files.all() {
            if !self.is_open_at(&file, session) {
                continue;
            }
            let ticket = session.begin().await;
            let mut request = self.cluster.request(MetaOp::Open { inode: file.inode }, Owner::default());
            request.sequence = ticket.sequence;
            match self.cluster.send_meta(session, "open again", &mut request).await {
                Ok(SendOutcome::Reply(_)) => file.state.lock().open_mut().register(),
                Ok(_) => tracing::warn!(inode = %file.inode, "an open file could not be registered again"),
                Err(error) => tracing::warn!(inode = %file.inode, %error, "an open file could not be registered again"),
            }
        }
    }
}
