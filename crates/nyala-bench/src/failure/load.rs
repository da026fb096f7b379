// SPDX-License-Identifier: Apache-2.0

//! The load of the failure study, seen from the study: a process of its own ([`super::worker`]).
//!
//! **Failure model.** Who has files of the mount open cannot start a program while the mount stands still: the program's start
//! closes its copies of them, and closing waits for their writes. So the study, which starts services, has none open. A load that
//! ends early is an error; one that is not wanted any more is killed.

use super::figures::{Kind, Sample};
use super::options::Options;
use crate::error::{BenchError, io};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};
use std::time::Instant;

/// What a load says when it begins.
pub const BEGUN: &str = "begun";

/// What a load tells in the end.
#[derive(Serialize, Deserialize)]
pub struct LoadReport {
    pub samples: Vec<Sample>,
    pub errors: Vec<String>,
}

/// A load under way.
pub struct Load {
    began: Instant,
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Load {
    /// Has files laid out, and the load begun.
    pub fn start(options: &Options, directory: &Path, kind: Kind) -> Result<Load, BenchError> {
        let (tasks, bytes) = (options.tasks.to_string(), options.file_bytes.to_string());
        let mut command = options.host.command(["bench", "failure", "--tasks", &tasks, "--file-size", &bytes]);
        if kind == Kind::Names {
            command.arg("--names");
        }
        command.arg("--load");
        let spawned = command.arg(directory).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(io("cannot start the load"))?;
        let said = child.stdout.take().ok_or_else(|| BenchError::failed("the load has no output"))?;
        let (mut said, mut line) = (BufReader::new(said), String::new());
        said.read_line(&mut line).map_err(io("the load"))?;
        if line.trim() != BEGUN {
            // why ignored: it has ended, and said why.
            let _ = child.wait();
            return Err(BenchError::failed("the load did not begin"));
        }
        Ok(Load { began: Instant::now(), child, said })
    }

    /// Seconds since it began.
    pub fn elapsed(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Ends it: all samples by the time of their end, and all errors.
    pub fn stop(mut self) -> Result<(Vec<Sample>, Vec<String>), BenchError> {
        drop(self.child.stdin.take());
        let mut text = String::new();
        self.said.read_to_string(&mut text).map_err(io("the load"))?;
        self.child.wait().map_err(io("the load"))?;
        let told: LoadReport = serde_json::from_str(&text)
            .map_err(|error| BenchError::failed(format!("the load ended early: {error}")))?;
        Ok((told.samples, told.errors))
    }
}

impl Drop for Load {
    /// An error elsewhere: it ends with us, which it would by itself once the mount lets it.
    fn drop(&mut self) {
        // why ignored: it may have ended.
        let _ = self.child.kill();
    }
}
