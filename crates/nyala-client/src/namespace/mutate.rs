// SPDX-License-Identifier: Apache-2.0

//! Making, moving and removing names, and extended attributes: changes of what is kept.
//!
//! **Failure model.** A change that failed may have been done. What is kept of everything that it may concern is forgotten
//! when it begins, and known anew only where its reply says how things are.

use crate::delegation::local_change::LocalChange;
use crate::error::{Error, Result};
use crate::file::open::{Made, Opened, Removal};
use crate::namespace::lookup::name;
use crate::namespace::owner::Namespace;
use crate::namespace::server_lookup::Purpose;
use crate::rpc::failure::unexpected_reply;
use crate::types::OpenOptions;
use nyala_wire::meta::{DelegationMode, MetaOp, MetaReply, NewEntry, Owner, Rename, Want};
use nyala_wire::{Attr, ErrorCode, FileKind, InodeId};
use std::sync::Arc;

/// How often a file is made that somebody else removes at once.
const CREATE_TRIES: u32 = 16;

impl Namespace {
    /// A change whose reply is the entry that it made.
    pub(crate) async fn make_entry(
        self: &Arc<Namespace>,
        what: &'static str,
        op: MetaOp,
        owner: Owner,
        mut change: LocalChange,
    ) -> Result<Attr> {
        let answer = self.cluster.meta_wanting(what, op, owner, self.cluster.want()).await?;
        let MetaReply::Entry(entry) = &answer.reply else { return Err(unexpected_reply(what)) };
        change.outcome(0, Some(entry.inode));
        match entry.attr.clone() {
            Some(mut attr) => {
                change.done(&answer, &mut attr);
                Ok(attr)
            }
            None => {
                change.answered(&answer);
                drop(change);
                self.getattr(entry.inode).await
            }
        }
    }

    pub(crate) async fn make(self: &Arc<Namespace>, what: &'static str, op: MetaOp, owner: Owner) -> Result<Attr> {
        let entry = match &op {
            MetaOp::Mkdir { entry } | MetaOp::Mknod { entry, .. } | MetaOp::Symlink { entry, .. } => entry.clone(),
            _ => return Err(Error::refused(ErrorCode::INVALID, "this makes no entry")),
        };
        let change = self.delegations.begin_insertion(entry.parent, entry.name.as_bytes());
        self.make_entry(what, op, owner, change).await
    }

    pub(crate) async fn link(self: &Arc<Namespace>, inode: InodeId, parent: InodeId, bytes: &[u8]) -> Result<Attr> {
        let op = MetaOp::Link { inode, parent, name: name(bytes)? };
        let change = self.delegations.begin_change(&[inode, parent], &[(parent, bytes)]);
        self.make_entry("make a link", op, Owner::default(), change).await
    }

    pub(crate) async fn unlink(self: &Arc<Namespace>, parent: InodeId, bytes: &[u8]) -> Result<()> {
        let op = MetaOp::Unlink { parent, name: name(bytes)? };
        let removal = self.before_removal(parent, bytes).await?;
        let victim = removal.as_ref().map(Removal::inode);
        self.remove("remove a name", parent, bytes, victim, op).await?;
        drop(removal);
        victim.into_iter().for_each(|victim| self.files.drop_idle(victim));
        Ok(())
    }

    pub(crate) async fn rmdir(self: &Arc<Namespace>, parent: InodeId, bytes: &[u8]) -> Result<()> {
        let op = MetaOp::Rmdir { parent, name: name(bytes)? };
        let victim = self.before_rmdir(parent, bytes).await?;
        self.remove("remove a directory", parent, bytes, victim, op).await
    }

    async fn remove(
        self: &Arc<Namespace>,
        what: &'static str,
        parent: InodeId,
        bytes: &[u8],
        victim: Option<InodeId>,
        op: MetaOp,
    ) -> Result<()> {
        let concerned: Vec<InodeId> = victim.into_iter().chain([parent]).collect();
        let mut change = self.delegations.begin_change(&concerned, &[(parent, bytes)]);
        let answer = self.cluster.meta_change(what, op).await?;
        change.outcome(0, None);
        change.answered(&answer);
        Ok(())
    }

