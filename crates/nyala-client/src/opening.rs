// SPDX-License-Identifier: Apache-2.0

//! Opening and closing files at their servers, and keeping what is known of them fresh.
//!
//! **Failure model.** Close runs in the background and may be late: the file's gate keeps a new open behind it. A server
//! that lost the session is told again what is open. A file deleted elsewhere stays usable until its last close.

use crate::core::Core;
use crate::error::Result;
use crate::file::File;
use crate::maps::odd;
use crate::push::Push;
use crate::router::Outcome;
use crate::session::Session;
use nyala_wire::meta::{FileReply, MetaOp, MetaReply, Owner};
use std::sync::Arc;

impl Core {
    /// Asks the file's server; the gate is held. Registers the session unless it is registered.
    pub(crate) async fn open_at_server(self: &Arc<Core>, file: &Arc<File>) -> Result<()> {
        let (epoch, registered) = {
            let state = file.state.lock();
            (state.epoch, state.opened && state.handles > 0)
        };
        let inode = file.inode;
        let op = if registered { MetaOp::FileInfo { inode } } else { MetaOp::Open { inode } };
        match self.meta("open a file", op, Owner::default()).await? {
            MetaReply::Opened(reply) => {
                let mut state = file.state.lock();
                state.install(&reply, epoch, self.now_ms());
                state.opened = true;
                Ok(())
            }
            _ => Err(odd("open a file")),
        }
    }

    pub(crate) async fn fetch_file_info(self: &Arc<Core>, file: &Arc<File>) -> Result<Box<FileReply>> {
        match self.meta("look at a file", MetaOp::FileInfo { inode: file.inode }, Owner::default()).await? {
            MetaReply::Opened(reply) => Ok(reply),
            _ => Err(odd("look at a file")),
        }
    }

    /// Learns the file's size, times and inline content anew.
    pub(crate) async fn file_info(self: &Arc<Core>, file: &Arc<File>) -> Result<()> {
        let epoch = file.state.lock().epoch;
        let reply = self.fetch_file_info(file).await?;
        file.state.lock().install(&reply, epoch, self.now_ms());
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
        let _gate = file.gate.lock().await;
        let push = {
            let mut state = file.state.lock();
            let close = state.handles == 0 && state.opened;
            if close {
                state.cache.clear();
            }
            Push { sync: false, close }
        };
        self.push(file, push).await
    }

    /// The session with a target was lost: what is open there is registered again. One try each; a file that cannot be
    /// is gone, and its next use says so.
    pub(crate) async fn reopen_files(self: &Arc<Core>, session: &Arc<Session>) {
        let view = self.maps.view();
        for file in self.files.all() {
            let here = view.map.slot_target(file.inode.slot()) == Some(session.target);
            if !here || !file.state.lock().opened {
                continue;
            }
            let ticket = session.begin().await;
            let mut request = self.request(MetaOp::Open { inode: file.inode }, Owner::default());
            request.sequence = ticket.sequence;
            match self.send_meta(session, "open again", &mut request).await {
                Ok(Outcome::Reply(_)) => {}
                Ok(_) => tracing::warn!(inode = %file.inode, "an open file could not be registered again"),
                Err(error) => tracing::warn!(inode = %file.inode, %error, "an open file could not be registered again"),
            }
        }
    }
}
