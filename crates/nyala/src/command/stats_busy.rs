// SPDX-License-Identifier: Apache-2.0

//! `nyala stats file` and `directory`: what services do the most for, in each second of the last half to whole minute, by path.
//!
//! **Failure model.** Services may be away: they are left out, and a warning says so; if none answers that is an error. A host without an
//! operator's key is told that it needs one: names of files are for operators.

use super::stats_looks::{StatsArgs, again, say};
use crate::cluster::Cluster;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, Table};
use clap::ValueEnum;
use nyala_mon::logic::busy::{BusyRow, Measure};
use nyala_mon::{Busy, BusyAsker};
use std::num::NonZeroU8;

/// By what files are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Requests to metadata and storage services
    #[default]
    Requests,
    /// Bytes read from and written to storage services
    Bytes,
}

/// Flags of `nyala stats file`.
#[derive(Clone, Debug, clap::Args)]
pub struct FileArgs {
    /// What counts
    #[arg(long, value_enum, default_value_t)]
    by: By,
    #[command(flatten)]
    busy: DirectoryArgs,
}

/// Flags of `nyala stats directory`.
#[derive(Clone, Debug, clap::Args)]
pub struct DirectoryArgs {
    /// List so many of the busiest
    #[arg(long, value_name = "N", default_value = "20")]
    top: NonZeroU8,
    #[command(flatten)]
    stats: StatsArgs,
}

/// Shows files.
pub(super) async fn files(args: FileArgs, output: Output) -> Outcome {
    let by = match args.by {
        By::Requests => Measure::Requests,
        By::Bytes => Measure::Bytes,
    };
    looks(&args.busy, by, |busy| say(|| file_table(&busy.files), &busy.files, output)).await
}

/// Shows directories.
pub(super) async fn directories(args: DirectoryArgs, output: Output) -> Outcome {
    let show = |busy: &Busy| say(|| directory_table(&busy.directories), &busy.directories, output);
    looks(&args, Measure::Requests, show).await
}

async fn looks(args: &DirectoryArgs, by: Measure, mut show: impl FnMut(&Busy) -> Outcome) -> Outcome {
    let mut asker: Option<BusyAsker> = None;
    let top = usize::from(args.top.get());
    again(&args.stats, async |cluster: &Cluster| {
        let map = cluster.map().await?;
        let asker = asker.get_or_insert_with(|| BusyAsker::new(cluster.handshake()));
        let busy = asker.ask(&map, by, top).await;
        if let Some((name, why)) = busy.silent.first().filter(|_| busy.asked == busy.silent.len()) {
            return Err(Failure::failed(format!("no service says what is busy; {name}: {why}")));
        }
        for (name, why) in &busy.silent {
            tracing::warn!(service = name, why, "the service does not say what is busy");
        }
        show(&busy)
    })
    .await
}

fn number(value: f64) -> String {
    format!("{value:.1}")
}

/// A path, or what is known of the inode instead.
fn path_text(row: &BusyRow) -> String {
    row.path.as_ref().map_or_else(|| format!("inode {}", row.inode), |path| path.escape_debug().to_string())
}

fn file_table(rows: &[BusyRow]) -> String {
    let mut table = Table::new(&["FILE", "REQUESTS", "CHANGES", "READ_BYTES", "WRITTEN_BYTES"]);
    for row in rows {
        let (read, written) = (format!("{:.0}", row.read_bytes), format!("{:.0}", row.written_bytes));
        table.row([path_text(row), number(row.requests), number(row.changes), read, written]);
    }
    table.render()
}

fn directory_table(rows: &[BusyRow]) -> String {
    let mut table = Table::new(&["DIRECTORY", "REQUESTS", "CHANGES"]);
    rows.iter().for_each(|row| table.row([path_text(row), number(row.requests), number(row.changes)]));
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::InodeId;

    #[test]
    fn paths_and_inodes_without_one_have_lines_and_no_terminal_is_written_to_by_names() {
        let row = |path: Option<&str>| BusyRow {
            inode: InodeId(0x0005_0000_0000_002a),
            path: path.map(str::to_owned),
            requests: 12.25,
            changes: 3.0,
            read_bytes: 4096.0,
            written_bytes: 0.0,
        };
        let rows = [row(Some("/data/a b")), row(None), row(Some("/x\x1b[2J"))];
        let text = file_table(&rows);
        let has = |words: &str| text.lines().any(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") == words);
        assert!(has("/data/a b 12.2 3.0 4096 0") && has("inode 0005-00000000002a 12.2 3.0 4096 0"), "{text}");
        assert!(!text.contains('\x1b') && text.contains("\\u{1b}"), "{text}");
        assert!(directory_table(&rows).contains("/data/a b"));
    }
}