    pub(crate) async fn rename(self: &Arc<Namespace>, rename: Rename) -> Result<()> {
        let (from, from_name) = (rename.from_parent, rename.from_name.as_bytes().to_vec());
        let (to, to_name) = (rename.to_parent, rename.to_name.as_bytes().to_vec());
        let moved = self.to_be_moved(from, &from_name).await?;
        let removal = match rename.exchange {
            true => None,
            false => self.before_removal(to, &to_name).await?,
        };
        let victim = match rename.exchange {
            true => self.to_be_moved(to, &to_name).await?,
            false => removal.as_ref().map(Removal::inode),
        };
        let mut concerned = vec![from];
        concerned.extend(
            [Some(to).filter(|to| *to != from), moved, victim.filter(|one| Some(*one) != moved)].into_iter().flatten(),
        );
        let mut names = vec![(from, from_name.as_slice())];
        names.extend(Some((to, to_name.as_slice())).filter(|to| *to != names[0]));
        let (mut change, exchange) = (self.delegations.begin_change(&concerned, &names), rename.exchange);
        let answer =
            self.cluster.meta_wanting("rename", MetaOp::Rename(rename), Owner::default(), Want::NOTHING).await?;
        if answer.reply != MetaReply::Done {
            return Err(unexpected_reply("rename"));
        }
        self.cluster.note_also_changed(&answer, moved);
        change.answered(&answer);
        // Two names of one inode stay as they are, and so do equal ones: then `from` is not gone, and what was not known
        // may be such a name.
        match (change.was(0), change.was(1)) {
            (Some(Some(moved)), Some(replaced)) if replaced != Some(moved) => {
                change.outcome(0, replaced.filter(|_| exchange));
                change.outcome(1, Some(moved));
            }
            (Some(Some(moved)), None) if !exchange => change.outcome(1, Some(moved)),
            _ => {}
        }
        Ok(())
    }

    /// What is about to be moved: its times change, so that what is kept of it has to be found. A closed file's content goes
    /// first.
    async fn to_be_moved(self: &Arc<Namespace>, dir: InodeId, bytes: &[u8]) -> Result<Option<InodeId>> {
        if !self.ctx.config.delegations {
            return Ok(None);
        }
        let moved = self.lookup_for(dir, bytes, Purpose::Change).await?.attr.map(|attr| attr.inode);
        if let Some(inode) = moved {
            self.writeback.flush_deferred(inode).await?;
        }
        Ok(moved)
    }

    /// Makes and opens a file, or opens the one that is there.
    pub(crate) async fn create(
        self: &Arc<Namespace>,
        entry: NewEntry,
        owner: Owner,
        exclusive: bool,
    ) -> Result<(Attr, Opened)> {
        for _ in 1..CREATE_TRIES {
            match self.create_once(entry.clone(), owner, exclusive).await {
                // Made, and removed by somebody else before its server knew that it is open here.
                Err(error) if error.is(ErrorCode::STALE) => {}
                done => return done,
            }
        }
        self.create_once(entry, owner, exclusive).await
    }

    async fn create_once(
        self: &Arc<Namespace>,
        entry: NewEntry,
        owner: Owner,
        exclusive: bool,
    ) -> Result<(Attr, Opened)> {
        let (parent, bytes) = (entry.parent, entry.name.as_bytes().to_vec());
        let mut change = self.delegations.begin_insertion(parent, &bytes);
        let note = self.delegations.note_all();
        let op = MetaOp::Create { entry, exclusive };
        let answer =
            self.cluster.meta_wanting("create a file", op, owner, self.cluster.want().and(Want::IMPLICIT_OPEN)).await?;
        let MetaReply::Created { new, inode, kind, file } = &answer.reply else {
            return Err(unexpected_reply("create a file"));
        };
        change.outcome(0, Some(*inode));
        change.answered(&answer);
        let since_made = change.note_of_new(*inode);
        drop(change);
        match kind {
            FileKind::File => {}
            FileKind::Directory => return Err(Error::refused(ErrorCode::IS_A_DIRECTORY, "it is a directory")),
            FileKind::Symlink => return Err(Error::refused(ErrorCode::LOOP, "it is a symbolic link")),
            _ => return Err(Error::refused(ErrorCode::EXISTS, "it is there and not a regular file")),
        }
        // Others here may have found a new one by its name, and changed it, before this answer was read.
        let note = if *new { since_made } else { note };
        // An old file may have a close under way here, which would undo what the create registered: open it again.
        let known = file.as_deref().filter(|_| *new || self.files.get(*inode).is_none());
        let registered = !*new || answer.grants.inodes != DelegationMode::Exclusive;
        let made = known.map(|reply| Made { answer: &answer, note: &note, reply, registered });
        let registered_before = file.is_some() && known.is_none();
        let opened = self.ops.open_handle(*inode, made, OpenOptions::default()).await?;
        if registered_before {
            // The server counts it as open, unless that close has undone it: either way it is to hear of the last close.
            let _gate = opened.file().pass_gate(&self.ctx).await?;
            self.ops.open_at_server(opened.file()).await?;
        }
        let now = self.delegations.note(*inode);
        if *new && self.delegations.is_unchanged(&since_made, *inode) {
            // Who writes to it asks for these.
            self.delegations.remember(&now, |cached| cached.put_xattr(b"security.capability", None));
        }
        opened.file().state.lock().set_name(String::from_utf8_lossy(&bytes).into_owned());
        let known = opened.file().state.lock().known_attr();
        let attr = known.ok_or(Error::Protocol { what: "create a file", detail: "no attributes" })?;
        Ok((attr, opened))
    }

