// SPDX-License-Identifier: Apache-2.0

//! Processes that hold idle sessions: one process may not have as many files open as ten thousand sessions need.
//!
//! **Failure model.** A process may fail to start, to open its sessions, or die: the benchmark ends with its words. It
//! ends itself when its input does, so that none outlives a benchmark that was killed; none is left when this is dropped.

use super::idle;
use crate::host::Host;
use nyala_client::ClientConfig;
use nyala_wire::map::ClusterMap;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Stdio};

/// Files that a process has open besides.
const SPARE_FILES: u64 = 512;

/// What happened to sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Sessions that were lost.
    pub lost: usize,
    /// Requests that were sent again over another connection.
    pub again: usize,
}

/// Running processes.
pub struct Holders {
    all: Vec<(Child, BufReader<ChildStdout>)>,
}

/// How many sessions a process can hold, each with a connection to every service.
fn most(services: usize) -> Result<usize, String> {
    let limit = getrlimit(Resource::Nofile);
    // why ignored: then it stays at what it is.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let files = getrlimit(Resource::Nofile).current.unwrap_or(1 << 20);
    match files.saturating_sub(SPARE_FILES) as usize / services.max(1) {
        0 => Err(format!("{files} open files are too few for one session; raise `ulimit -n`")),
        sessions => Ok(sessions),
    }
}

impl Holders {
    /// Opens so many sessions in as few processes as can be; returns when all are open.
    pub fn start(host: &Host, flags: &[OsString], sessions: usize, services: usize) -> Result<Holders, String> {
        let (most, mut left) = (most(services)?, sessions);
        let mut holders = Holders { all: Vec::new() };
        while left > 0 {
            let some = left.min(most);
            let mut command = host.command(["bench", "sessions", "--hold", &some.to_string()]);
            command.args(flags);
            let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
            let mut child = child.map_err(|error| format!("cannot start a process for idle sessions: {error}"))?;
            let output = child.stdout.take().ok_or("a process for idle sessions has no output")?;
            holders.all.push((child, BufReader::new(output)));
            left -= some;
        }
        for (_, output) in &mut holders.all {
            let said = line(output)?;
            if said != "open" {
                return Err(format!("idle sessions were not opened: {said}"));
            }
        }
        Ok(holders)
    }

    /// Ends them; what happened to their sessions meanwhile.
    pub fn end(mut self) -> Result<Outcome, String> {
        let mut outcome = Outcome::default();
        for (child, output) in &mut self.all {
            drop(child.stdin.take());
            let said = line(output)?;
            let numbers =
                said.split_once(' ').and_then(|(lost, again)| Some((lost.parse().ok()?, again.parse().ok()?)));
            let (lost, again): (usize, usize) =
                numbers.ok_or_else(|| format!("a process with idle sessions died: {said}"))?;
            outcome = Outcome { lost: outcome.lost + lost, again: outcome.again + again };
        }
        Ok(outcome)
    }
}

impl Drop for Holders {
    fn drop(&mut self) {
        for (child, _) in &mut self.all {
            // why ignored: one that has ended by itself is what is wanted.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn line(output: &mut BufReader<ChildStdout>) -> Result<String, String> {
    let mut line = String::new();
    output.read_line(&mut line).map_err(|error| format!("a process with idle sessions: {error}"))?;
    Ok(line.trim().to_owned())
}

/// What such a process does: opens, says so, waits for the end of its input, says how many were lost, and how many requests were sent again.
pub async fn hold(config: &ClientConfig, map: &ClusterMap, count: usize) -> Result<(), String> {
    most(1)?;
    let say = |text: String| {
        let mut out = std::io::stdout();
        writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|error| error.to_string())
    };
    let sessions = idle::open(config, map, count).await?;
    say("open".to_owned())?;
    let waited = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await;
    waited.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    say(format!("{} {}", sessions.lost(), sessions.again()))
}
