// SPDX-License-Identifier: Apache-2.0

//! Rows on a server that does not serve their slot.

use super::class::Class;
use crate::finding::Subject;
use crate::object::Object;
use crate::report::Report;

/// See the module's words.
pub struct RowForeign;

impl Class for RowForeign {
    fn id(&self) -> &'static str {
        "row-foreign"
    }

    fn meaning(&self) -> &'static str {
        "rows of an inode, or of names of it, are on a metadata target that does not serve them"
    }

    fn repair(&self) -> &'static str {
        "nothing: they may be the only ones; nobody reads them there; keep a copy of that target's directory"
    }

    fn look(&self, object: &Object, report: &mut Report) {
        if !object.elsewhere.is_empty() {
            let targets: Vec<String> = object.elsewhere.iter().map(ToString::to_string).collect();
            let detail = format!("there are rows on metadata targets {}", targets.join(", "));
            report.find(Subject::Inode(object.inode), detail, Vec::new());
        }
    }
}
