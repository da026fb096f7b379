// SPDX-License-Identifier: Apache-2.0

//! A whole check: a pass over everything, and further ones over what looked wrong. Failure model: see the parent module.

use super::ask::Ask;
use super::mirrors;
use super::progress::Progress;
use super::report::{Found, FsckReport, Unchecked};
use super::scan::scan;
use super::scratch::TempFiles;
use crate::exit::{Failure, io};
use nyala_fsck::compare::compare_mirrors;
use nyala_fsck::finding::Finding;
use nyala_fsck::pass::Pass;
use nyala_fsck::suspects::Suspects;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// Passes over what looked wrong, while it changes.
const LOOKS: u32 = 3;
/// Findings that are kept; of more the rest is counted.
const MAX_FINDINGS: usize = 10_000;

/// How a check goes about it.
#[derive(Clone, Debug)]
pub struct Options {
    /// What looks wrong is looked at again after so long: longer than a transaction or a removal takes.
    pub grace: Duration,
    /// Bytes of memory for what the servers say.
    pub memory: usize,
    /// Where the rest of it is kept.
    pub temp: PathBuf,
    /// Members of mirror groups are compared.
    pub mirrors: bool,
}

/// Checks everything; what was confirmed, and the report of it.
pub async fn check(ask: &Rc<Ask>, options: &Options) -> Result<(Vec<Finding>, FsckReport), Failure> {
    let scratch = || Box::new(TempFiles::of(&options.temp));
    let mut pass = Pass::new(ask.map(), scratch(), options.memory);
    let mut unchecked = scan(ask, &mut pass, None, &mut Progress::of("first look", &ask.doing)).await?;
    let first = pass.finish(MAX_FINDINGS).map_err(io("cannot sort what the servers say"))?;
    let mut suspects = Suspects::of(&first.findings);
    for _ in 0..LOOKS {
        if suspects.is_empty() {
            break;
        }
        tokio::time::sleep(options.grace).await;
        let only = suspects.inodes();
        let mut pass = Pass::again(ask.map(), scratch(), options.memory, only.clone(), &first.servers);
        unchecked.extend(scan(ask, &mut pass, Some(&only), &mut Progress::of("second look", &ask.doing)).await?);
        suspects.again(&pass.finish(MAX_FINDINGS).map_err(io("cannot sort what the servers say"))?);
    }
    let (mut confirmed, unsettled) = suspects.end();
    let mut more = first.more;
    if options.mirrors {
        let (differ, unfinished) = mirrors::compare(ask, &mut Progress::of("mirrors", &ask.doing)).await;
        let (findings, further) = compare_mirrors(ask.map(), &differ, MAX_FINDINGS);
        confirmed.extend(findings);
        unchecked.extend(unfinished);
        more += further;
    }
    for (target, _) in first.servers.iter().filter(|(_, server)| !server.unreadable.is_empty()) {
        let error = "rows cannot be read, so names and chunk files were not compared".to_owned();
        unchecked.push(Unchecked { target: *target, error });
    }
    unchecked.sort();
    unchecked.dedup_by_key(|unchecked| unchecked.target);
    let report = FsckReport {
        names: first.counts.names,
        inodes: first.counts.inodes,
        chunk_files: first.counts.chunks,
        findings: confirmed.iter().map(Found::of).collect(),
        more,
        repaired: Vec::new(),
        unsettled: unsettled.iter().map(Found::of).collect(),
        unchecked,
    };
    Ok((confirmed, report))
}
