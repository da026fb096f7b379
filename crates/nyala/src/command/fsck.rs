// SPDX-License-Identifier: Apache-2.0

//! `nyala fsck`: compares what all servers have, while the file system is in use, and repairs it.

use crate::cluster::ClusterArgs;
use crate::exit::Outcome;
use crate::fsck::{Ask, FsckReport, Options, Run, check, repair};
use crate::output::{Output, Table, print, show};
use crate::role::block_on;
use crate::units::{Size, Span};
use nyala_fsck::classes::CLASSES;
use serde::Serialize;
use std::path::PathBuf;
use std::rc::Rc;

/// Flags of `nyala fsck`.
#[derive(Clone, Debug, clap::Args)]
pub struct FsckArgs {
    /// Repair what is found, as far as there is a repair; what has no name goes to /lost+found
    #[arg(long)]
    pub repair: bool,
    /// With --repair: also remove chunk files that no file needs, as metadata has it. Metadata was not restored from an old copy;
    /// else the only data of the files missing there would go
    #[arg(long, requires = "repair")]
    pub remove_chunks: bool,
    /// What looks wrong is looked at again after this time; longer than a server needs to end what it has begun
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub grace: Span,
    /// Memory for what the servers say; the rest goes to files
    #[arg(long, value_name = "SIZE", default_value = "256m")]
    pub memory: Size,
    /// Where these files are, which have no names [default: $TMPDIR, or /tmp]
    #[arg(long, value_name = "DIR")]
    pub temp: Option<PathBuf>,
    /// Do not compare the members of mirror groups with each other
    #[arg(long)]
    pub no_mirrors: bool,
    /// Only list what is looked for, and what --repair does about it
    #[arg(long, conflicts_with_all = ["repair", "remove_chunks"])]
    pub classes: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Repairs may uncover more: what a name that was removed had named has no name then.
const ROUNDS: u32 = 8;

/// A class, for people and programs.
#[derive(Serialize)]
struct Listed {
    class: &'static str,
    meaning: &'static str,
    repair: &'static str,
}

/// Checks. Exit code 6 if damage remains, 1 if not everything could be looked at.
pub fn run(args: FsckArgs, output: Output) -> Outcome {
    if args.classes {
        return list_classes(output);
    }
    let temp = args.temp.clone().unwrap_or_else(std::env::temp_dir);
    let memory = usize::try_from(args.memory.0).unwrap_or(usize::MAX);
    let options = Options { grace: args.grace.0, memory, temp, mirrors: !args.no_mirrors };
    let report = block_on(async {
        let cluster = args.cluster.find()?;
        let ask = Rc::new(Ask::of(&cluster, args.repair).await?);
        let run = Run::new(cluster, args.repair, ask.doing.clone())?;
        let report = run.report_during(work(&ask, &options, args.repair, args.remove_chunks)).await;
        // What it asked for is known; a failing goodbye changes nothing.
        let _ = ask.client.shutdown().await;
        report
    })?;
    show(output, &report, FsckReport::render)?;
    Ok(report.exit())
}

async fn work(
    ask: &Rc<Ask>,
    options: &Options,
    repairs: bool,
    remove_chunks: bool,
) -> Result<FsckReport, crate::exit::Failure> {
    let (mut findings, mut report) = check(ask, options).await?;
    let mut repaired = Vec::new();
    for _ in 0..ROUNDS {
        if !repairs || findings.is_empty() {
            break;
        }
        let (done, kept) = repair(ask, &findings, remove_chunks).await;
        if done.is_empty() {
            report.findings = kept;
            break;
        }
        repaired.extend(done);
        (findings, report) = check(ask, options).await?;
        for found in &mut report.findings {
            let same = kept.iter().find(|kept| kept.class == found.class && kept.object == found.object);
            found.kept = same.and_then(|kept| kept.kept.clone());
        }
    }
    report.repaired = repaired;
    Ok(report)
}

fn list_classes(output: Output) -> Outcome {
    let all: Vec<Listed> = CLASSES
        .iter()
        .map(|class| Listed { class: class.id(), meaning: class.meaning(), repair: class.repair() })
        .collect();
    match output {
        Output::Json | Output::Ndjson => show(output, &all, |_| String::new()),
        Output::Table => {
            let mut table = Table::new(&["CLASS", "WHAT IS WRONG", "WHAT --repair DOES"]);
            all.iter().for_each(|row| table.row([row.class, row.meaning, row.repair].map(str::to_owned)));
            print(&table.render())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANUAL: &str = include_str!("../../../../docs/operating.md");

    #[test]
    fn the_manual_has_every_class() {
        for class in CLASSES {
            let row = format!("| `{}` | {} | {} |", class.id(), class.meaning(), class.repair());
            assert!(MANUAL.contains(&row), "docs/operating.md lacks:\n{row}");
        }
        let rows = MANUAL.lines().filter(|line| line.starts_with("| `") && line.matches('|').count() == 4);
        let classes = rows.filter(|line| CLASSES.iter().any(|class| line.starts_with(&format!("| `{}` ", class.id()))));
        assert_eq!(classes.count(), CLASSES.len(), "each once");
    }
}
