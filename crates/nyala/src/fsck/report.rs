// SPDX-License-Identifier: Apache-2.0

//! What a check reports.

use crate::exit::Exit;
use crate::output::Table;
use nyala_fsck::classes;
use nyala_fsck::finding::{Finding, Subject, Weight};
use nyala_wire::TargetId;
use serde::Serialize;

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// Id of the class.
    pub class: &'static str,
    /// `damage`, `waste` or `note`.
    pub weight: &'static str,
    /// What it is about, for people.
    pub object: String,
    /// The inode, as `entry info` shows it.
    pub inode: Option<String>,
    /// The same, as `ls -i` and `find -inum` show it.
    pub inode_number: Option<u64>,
    /// The target, if it is about one.
    pub target: Option<TargetId>,
    /// Stripe index, if it is about a chunk file.
    pub index: Option<u16>,
    /// What is wrong.
    pub detail: String,
    /// What `--repair` does about it.
    pub repair: &'static str,
    /// Why it was not repaired, if that was tried.
    pub kept: Option<String>,
}

/// A target that could not be asked to the end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Unchecked {
    /// The target.
    pub target: TargetId,
    /// Why.
    pub error: String,
}

/// What a check came to.
#[derive(Clone, Debug, Serialize)]
pub struct FsckReport {
    /// Names that were looked at.
    pub names: u64,
    /// Inodes.
    pub inodes: u64,
    /// Chunk files.
    pub chunk_files: u64,
    /// What was found, and is still so.
    pub findings: Vec<Found>,
    /// Things beyond those, seen once.
    pub more: u64,
    /// What was found and repaired.
    pub repaired: Vec<Found>,
    /// What looked wrong and changed at every look.
    pub unsettled: Vec<Found>,
    /// Targets that could not be asked to the end.
    pub unchecked: Vec<Unchecked>,
}

impl Found {
    /// What is reported of a finding.
    pub fn of(finding: &Finding) -> Found {
        let inode = finding.subject.inode();
        Found {
            class: finding.class,
            weight: match finding.weight {
                Weight::Damage => "damage",
                Weight::Waste => "waste",
                Weight::Note => "note",
            },
            object: finding.subject.to_string(),
            inode: inode.map(|inode| inode.to_string()),
            inode_number: inode.map(|inode| inode.0),
            target: finding.subject.target(),
            index: match finding.subject {
                Subject::Chunk(_, file) => Some(file.index),
                Subject::Inode(_) | Subject::Of(..) => None,
            },
            detail: finding.detail.clone(),
            repair: classes::of(finding.class).map_or("", |class| class.repair()),
            kept: None,
        }
    }
}

impl FsckReport {
    /// Damage that remains is 6; what could not be looked at to the end is 1.
    pub fn exit(&self) -> Exit {
        let damaged = self.findings.iter().any(|found| found.weight == "damage");
        match (damaged || self.more > 0, self.unchecked.is_empty() && self.unsettled.is_empty()) {
            (true, _) => Exit::Degraded,
            (false, false) => Exit::Failed,
            (false, true) => Exit::Ok,
        }
    }

    /// For people.
    pub fn render(&self) -> String {
        let mut text = String::new();
        let mut table = Table::new(&["CLASS", "WEIGHT", "OBJECT", "WHAT IS WRONG", "RESULT"]);
        let repaired = self.repaired.iter().map(|found| (found, "repaired".to_owned()));
        let left = self.findings.iter().map(|found| {
            let result = found.kept.as_ref().map_or("found".to_owned(), |kept| format!("not repaired: {kept}"));
            (found, result)
        });
        let unsettled = self.unsettled.iter().map(|found| (found, "changed at every look".to_owned()));
        for (found, result) in repaired.chain(left).chain(unsettled) {
            let cells = [found.class, found.weight, &found.object, &found.detail].map(str::to_owned);
            table.row(cells.into_iter().chain([result]));
        }
        if !(self.repaired.is_empty() && self.findings.is_empty() && self.unsettled.is_empty()) {
            text += &format!("{}\nfind MOUNTPOINT -inum NUMBER tells the name of a file.\n\n", table.render());
        }
        for Unchecked { target, error } in &self.unchecked {
            text += &format!("target {target} was not looked at to the end: {error}\n");
        }
        if self.more > 0 {
            text += &format!("{} more things look wrong; they are not listed.\n", self.more);
        }
        text + &self.counts() + "\n"
    }

    fn counts(&self) -> String {
        let FsckReport { names, inodes, chunk_files, .. } = self;
        let (found, done) = (self.findings.len(), self.repaired.len());
        format!("{names} names, {inodes} inodes, {chunk_files} chunk files: {found} findings, {done} repaired")
    }

    /// In one sentence.
    pub fn summary(&self) -> String {
        let (mut text, unsettled, unchecked) =
            (self.counts(), self.unsettled.len() as u64, self.unchecked.len() as u64);
        let (unsettled, unchecked) =
            ((unsettled, "changed at every look"), (unchecked, "targets not looked at to the end"));
        for (count, what) in [(self.more, "more not listed"), unsettled, unchecked] {
            if count > 0 {
                text += &format!(", {count} {what}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::InodeId;

    fn finding(class: &'static str, weight: Weight) -> Finding {
        let subject = Subject::Inode(InodeId(16));
        let (detail, fixes, involves) = ("it is odd".to_owned(), Vec::new(), Vec::new());
        Finding { class, weight, subject, detail, fixes, involves, basis: 0 }
    }

    fn report() -> FsckReport {
        FsckReport {
            names: 3,
            inodes: 4,
            chunk_files: 5,
            findings: Vec::new(),
            more: 0,
            repaired: Vec::new(),
            unsettled: Vec::new(),
            unchecked: Vec::new(),
        }
    }

    #[test]
    fn what_remains_is_an_exit_code_and_a_line() {
        let found = |weight| vec![Found::of(&finding("link-count", weight))];
        assert_eq!(report().exit(), Exit::Ok);
        assert_eq!(FsckReport { findings: found(Weight::Waste), ..report() }.exit(), Exit::Ok);
        assert_eq!(FsckReport { findings: found(Weight::Damage), ..report() }.exit(), Exit::Degraded);
        assert_eq!(FsckReport { repaired: found(Weight::Damage), ..report() }.exit(), Exit::Ok);
        assert_eq!(FsckReport { unsettled: found(Weight::Damage), ..report() }.exit(), Exit::Failed);
        let unchecked = vec![Unchecked { target: TargetId(101), error: "gone".to_owned() }];
        assert_eq!(FsckReport { unchecked: unchecked.clone(), ..report() }.exit(), Exit::Failed);
        let all = FsckReport { findings: found(Weight::Damage), unchecked, more: 7, ..report() };
        assert_eq!(all.exit(), Exit::Degraded);
        let text = all.render();
        for word in ["link-count", "it is odd", "target 101", "gone", "7 more", "3 names, 4 inodes, 5 chunk files"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        assert!(!report().render().contains("-inum"));
        let clean = "3 names, 4 inodes, 5 chunk files: 0 findings, 0 repaired";
        assert_eq!(report().summary(), clean);
        let said = "1 findings, 0 repaired, 7 more not listed, 1 targets not looked at to the end";
        assert_eq!(all.summary(), format!("3 names, 4 inodes, 5 chunk files: {said}"));
    }
}
