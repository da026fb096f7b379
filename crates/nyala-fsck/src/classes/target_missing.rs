// SPDX-License-Identifier: Apache-2.0

//! Files with data on targets that there are not.

use super::class::Class;
use crate::finding::Subject;
use crate::object::Object;
use crate::report::Report;
use nyala_wire::DataLocation;

/// See the module's words.
pub struct TargetMissing;

impl Class for TargetMissing {
    fn id(&self) -> &'static str {
        "target-missing"
    }

    fn meaning(&self) -> &'static str {
        "a striped file has data on a target or mirror group that does not exist"
    }

    fn repair(&self) -> &'static str {
        "nothing: its data went with them; restore the file, or remove it"
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let Some(record) = object.record.as_ref().filter(|record| record.inline_version.is_none()) else { return };
        let Some(layout) = record.layout.as_ref().filter(|_| record.size > 0) else { return };
        let map = &report.scope().map;
        let is_there = |location| match location {
            DataLocation::Target(target) => map.target(target).is_some(),
            DataLocation::Group(group) => map.group(group).is_some(),
        };
        let places = layout.targets.iter().map(|target| layout.pattern.location(*target));
        let missing: Vec<String> = places.filter(|place| !is_there(*place)).map(|place| place.to_string()).collect();
        if !missing.is_empty() {
            let detail = format!("its data is on {}: restore it, or remove it", missing.join(", "));
            report.find(Subject::Inode(object.inode), detail, Vec::new());
        }
    }
}
