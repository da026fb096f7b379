// SPDX-License-Identifier: Apache-2.0

//! Compares what a mount shows with what may be there.

use super::model::{File, Seen, judge};
use std::fs;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

/// How long everything of a round may take to be read, with the time that a cluster needs to find itself again.
const LIMIT: Duration = Duration::from_secs(60);

/// Everything that a directory names and shows. An error if it does not come to an end.
pub fn see(dir: &Path) -> Result<Seen, String> {
    let (tell, told) = channel();
    let dir = dir.to_owned();
    let at = dir.display().to_string();
    // What hangs, hangs there: whoever takes the cluster away ends it.
    std::thread::spawn(move || tell.send(read_all(&dir)));
    let all = told.recv_timeout(LIMIT).map_err(|_| format!("{at} cannot be read in {LIMIT:?}"))?;
    all.map_err(|error| format!("{at} cannot be listed: {error}"))
}

fn read_all(dir: &Path) -> std::io::Result<Seen> {
    let mut seen = Seen::new();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let content = fs::read(dir.join(&name)).map_err(|error| error.raw_os_error().unwrap_or(0));
        seen.insert(name, content);
    }
    Ok(seen)
}

/// What is wrong in a directory: names that nobody made, and files that are not what they may be.
pub fn wrong(files: &[File], seen: &Seen) -> Vec<String> {
    let known = |name: &String| {
        let plain = name.trim_end_matches(".new").trim_end_matches(".moved");
        files.iter().any(|file| file.name == plain)
    };
    let strangers = seen.keys().filter(|name| !known(name)).map(|name| format!("{name} is there and nobody made it"));
    strangers.chain(files.iter().filter_map(|file| judge(file, seen))).collect()
}
