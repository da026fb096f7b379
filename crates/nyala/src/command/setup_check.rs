// SPDX-License-Identifier: Apache-2.0

//! `nyala setup check`: is this host fit for its services, and do the servers of the cluster reach each other? File systems, kernel, clocks and
//! network are looked at; nothing is changed.

use super::setup_check_links::{ClockRow, LinkRow, render_clocks, render_links};
use super::setup_check_speed::SpeedArgs;
use crate::cluster::ClusterArgs;
use crate::exit::{Exit, Outcome};
use crate::host::{self, Gathered, RootArg};
use crate::output::{Output, Table, show};
use nyala_tune::facts::Node;
use nyala_tune::{Area, Finding, Level, check};
use serde::Serialize;
use std::path::PathBuf;

/// Flags of `nyala setup check`.
#[derive(Clone, Debug, clap::Args)]
pub struct SetupCheckArgs {
    /// A further directory for a storage target, beside those of the settings files; may be given several times
    #[arg(long = "target", value_name = "DIR")]
    targets: Vec<PathBuf>,
    /// Exit code 6 for advice, too, and not for dangers alone
    #[arg(long)]
    strict: bool,
    /// Ask no server
    #[arg(long)]
    offline: bool,
    #[command(flatten)]
    speed: SpeedArgs,
    #[command(flatten)]
    root: RootArg,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
struct Report {
    /// What to change; dangers first.
    findings: Vec<Finding>,
    /// What was looked at.
    looked_at: Vec<String>,
    /// What could not be looked at, and why.
    not_looked_at: Vec<String>,
    /// Round trips to servers.
    round_trips: Vec<RoundTrip>,
    /// Ways between servers, one for each address.
    links: Vec<LinkRow>,
    /// Clocks, one for each host.
    clocks: Vec<ClockRow>,
}

#[derive(Clone, Debug, Serialize)]
struct RoundTrip {
    server: String,
    interface: Option<String>,
    micros: u64,
}

/// Looks and judges.
pub fn run(args: &SetupCheckArgs, output: Output) -> Outcome {
    let report = look(args);
    show(output, &report, render)?;
    Ok(exit(&report.findings, args.strict))
}

fn exit(findings: &[Finding], strict: bool) -> Exit {
    let counts = |finding: &Finding| strict || finding.level == Level::Danger;
    if findings.iter().any(counts) { Exit::Degraded } else { Exit::Ok }
}

fn look(args: &SetupCheckArgs) -> Report {
    let cluster = (!args.offline).then(|| (args.cluster.find(), args.speed.test()));
    let Gathered { facts, looked_at, not_looked_at, unreached } =
        host::gather(&args.root.root(), &args.targets, cluster);
    let mut findings = check(&facts);
    findings.extend(unreached.map(|is| management_away(&is)));
    findings.sort_by_key(|finding| (finding.level, finding.area));
    Report {
        findings,
        looked_at,
        not_looked_at,
        round_trips: facts.nodes.into_iter().filter_map(round_trip).collect(),
        links: facts.links.into_iter().map(LinkRow::from).collect(),
        clocks: facts.clocks.into_iter().map(ClockRow::from).collect(),
    }
}

fn management_away(error: &str) -> Finding {
    Finding {
        level: Level::Danger,
        area: Area::Network,
        subject: "management".into(),
        is: error.into(),
        change: "see whether it runs, and what is between it and this host".into(),
        why: "without it no service starts, and no host mounts".into(),
    }
}

fn round_trip(node: Node) -> Option<RoundTrip> {
    Some(RoundTrip { micros: node.round_trip_us?, server: node.name, interface: node.interface })
}

fn render(report: &Report) -> String {
    let mut text = String::new();
    if report.findings.is_empty() {
        text += "Nothing is to be changed.\n";
    } else {
        let mut table = Table::new(&["LEVEL", "WHERE", "IS", "CHANGE"]);
        for finding in &report.findings {
            let level = super::json_name::json_name(&finding.level);
            table.row([level, finding.subject.clone(), finding.is.clone(), finding.change.clone()]);
        }
        text += &table.render();
        text += "\nWhy:\n";
        text += &report
            .findings
            .iter()
            .map(|finding| format!("{}: {}\n", finding.subject, finding.why))
            .collect::<String>();
    }
    if !report.round_trips.is_empty() {
        let mut table = Table::new(&["SERVER", "BY", "ROUND TRIP"]);
        for trip in &report.round_trips {
            let by = trip.interface.clone().unwrap_or_else(|| "-".to_owned());
            table.row([trip.server.clone(), by, format!("{} us", trip.micros)]);
        }
        text += &format!("\n{}", table.render());
    }
    text += &render_links(&report.links);
    text += &render_clocks(&report.clocks);
    text += &format!("\nLooked at: {}\n", report.looked_at.join("; "));
    text += &report.not_looked_at.iter().map(|what| format!("Not looked at: {what}\n")).collect::<String>();
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::Pretended;
    use nyala_transport::Secret;

    fn args(host: &Pretended) -> SetupCheckArgs {
        SetupCheckArgs {
            targets: Vec::new(),
            strict: false,
            offline: true,
            speed: SpeedArgs::default(),
            root: RootArg { root: host.dir.path().to_owned() },
            cluster: ClusterArgs::default(),
        }
    }

    #[test]
    fn what_is_wrong_with_a_host_is_said() {
        let host = Pretended::new();
        let report = look(&args(&host));
        let found = |subject: &str, word: &str| {
            report
                .findings
                .iter()
                .find(|finding| finding.subject == subject && finding.is.contains(word))
                .map(|finding| finding.level)
        };
        assert_eq!(found("/data/meta", "nobarrier"), Some(Level::Danger));
        assert_eq!(found("/data/meta", "access times"), Some(Level::Advice));
        assert_eq!(found("/var/lib/nyala/storage", "root file system"), Some(Level::Advice));
        assert_eq!(found("transparent_hugepage.enabled", "always"), Some(Level::Advice));
        assert_eq!(found("storage.scheduler of md0", "none"), None, "equal ones are one finding");
        assert_eq!(found("storage.scheduler of 3, up to sdb", "none"), Some(Level::Advice));
        assert_eq!(found("vm.swappiness", "60"), Some(Level::Advice));
        assert_eq!(found("eth0", "1500"), Some(Level::Advice));
        assert_eq!(report.findings[0].level, Level::Danger, "dangers come first");
        let text = render(&report);
        assert!(text.contains("danger") && text.contains("Why:\n/data/meta: a sync does not reach the disk"), "{text}");
        assert!(text.contains("Not looked at: servers: --offline"), "{text}");
        assert_eq!(run(&args(&host), Output::Json), Ok(Exit::Degraded));
    }

    #[test]
    fn the_exit_code_tells_dangers_and_advice_apart() {
        let advice = Finding { level: Level::Advice, ..management_away("x") };
        assert_eq!((exit(&[], true), exit(std::slice::from_ref(&advice), false)), (Exit::Ok, Exit::Ok));
        assert_eq!(exit(std::slice::from_ref(&advice), true), Exit::Degraded);
        assert_eq!(exit(&[advice, management_away("x")], false), Exit::Degraded);
    }

    #[test]
    fn a_management_that_does_not_answer_is_a_danger() {
        let host = Pretended::new();
        let secret = host.at("secret");
        Secret::generate(&secret).unwrap();
        // A port that was free a moment ago.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mgmt = format!("127.0.0.1:{port}").parse().unwrap();
        let cluster = ClusterArgs { mgmt: Some(mgmt), secret: Some(secret), ..ClusterArgs::default() };
        let report = look(&SetupCheckArgs { offline: false, cluster, ..args(&host) });
        assert!(
            report.findings.iter().any(|finding| finding.subject == "management" && finding.level == Level::Danger)
        );
    }
}
