// SPDX-License-Identifier: Apache-2.0

//! `nyala plan`: what drives, servers and networks give together. Asks nobody and changes nothing.

use crate::exit::{Failure, Outcome};
use crate::output::{Output, Table, show};
use nyala_plan::published::{DRIVES_TB, Row, table};
use nyala_plan::{Estimate, Limit, Raid, Site};
use serde::Serialize;

/// Flags of `nyala plan`.
#[derive(Clone, Debug, clap::Args)]
pub struct PlanArgs {
    /// Storage servers
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub servers: u32,
    /// Enclosures of drives behind all servers together
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub enclosures: u32,
    /// Drives of an enclosure, without spares
    #[arg(long, value_name = "N", default_value_t = 80)]
    pub drives: u32,
    /// Size of a drive, TB as it is sold
    #[arg(long, value_name = "TB", default_value_t = 16.0)]
    pub drive_size: f64,
    /// Drives of a RAID group that hold data and parity: 8+2; 1+0 for none
    #[arg(long, value_name = "DATA+PARITY", default_value = "8+2")]
    pub raid: Raid,
    /// Copies of each file: 1, or the members of a mirror group
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub copies: u32,
    /// Share of the space that the local file systems take
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    pub overhead: f64,
    /// What an enclosure streams when it is read, GB/s
    #[arg(long, value_name = "GB/S", default_value_t = 6.84)]
    pub enclosure_read: f64,
    /// What an enclosure streams when it is written, GB/s
    #[arg(long, value_name = "GB/S", default_value_t = 5.74)]
    pub enclosure_write: f64,
    /// Network of each storage server, Gbit/s, all ports together
    #[arg(long, value_name = "GBIT/S", default_value_t = 100.0)]
    pub network: f64,
    /// Show the published table of building blocks that the defaults come from
    #[arg(long)]
    pub published: bool,
}

/// What was asked and what came of it.
#[derive(Serialize)]
struct Answer {
    site: Site,
    estimate: Estimate,
}

/// Prints the estimate.
pub fn run(args: PlanArgs, output: Output) -> Outcome {
    if args.published {
        return show(output, &table(), |rows| published(rows));
    }
    let site = Site {
        servers: args.servers,
        enclosures: args.enclosures,
        drives: args.drives,
        drive_tb: args.drive_size,
        raid: args.raid,
        copies: args.copies,
        overhead: args.overhead,
        enclosure_read: args.enclosure_read,
        enclosure_write: args.enclosure_write,
        network_gbit: args.network,
    };
    let estimate = site.estimate().map_err(|error| Failure::usage(error.to_string()))?;
    show(output, &Answer { site, estimate }, |answer| text(&answer.estimate))
}

fn text(estimate: &Estimate) -> String {
    let limit = |limit| match limit {
        Limit::Drives => "the drives",
        Limit::Network => "the servers' network",
    };
    let mut table = Table::new(&["WHAT", "ESTIMATE", "LIMITED BY"]);
    table.row(["raw space".into(), format!("{:.0} TB", estimate.raw_tb), String::new()]);
    table.row(["usable space".into(), format!("{:.0} TiB", estimate.usable_tib), String::new()]);
    table.row(["reading".into(), format!("{:.1} GB/s", estimate.read_gb_s), limit(estimate.read_limit).into()]);
    table.row(["writing".into(), format!("{:.1} GB/s", estimate.write_gb_s), limit(estimate.write_limit).into()]);
    let assumed: String = estimate.assumptions.iter().map(|assumed| format!("- {assumed}\n")).collect();
    format!("{}\nAssumed:\n{assumed}", table.render())
}

fn published(rows: &[Row]) -> String {
    let mut table =
        Table::new(&["SITE", "ARRAYS", "4 TB", "8 TB", "12 TB", "16 TB", "READ", "WRITE", "LASTS", "FIGURES"]);
    for row in rows {
        let mut cells = vec![row.name.to_owned(), row.arrays.to_string()];
        cells.extend(DRIVES_TB.iter().zip(&row.usable_tib).map(|(_, tib)| format!("{tib} TiB")));
        cells.extend([row.read_gb_s, row.write_gb_s, row.sustained_gb_s].map(|rate| format!("{rate:.1} GB/s")));
        cells.push(if row.measured { "measured" } else { "sums" }.to_owned());
        table.row(cells);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_say_what_limits_and_what_is_assumed() {
        let estimate = nyala_plan::published::site(4, 16.0).estimate().unwrap();
        let shown = text(&estimate);
        assert!(shown.contains("3688 TiB") && shown.contains("23.8 GB/s") && shown.contains("network"), "{shown}");
        assert!(shown.contains("Assumed:\n- throughput"), "{shown}");
        let shown = published(&table());
        assert!(
            shown.contains("2x L")
                && shown.contains("7376 TiB")
                && shown.contains("47.4 GB/s")
                && shown.contains("sums"),
            "{shown}"
        );
    }
}