    pub(crate) async fn tmpfile(self: &Arc<Namespace>, entry: NewEntry, owner: Owner) -> Result<(Attr, Opened)> {
        let what = "make a file without a name";
        let answer = self.cluster.meta_wanting(what, MetaOp::Tmpfile { entry }, owner, self.cluster.want()).await?;
        let MetaReply::Created { inode, file: Some(file), .. } = &answer.reply else {
            return Err(unexpected_reply(what));
        };
        let note = self.delegations.note(*inode);
        let made = Made { answer: &answer, note: &note, reply: file, registered: true };
        let opened = self.ops.open_handle(*inode, Some(made), OpenOptions::default()).await?;
        Ok((file.attr.clone(), opened))
    }

    pub(crate) async fn getxattr(self: &Arc<Namespace>, inode: InodeId, name: &[u8]) -> Result<Vec<u8>> {
        let missing = || Error::refused(ErrorCode::NO_DATA, "there is no such extended attribute");
        if let Some(known) = self.delegations.cached(inode, |cached| cached.xattrs.get(name).cloned()) {
            return known.ok_or_else(missing);
        }
        if self.has_no_xattrs(inode) {
            return Err(missing());
        }
        let note = self.delegations.note(inode);
        let op = MetaOp::GetXattr { inode, name: name.to_vec().into() };
        match self.cluster.meta("get an extended attribute", op, Owner::default()).await {
            Ok(MetaReply::Bytes(value)) => {
                let value: Vec<u8> = value.into();
                self.delegations.remember(&note, |cached| cached.put_xattr(name, Some(value.clone())));
                Ok(value)
            }
            Ok(_) => Err(unexpected_reply("get an extended attribute")),
            Err(error) => {
                if error.is(ErrorCode::NO_DATA) {
                    self.delegations.remember(&note, |cached| cached.put_xattr(name, None));
                }
                Err(error)
            }
        }
    }

    /// Whether an inode is known to have no extended attribute: its attributes say so, and those may be used.
    fn has_no_xattrs(&self, inode: InodeId) -> bool {
        self.delegations.cached_attr(inode).is_some_and(|attr| attr.no_xattrs)
    }

    pub(crate) async fn listxattr(self: &Arc<Namespace>, inode: InodeId) -> Result<Vec<Vec<u8>>> {
        if let Some(known) = self.delegations.cached(inode, |cached| cached.xattr_names.clone()) {
            return Ok(known);
        }
        if self.has_no_xattrs(inode) {
            return Ok(Vec::new());
        }
        let note = self.delegations.note(inode);
        match self.cluster.meta("list extended attributes", MetaOp::ListXattr { inode }, Owner::default()).await? {
            MetaReply::Names(names) => {
                let names: Vec<Vec<u8>> = names.into_iter().map(Vec::from).collect();
                self.delegations.remember(&note, |cached| cached.xattr_names = Some(names.clone()));
                Ok(names)
            }
            _ => Err(unexpected_reply("list extended attributes")),
        }
    }

    /// Sets or removes an extended attribute, or sets what a directory gives to new files.
    pub(crate) async fn change_xattr(
        self: &Arc<Namespace>,
        what: &'static str,
        inode: InodeId,
        op: MetaOp,
    ) -> Result<()> {
        if let MetaOp::SetXattr { name, value, create: false, replace: false, .. } = &op
            && self.ops.set_acl_with_content(inode, name, value)
        {
            return Ok(());
        }
        // Access control lists and the mode are one: what was set before is set before.
        if let Some(file) = self.files.get(inode).filter(|file| !file.state.lock().pending_attrs().is_settled()) {
            self.writeback.flush_now(&file).await?;
        }
        let _change = self.delegations.begin_change(&[inode], &[]);
        self.cluster.meta_done(what, op).await
    }
}
