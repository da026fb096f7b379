// SPDX-License-Identifier: Apache-2.0

//! Names that say something else of their inode than it is.

use super::class::Class;
use crate::finding::{Fix, Rests, Subject};
use crate::locations::NameAt;
use crate::object::Object;
use crate::report::Report;
use nyala_wire::meta::Repair;

/// See the module's words.
pub struct NameKind;

impl Class for NameKind {
    fn id(&self) -> &'static str {
        "name-kind"
    }

    fn meaning(&self) -> &'static str {
        "a name says that its inode is of another kind than it is"
    }

    fn repair(&self) -> &'static str {
        "the name says what its inode is"
    }

    fn rests_on(&self) -> Rests {
        Rests::Names
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let Some(kind) = object.kind() else { return };
        let wrong: Vec<_> = object.names.iter().filter(|name| name.kind != kind).collect();
        let Some(first) = wrong.first() else { return };
        let detail = format!("it is a {kind:?}, and {} of its names say {:?}", wrong.len(), first.kind);
        let set = |name: &&NameAt| {
            Fix::Meta(Repair::SetNameKind { dir: name.dir, cookie: name.cookie, inode: object.inode, kind })
        };
        report.find(Subject::Inode(object.inode), detail, wrong.iter().map(set).collect());
    }
}
