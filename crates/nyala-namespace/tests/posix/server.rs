// SPDX-License-Identifier: Apache-2.0

//! One server without a network, and short ways to ask it.

use crate::support::{Logic, new_tables};
use nyala_kv::Batch;
use nyala_namespace::keys;
use nyala_namespace::records::InodeRecord;
use nyala_namespace::view::{MemView, View};
use nyala_wire::meta::*;
use nyala_wire::*;

pub struct Server {
    pub logic: Logic,
    pub view: MemView,
}

impl Server {
    pub fn new() -> Server {
        let mut view = MemView::default();
        view.apply(&new_tables());
        Server { logic: Logic::new(), view }
    }

    pub fn as_session(&mut self, session: u64, op: MetaOp) -> Result<MetaReply, ErrorCode> {
        let (reply, batch) = self.logic.run(&self.view, session, &op).map_err(|error| error.code)?;
        self.view.apply(&batch);
        Ok(reply)
    }

    pub fn run(&mut self, op: MetaOp) -> Result<MetaReply, ErrorCode> {
        self.as_session(1, op)
    }

    pub fn made(&mut self, op: MetaOp) -> Attr {
        match self.run(op) {
            Ok(MetaReply::Entry(entry)) => entry.attr.unwrap(),
            Ok(MetaReply::Created { file, .. }) => file.unwrap().attr,
            other => panic!("{other:?}"),
        }
    }

    pub fn file(&mut self, text: &str) -> InodeId {
        self.made(MetaOp::Mknod {
            entry: entry(InodeId::ROOT, text, 0o644),
            kind: FileKind::File,
            rdev: 0,
            pattern: None,
        })
        .inode
    }

    pub fn dir(&mut self, text: &str) -> InodeId {
        self.made(MetaOp::Mkdir { entry: entry(InodeId::ROOT, text, 0o755) }).inode
    }

    pub fn attr(&mut self, inode: InodeId) -> Attr {
        match self.run(MetaOp::GetAttr { inode }) {
            Ok(MetaReply::Attr(attr)) => attr,
            other => panic!("{other:?}"),
        }
    }

    pub fn set(&mut self, inode: InodeId, set: SetAttr) -> Attr {
        match self.run(MetaOp::SetAttr { inode, set }) {
            Ok(MetaReply::Attr(attr)) => attr,
            other => panic!("{other:?}"),
        }
    }

    pub fn set_xattr(&mut self, inode: InodeId, name: &[u8], value: &[u8]) -> Result<(), ErrorCode> {
        let (name, value) = (name.to_vec().into(), value.to_vec().into());
        self.run(MetaOp::SetXattr { inode, name, value, create: false, replace: false, kill_sgid: false }).map(drop)
    }

    pub fn xattr(&mut self, inode: InodeId, name: &[u8]) -> Result<Vec<u8>, ErrorCode> {
        match self.run(MetaOp::GetXattr { inode, name: name.to_vec().into() })? {
            MetaReply::Bytes(bytes) => Ok(bytes.to_vec()),
            other => panic!("{other:?}"),
        }
    }

    pub fn remove_xattr(&mut self, inode: InodeId, name: &[u8]) -> Result<(), ErrorCode> {
        self.run(MetaOp::RemoveXattr { inode, name: name.to_vec().into() }).map(drop)
    }

    pub fn xattrs(&mut self, inode: InodeId) -> Vec<Vec<u8>> {
        match self.run(MetaOp::ListXattr { inode }) {
            Ok(MetaReply::Names(names)) => names.iter().map(|name| name.to_vec()).collect(),
            other => panic!("{other:?}"),
        }
    }

    /// Changes a record as no operation does.
    pub fn forge(&mut self, inode: InodeId, change: impl FnOnce(&mut InodeRecord)) {
        let bytes = View::get(&self.view, &keys::inode(inode)).unwrap().unwrap();
        let mut record: InodeRecord = codec::decode(&bytes).unwrap();
        change(&mut record);
        let mut batch = Batch::new();
        batch.put(keys::inode(inode), codec::encode(&record));
        self.view.apply(&batch);
    }
}

pub fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).unwrap()
}

pub fn entry(parent: InodeId, text: &str, perm: u16) -> NewEntry {
    NewEntry { parent, name: name(text), perm, umask: 0o022 }
}

pub fn chmod(perm: u16) -> SetAttr {
    SetAttr { perm: Some(perm), ..SetAttr::default() }
}
