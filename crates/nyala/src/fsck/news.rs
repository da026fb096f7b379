// SPDX-License-Identifier: Apache-2.0

//! Tells management how far a check is and what came of it, for the page and for the list of orders.
//!
//! **Failure model.** Management may be electing a leader, away, or of an older version that takes no such news: the check goes on without. One that
//! ends without a word is taken to be given up after a minute.

use super::progress::Doing;
use super::report::FsckReport;
use crate::cluster::Cluster;
use crate::exit::Failure;
use nyala_wire::mgmt::{FsckNews, MAX_FSCK_TEXT, MgmtRequest};
use std::time::Duration;
use tokio::time::timeout;

/// Between two pieces of news.
const EVERY: Duration = Duration::from_secs(5);
/// Longest wait for management to take one.
const ANSWER: Duration = Duration::from_secs(3);

/// One run of a check.
pub struct Run {
    cluster: Cluster,
    run: u64,
    repairs: bool,
    doing: Doing,
}

impl Run {
    /// With a random number.
    pub fn new(cluster: Cluster, repairs: bool, doing: Doing) -> Result<Run, Failure> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(|error| Failure::failed(format!("no random numbers: {error}")))?;
        Ok(Run { cluster, run: u64::from_le_bytes(bytes), repairs, doing })
    }

    /// Does the work and tells of it meanwhile.
    pub async fn report_during(
        &self,
        work: impl Future<Output = Result<FsckReport, Failure>>,
    ) -> Result<FsckReport, Failure> {
        // First of all, so that it is written down once: what comes later finds it there.
        self.send(one_line(&self.doing.get().line()), false).await;
        let done = tokio::select! {
            done = work => done,
            never = self.tell() => match never {},
        };
        let outcome = match &done {
            Ok(report) => report.summary(),
            Err(failure) => format!("ended early: {failure}"),
        };
        self.send(one_line(&outcome), true).await;
        done
    }

    async fn tell(&self) -> std::convert::Infallible {
        loop {
            tokio::time::sleep(EVERY).await;
            self.send(one_line(&self.doing.get().line()), false).await;
        }
    }

    async fn send(&self, text: String, over: bool) {
        let (progress, outcome) = if over { (String::new(), Some(text)) } else { (text, None) };
        let news = FsckNews { run: self.run, repairs: self.repairs, progress, outcome };
        match timeout(ANSWER, self.cluster.order(MgmtRequest::Fsck(news))).await {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => tracing::debug!(%failure, "management does not take news of a check"),
            Err(_) => tracing::debug!("management does not answer to news of a check"),
        }
    }
}

/// As much as management takes, on one line.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    for character in text.chars().map(|character| if character.is_control() { ' ' } else { character }) {
        if line.len() + character.len_utf8() > MAX_FSCK_TEXT {
            break;
        }
        line.push(character);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters_and_has_no_line_breaks() {
        assert_eq!(one_line("a\nb\u{1b}c"), "a b c");
        let long = one_line(&"é".repeat(MAX_FSCK_TEXT));
        assert_eq!((long.len(), long.chars().count()), (MAX_FSCK_TEXT, MAX_FSCK_TEXT / 2));
    }
}
