// SPDX-License-Identifier: Apache-2.0

//! The process that makes a round's files, changes them, and syncs those that it has open when it is told to.
//!
//! Failure model: whoever has files of a mount open cannot start processes while servers are away, since each start closes
//! copies of them, which waits for the servers. So these files are open in a process that starts none, and the test, which
//! has to start the servers again, has none open.

use super::{Change, act, plan};
use crate::cluster::sibling;
use crate::coherence::crew::shuffle;
use nyala_wire::SplitMix64;
use std::io::{BufRead, BufReader, Result, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Makes the files of a seed, says `made`; changes them when told to, says `changed`; when told again, syncs what is still open and
/// says the names of which that worked; holds it until its input ends.
pub fn serve(dir: &Path, elsewhere: &Path, seed: u64, count: usize) -> Result<()> {
    let mut random = SplitMix64::new(seed);
    let files = plan::files(&mut random, count);
    let mut out = std::io::stdout();
    let mut told = std::io::stdin().lock().lines();
    act::make(dir, &files)?;
    out.write_all(b"made\n")?;
    told.next().transpose()?;
    let mut order: Vec<_> = files.iter().collect();
    shuffle(&mut random, &mut order);
    // A sync takes along what others did before, so these come first.
    order.sort_by_key(|file| !matches!(file.change, Change::Sync(_) | Change::SyncElsewhere(_)));
    let mut held = Vec::new();
    for file in order {
        let changed = act::change(dir, elsewhere, file);
        let open = changed.map_err(|error| std::io::Error::other(format!("{:?}: {error}", file.change)))?;
        held.extend(open.map(|open| (open, &file.name)));
    }
    out.write_all(b"changed\n")?;
    if told.next().transpose()?.is_some() {
        let synced = held.iter().filter(|(open, _)| open.sync_all().is_ok()).map(|(_, name)| name.as_str());
        out.write_all(format!("{}\n", synced.collect::<Vec<_>>().join(" ")).as_bytes())?;
        told.next().transpose()?;
    }
    Ok(())
}

/// Such a process, as a test has it; dropping it ends it.
pub struct Maker {
    child: Child,
    said: BufReader<std::process::ChildStdout>,
}

impl Maker {
    /// Starts one; it has made its files when this returns.
    pub fn start(dir: &Path, elsewhere: &Path, seed: u64, count: usize) -> Maker {
        let mut command = Command::new(sibling("nyala-e2e-power"));
        command.arg(dir).arg(elsewhere).arg(seed.to_string()).arg(count.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the maker runs");
        let said = BufReader::new(child.stdout.take().expect("the output was asked for"));
        let mut maker = Maker { child, said };
        maker.says("made");
        maker
    }

    /// Has it change its files.
    pub fn change(&mut self) {
        let told = self.child.stdin.as_mut().map(|input| input.write_all(b"change\n"));
        assert!(told.is_some_and(|told| told.is_ok()), "the maker has ended");
        self.says("changed");
    }

    /// Has it sync what it has open. Gives the names of files of which it was told that all of them is on disk.
    pub fn sync(&mut self) -> Vec<String> {
        let told = self.child.stdin.as_mut().map(|input| input.write_all(b"sync\n"));
        assert!(told.is_some_and(|told| told.is_ok()), "the maker has ended");
        self.line().split_whitespace().map(str::to_owned).collect()
    }

    fn says(&mut self, what: &str) {
        assert_eq!(self.line().trim_end(), what, "what the maker says");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("a pipe can be read");
        line
    }
}

impl Drop for Maker {
    fn drop(&mut self) {
        crate::cleanup::signal(self.child.id() as i32, libc::SIGKILL);
        crate::run::wait(&mut self.child, std::time::Duration::from_secs(10));
    }
}
