// SPDX-License-Identifier: Apache-2.0

//! Where classes say what they find.

use crate::finding::{Finding, Fix, Rests, Subject, Weight};
use crate::loops::Loops;
use crate::object::Object;
use nyala_wire::checksum::crc32c;
use nyala_wire::map::ClusterMap;
use nyala_wire::{InodeId, TargetId, codec};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What is known besides the inode that is looked at.
pub struct Scope {
    /// The cluster.
    pub map: Arc<ClusterMap>,
    /// All metadata servers were asked to the end: what was not found is not there.
    pub all_names: bool,
    /// Storage targets that were asked to the end.
    pub listed: BTreeSet<TargetId>,
    /// Directories in loops.
    pub loops: Loops,
}

/// Findings, up to a limit.
pub struct Findings {
    /// What is known besides the inode that is looked at.
    pub scope: Scope,
    /// Those that are kept.
    pub kept: Vec<Finding>,
    /// Further ones.
    pub more: u64,
    most: usize,
}

impl Findings {
    /// None yet; at most `most` are kept.
    pub fn new(scope: Scope, most: usize) -> Findings {
        Findings { scope, kept: Vec::new(), more: 0, most }
    }
}

/// Where one class says what it finds.
pub struct Report<'a> {
    /// All findings.
    pub findings: &'a mut Findings,
    /// The class.
    pub class: &'static str,
    /// How bad that is.
    pub weight: Weight,
    /// What it rests upon.
    pub rests: Rests,
    /// The inode that is looked at.
    pub object: Option<&'a Object>,
}

impl Report<'_> {
    /// What else is known.
    pub fn scope(&self) -> &Scope {
        &self.findings.scope
    }

    /// Something is not as it should be; `fixes` repair it.
    pub fn find(&mut self, subject: Subject, detail: String, fixes: Vec<Fix>) {
        let inode = subject.inode();
        self.find_in(subject, detail, fixes, inode.into_iter().collect());
    }

    /// The same where other inodes have to be looked at again as well.
    pub fn find_in(&mut self, subject: Subject, detail: String, fixes: Vec<Fix>, involves: Vec<InodeId>) {
        if self.findings.kept.len() >= self.findings.most {
            self.findings.more += 1;
            return;
        }
        let basis = self.object.map_or(0, |object| basis(object, self.rests, &involves));
        let (class, weight) = (self.class, self.weight);
        self.findings.kept.push(Finding { class, weight, subject, detail, fixes, involves, basis });
    }
}

/// What a finding rests upon, as a number.
fn basis(object: &Object, rests: Rests, involves: &[InodeId]) -> u32 {
    let record = object.record.as_ref();
    match rests {
        // Read at one moment: nothing to compare.
        Rests::Rows => 0,
        Rests::Names => {
            let inode = record.map(|record| (record.ctime, (record.nlink, record.parent)));
            crc32c(&codec::encode(&(inode, (object.name_count, (&object.names, involves)))))
        }
        Rests::Chunks => {
            let inode = record.map(|record| (record.size, (&record.layout, record.inline_version)));
            crc32c(&codec::encode(&(inode, (&object.chunks, (object.garbage, object.leaves)))))
        }
    }
}
