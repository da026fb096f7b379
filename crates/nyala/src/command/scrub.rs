// SPDX-License-Identifier: Apache-2.0

//! `nyala scrub`: reads everything on storage targets, compares it with its checksums, repairs what is mirrored.

use super::scrub_status::total;
use super::scrub_targets::chosen;
use crate::cluster::ClusterArgs;
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Output, Table, show};
use crate::role::block_on;
use crate::units::{Size, Span};
use crate::walk::{Look, Reason, ScrubReport, Work, scrub, shown};
use nyala_wire::TargetId;
use std::rc::Rc;
use tokio::task::JoinSet;

/// Flags of `nyala scrub`.
#[derive(Clone, Debug, clap::Args)]
pub struct ScrubArgs {
    /// The storage targets [default: all]
    #[arg(value_name = "TARGET")]
    pub targets: Vec<TargetId>,
    /// How much is read from each target in a second; 0: as fast as it goes
    #[arg(long, value_name = "SIZE", default_value = "64m")]
    pub rate: Size,
    /// Only say what is damaged
    #[arg(long)]
    pub no_repair: bool,
    /// Also list chunk files that no file needs; asks metadata about every file
    #[arg(long)]
    pub leftovers: bool,
    /// Remove what --leftovers finds: of files that metadata does not know, and what a client that died left beside inline content
    #[arg(long, requires = "leftovers")]
    pub remove: bool,
    /// With --remove: metadata was not restored from an old copy; else the only data of the files missing there would go
    #[arg(long, requires = "remove")]
    pub yes: bool,
    /// Chunk files count as leftovers when two looks so far apart find no use for them
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub grace: Span,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// What is said to who wants to remove without --yes.
const REALLY: &str = "what a metadata target has lost looks the same as what no file needs: if one was put back from a copy, \
the chunk files of everything newer would be removed, which are the only copies of that data. List them first \
(nyala scrub --leftovers); add --yes to remove them";

/// Scrubs. Exit code 6 if damage remains, 1 if a target could not be read to the end.
pub fn run(args: ScrubArgs, output: Output) -> Outcome {
    if args.remove && !args.yes {
        return Err(Failure::usage(REALLY));
    }
    let leftovers = args.leftovers.then_some(args.grace.0);
    let work = Work { rate: args.rate.0, repair: !args.no_repair, leftovers, remove: args.remove };
    let all = block_on(async {
        let cluster = args.cluster.find()?;
        let look = Rc::new(if args.remove { Look::to_remove(&cluster).await? } else { Look::at(&cluster).await? });
        let mut scrubs = JoinSet::new();
        let (map, targets) = (look.client.map(), chosen(&look.client.map(), &args.targets)?);
        let total = total(&cluster, &map, &targets).await;
        for target in targets {
            let look = look.clone();
            scrubs.spawn_local(async move { scrub(&look, target, work).await });
        }
        let done = async {
            let mut all = Vec::new();
            while let Some(done) = scrubs.join_next().await {
                all.push(done.map_err(|error| Failure::failed(error.to_string()))?);
            }
            Ok::<_, Failure>(all)
        };
        let mut all = shown(&look, "scrub", total, done).await?;
        all.sort_by_key(|report| report.target);
        // What it asked for is known; a failing goodbye changes nothing.
        let _ = look.client.shutdown().await;
        Ok(all)
    })?;
    show(output, &all, |all| render(all))?;
    Ok(exit(&all))
}

fn exit(all: &[ScrubReport]) -> Exit {
    let damaged = all.iter().any(|report| report.repaired_bytes < report.damaged_bytes);
    match (damaged, all.iter().any(|report| report.error.is_some())) {
        (true, _) => Exit::Degraded,
        (false, true) => Exit::Failed,
        (false, false) => Exit::Ok,
    }
}

fn render(all: &[ScrubReport]) -> String {
    let mut table = Table::new(&["TARGET", "READ", "DAMAGED", "REPAIRED", "RESULT"]);
    for report in all {
        let result = match &report.error {
            Some(error) => format!("not finished: {error}"),
            None if report.repaired_bytes < report.damaged_bytes => "damage remains".to_owned(),
            None => "good".to_owned(),
        };
        let size = |bytes| Size(bytes).to_string();
        let [read, damaged, repaired] = [report.bytes, report.damaged_bytes, report.repaired_bytes].map(size);
        table.row([report.target.to_string(), read, damaged, repaired, result]);
    }
    let mut text = table.render();
    let mut places = Table::new(&["TARGET", "INODE", "INODE NUMBER", "INDEX", "OFFSET", "LENGTH", "RESULT"]);
    for damage in all.iter().flat_map(|report| &report.damage) {
        places.row([
            damage.target.to_string(),
            damage.inode.clone(),
            damage.inode_number.to_string(),
            damage.index.to_string(),
            damage.offset.to_string(),
            damage.length.to_string(),
            damage.reason.clone().unwrap_or_else(|| "repaired".to_owned()),
        ]);
    }
    if all.iter().any(|report| !report.damage.is_empty()) {
        text += &format!("\n{}\nfind MOUNTPOINT -inum NUMBER tells the name of a file.\n", places.render());
    }
    text + &render_leftovers(all)
}

fn render_leftovers(all: &[ScrubReport]) -> String {
    let mut table = Table::new(&["TARGET", "INODE", "INDEX", "BYTES", "WHY NO FILE NEEDS IT", "RESULT"]);
    for (report, left) in all.iter().flat_map(|report| report.leftovers.iter().map(move |left| (report, left))) {
        let why = match left.reason {
            Reason::NoFile => "metadata knows no such file",
            Reason::Inline => "the file's content is inline",
            Reason::NoStripe => "the file's layout has no such stripe",
        };
        let (target, index) = (report.target.to_string(), left.index.to_string());
        let done = if left.removed { "removed" } else { "found" }.to_owned();
        let result = left.kept.as_ref().map_or(done, |kept| format!("kept: {kept}"));
        table.row([target, left.inode.clone(), index, left.bytes.to_string(), why.to_owned(), result]);
    }
    let more: u64 = all.iter().map(|report| report.more_leftovers).sum();
    let mut text = String::new();
    if all.iter().any(|report| !report.leftovers.is_empty()) {
        text += &format!("\n{}\n", table.render());
    }
    if more > 0 {
        text += &format!("\n{more} more chunk files may be needed by no file.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::{Damage, Leftover};

    #[test]
    fn what_remains_is_an_exit_code_and_a_line() {
        let damage = Damage {
            target: TargetId(101),
            inode: "0040-000000000010".to_owned(),
            inode_number: 77,
            index: 0,
            offset: 4096,
            length: 8192,
            group: None,
            repaired: false,
            reason: Some("not mirrored: restore the file".to_owned()),
        };
        let target = TargetId(101);
        let good = ScrubReport { bytes: 9, ..ScrubReport::of(target) };
        let bad = ScrubReport { damaged_bytes: 8192, damage: vec![damage], ..good.clone() };
        let lost = ScrubReport { error: Some("gone".to_owned()), ..good.clone() };
        let mended = ScrubReport { damaged_bytes: 8192, repaired_bytes: 8192, ..good.clone() };
        let inode = "0040-000000000011".to_owned();
        let reason = Reason::Inline;
        let left = Leftover { inode, inode_number: 78, index: 0, bytes: 4096, reason, removed: false, kept: None };
        let gone = Leftover { removed: true, ..left.clone() };
        let kept = Leftover { kept: Some("too busy".to_owned()), ..left.clone() };
        let wasted = ScrubReport { leftovers: vec![left, gone, kept], more_leftovers: 3, ..good.clone() };
        assert_eq!(exit(&[good.clone(), mended, wasted.clone()]), Exit::Ok, "space that is wasted is no damage");
        let text = render(&[wasted]);
        for word in ["0040-000000000011", "content is inline", "found", "removed", "kept: too busy", "3 more"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        assert_eq!(exit(&[lost.clone(), good]), Exit::Failed);
        assert_eq!(exit(&[lost.clone(), bad.clone()]), Exit::Degraded);
        let text = render(&[bad, lost]);
        for word in ["damage remains", "restore the file", "4096", "not finished: gone", "-inum"] {
            assert!(text.contains(word), "{word}: {text}");
        }
    }
}
