// SPDX-License-Identifier: Apache-2.0

//! Every table and progress bar at a terminal of 80 columns, next to `docs/recordings`. Rows differ each time and are not compared; that
//! they fit, the headings and their order are. `UPDATE_RECORDINGS=1` writes the recordings anew.

use nyala_e2e::cluster::text;
use nyala_e2e::terminal::{COLUMNS, Seen, run};
use nyala_e2e::{Cluster, binary};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);
const TABLES: &[&str] = &[
    "nyala status",
    "nyala node list",
    "nyala target list",
    "nyala target list --state",
    "nyala pool list",
    "nyala pool show default",
    "nyala mirror list",
    "nyala mirror check",
    "nyala mirror resync stats --all",
    "nyala mgmt list",
    "nyala meta list",
    "nyala secret list --file ../cluster/secret",
    "nyala key list",
    "nyala access list",
    "nyala audit --last 5",
    "nyala health check",
    "nyala health df",
    "nyala health net",
    "nyala stats server",
    "nyala stats client",
    "nyala stats user",
    "nyala trace plain",
    "nyala entry info wide wide/own plain/deep/deeper/mirrored",
    "nyala entry set --num-targets 2 wide",
    "nyala entry find --type file",
    "nyala scrub",
    "nyala scrub status",
    "nyala raid show",
    "nyala fsck --no-mirrors --grace 1s",
    "nyala fsck --classes",
    "nyala setup check",
    "nyala tune show",
    "nyala plan --published",
    "nyala plan --enclosures 4 --copies 2",
];

/// A command, typed in the mount's directory.
fn typed(cluster: &Cluster, line: &str) -> Seen {
    let mut words = line.split(' ');
    assert_eq!(words.next(), Some("nyala"));
    let mut command = Command::new(binary::nyala());
    run(command.args(words).current_dir(cluster.mount()).env("NYALA_DIR", cluster.dir()), LIMIT)
}

fn file(name: &str) -> PathBuf {
    binary::repository().join("docs/recordings").join(name)
}

/// The headings of tables: lines over a rule for each column. Rows hang on what was done, and when, and how long names and figures are.
fn headings(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let is_rule = |line: &str| !line.is_empty() && line.chars().all(|c| matches!(c, '=' | ' '));
    let over = lines.windows(2).filter(|pair| is_rule(pair[1]));
    over.map(|pair| pair[0].split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Commands and what they showed, as a recording has them.
fn parts(recording: &str) -> Vec<(&str, &str)> {
    let parts = recording.split("$ nyala").skip(1).map(|part| part.split_once('\n').unwrap_or((part, "")));
    parts.collect()
}

/// Compares a recording with what is seen now, or writes it.
fn compare(cluster: &Cluster, name: &str, seen: &[(&str, String)]) {
    let root = text(cluster.root());
    let recording: String = seen.iter().map(|(line, text)| format!("$ {line}\n{text}\n")).collect();
    let recording = recording.replace(&root, "/srv");
    if std::env::var_os("UPDATE_RECORDINGS").is_some() {
        fs::write(file(name), &recording).unwrap();
        return;
    }
    let stored = fs::read_to_string(file(name)).unwrap();
    let (stored, now) = (parts(&stored), parts(&recording));
    let lines = |parts: &[(&str, &str)]| parts.iter().map(|(line, _)| line.to_string()).collect::<Vec<_>>();
    assert_eq!(lines(&stored), lines(&now), "UPDATE_RECORDINGS=1 writes docs/recordings/{name}");
    for ((line, before), (_, after)) in stored.iter().zip(&now) {
        let (was, is) = (headings(before), headings(after));
        assert_eq!(was, is, "nyala{line}: not as in docs/recordings/{name}, but:\n{after}");
    }
}

/// All tables fit, and are as recorded.
pub fn tables(cluster: &Cluster) {
    let order = |line: &str| {
        let seen = typed(cluster, line);
        assert_eq!(seen.code, Some(0), "{line}: {seen:?}");
    };
    order("nyala access set * --from 2001:db8:1234:5678::/64 --root /wide --read-only --squash all --yes");
    let mut seen = Vec::new();
    for line in TABLES {
        let shown = typed(cluster, line);
        assert!(shown.code.is_some_and(|code| matches!(code, 0 | 6)), "{line}: {shown:?}");
        fits(line, &shown.text);
        seen.push((*line, shown.text));
    }
    // Also while a rule looks at the addresses of clients.
    let checked = seen.iter().find(|(line, _)| line.ends_with("setup check"));
    assert!(checked.is_some_and(|(_, text)| text.contains(": 20 of 20 are reached")), "{checked:?}");
    compare(cluster, "tables.txt", &seen);
    order("nyala access delete * --from 2001:db8:1234:5678::/64 --yes");
}

/// Rows of tables, which have gaps between their columns, are no wider; sentences below them are broken by the terminal.
#[track_caller]
fn fits(line: &str, text: &str) {
    let mut rows = text.lines().filter(|line| line.trim_start().contains("  ") || line.contains("] "));
    let wide = rows.find(|line| line.chars().count() > usize::from(COLUMNS));
    assert!(wide.is_none(), "{line}: wider than the terminal: {wide:?}");
}

/// Commands that last longer than two seconds say how far they are, and what is left, in one line.
pub fn progress(cluster: &Cluster) {
    let mut seen = Vec::new();
    // At a rate, or with a time for each phase, so that they last on any machine.
    for (line, label) in [
        ("nyala scrub --rate 1m --no-repair", "scrub: "),
        ("nyala mirror check --rate 1m", "mirror check: "),
        ("nyala bench floor --tasks 1 --size 2m --random 9000000 --seconds 1 --rounds 2", "bench floor: "),
    ] {
        let shown = typed(cluster, line);
        assert!(shown.code.is_some_and(|code| matches!(code, 0 | 6)), "{line}: {shown:?}");
        shown.drawn.iter().for_each(|drawn| fits(line, drawn));
        let last = shown.drawn.iter().rev().find(|drawn| drawn.contains(label));
        let last = last.unwrap_or_else(|| panic!("{line}: {label:?} was not seen: {shown:?}"));
        // A bar gives way where figures are long; what is left is always said.
        assert!(last.contains("] ") || last.ends_with(" left"), "{line}: {last}");
        assert!(last.contains("/s"), "no rate: {last}");
        seen.push((line, format!("{}\n", steady(last))));
    }
    compare(cluster, "progress.txt", &seen);
}

/// A drawn line without what moves: the spinner, and how much of the bar is full.
fn steady(line: &str) -> String {
    let moves = |c: char| ('\u{2800}'..='\u{28ff}').contains(&c) || matches!(c, '\u{2588}' | '\u{2591}');
    let line: String = line.chars().map(|c| if moves(c) { '-' } else { c }).collect();
    line.trim_end().to_owned()
}
