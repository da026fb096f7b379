// SPDX-License-Identifier: Apache-2.0

//! Names that stand where no lookup finds them.

use super::class::Class;
use crate::finding::{Fix, Rests, Subject};
use crate::locations::NameAt;
use crate::object::Object;
use crate::report::Report;
use nyala_wire::meta::Repair;

/// See the module's words.
pub struct NameMisplaced;

impl Class for NameMisplaced {
    fn id(&self) -> &'static str {
        "name-misplaced"
    }

    fn meaning(&self) -> &'static str {
        "a name stands at a place where a lookup of it does not look"
    }

    fn repair(&self) -> &'static str {
        "the name goes where it belongs; away, if the same name is there"
    }

    fn rests_on(&self) -> Rests {
        Rests::Names
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let wrong: Vec<_> = object.names.iter().filter(|name| name.misplaced).collect();
        let Some(first) = wrong.first() else { return };
        let detail = format!("a name in {} stands at {:#x}", first.dir, first.cookie);
        let place =
            |name: &&NameAt| Fix::Meta(Repair::PlaceName { dir: name.dir, cookie: name.cookie, inode: object.inode });
        report.find(Subject::Inode(object.inode), detail, wrong.iter().map(place).collect());
    }
}
