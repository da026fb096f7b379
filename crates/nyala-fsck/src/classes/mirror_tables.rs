// SPDX-License-Identifier: Apache-2.0

//! Members of metadata mirror groups that hold other rows than their primary.

use super::class::Class;
use crate::finding::{Fix, Subject};
use crate::mirrors::Mirrors;
use crate::report::Report;

/// See the module's words.
pub struct MirrorTables;

impl Class for MirrorTables {
    fn id(&self) -> &'static str {
        "mirror-tables"
    }

    fn meaning(&self) -> &'static str {
        "a member of a metadata mirror group holds other rows than its primary, as of the same record of their log"
    }

    fn repair(&self) -> &'static str {
        "the member is given everything anew; if it is the primary that is wrong, make the other one primary before"
    }

    fn look_at_mirrors(&self, mirrors: &Mirrors, report: &mut Report) {
        for differ in &mirrors.tables {
            let keys: Vec<String> = differ.keys.iter().map(|key| key.escape_ascii().to_string()).collect();
            let (group, primary, member) = (differ.group, differ.primary, differ.member);
            let keys = keys.join(", ");
            let detail = format!("{} ranges of keys are not as on {primary}; rows at {keys}", differ.ranges);
            report.find(Subject::Of(member, 0), detail, vec![Fix::Refill { group, primary, member }]);
        }
    }
}
