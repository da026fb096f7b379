// SPDX-License-Identifier: Apache-2.0

//! Settings and logs of this host: where they are, and the newest of what stands in them.
//!
//! **Failure model.** Files may be missing, huge, unreadable, or grow while they are read: each is read up to its bound, and what cannot be read is
//! named. journald may hang or say nothing: it is waited for a few seconds.

use crate::up::ClusterDir;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Longest settings file and longest file with a secret, bytes.
const LONGEST_SETTINGS: u64 = 1 << 20;
/// Longest wait for journald.
const JOURNAL: Duration = Duration::from_secs(10);

/// Files of one kind that a cluster of `nyala up`, or the services of a host, have.
pub struct OwnFiles {
    /// Settings files.
    pub settings: Vec<PathBuf>,
    /// Log files.
    pub logs: Vec<PathBuf>,
    /// Whether services log to journald.
    pub journal: bool,
    /// Further files with something secret in them.
    pub secrets: Vec<PathBuf>,
}

impl OwnFiles {
    /// Of a cluster of `nyala up`.
    pub fn of_cluster_dir(cluster_dir: &ClusterDir) -> OwnFiles {
        let mut secrets = vec![cluster_dir.secret()];
        secrets.extend(tokens(&children(cluster_dir.dir())));
        let (settings, logs) = (
            with_extension(&cluster_dir.dir().join("conf"), "toml"),
            with_extension(&cluster_dir.dir().join("log"), "log"),
        );
        OwnFiles { settings, logs, journal: false, secrets }
    }

    /// Of the services of this host; `root` is `/` except in tests.
    pub fn of_host(root: &Path) -> OwnFiles {
        let etc = root.join("etc/nyala");
        let instances = children(&etc).into_iter().filter(|path| path.extension().is_some_and(|end| end == "d"));
        let mut settings = with_extension(&etc, "toml");
        settings.extend(instances.flat_map(|dir| with_extension(&dir, "toml")));
        let mut secrets = vec![etc.join("secret")];
        secrets.extend(tokens(&children(&root.join("var/lib/nyala"))));
        OwnFiles {
            settings,
            logs: with_extension(&root.join("var/log/nyala"), "log"),
            journal: root == Path::new("/"),
            secrets,
        }
    }
}

/// The tokens of the REST API and the page, which a management service keeps in its directory.
fn tokens(dirs: &[PathBuf]) -> Vec<PathBuf> {
    dirs.iter().flat_map(|dir| ["rest.token", "view.token", "rest.key"].map(|name| dir.join(name))).collect()
}

fn children(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn with_extension(dir: &Path, end: &str) -> Vec<PathBuf> {
    children(dir).into_iter().filter(|path| path.extension().is_some_and(|found| found == end)).collect()
}

/// A short file, whole.
pub fn whole(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LONGEST_SETTINGS + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST_SETTINGS {
        return Err(io::Error::other("it is longer than 1 MiB"));
    }
    Ok(bytes)
}

/// The last lines of a file, at most so many bytes, and what was left out.
pub fn newest(path: &Path, most: u64) -> io::Result<(Vec<u8>, Option<String>)> {
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    let from = len.saturating_sub(most);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    if from == 0 {
        return Ok((bytes, None));
    }
    // The first line is not whole.
    let begin = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
    let cut = format!("the first {} of {len} bytes are left out", from + begin as u64);
    Ok((bytes.split_off(begin), Some(cut)))
}

/// What journald has of our units, the newest first, at most so many bytes.
pub fn journal(most: u64) -> Result<Vec<u8>, String> {
    let mut command = Command::new("journalctl");
    command.args(["--no-pager", "--quiet", "--reverse", "--output=short-iso", "--unit=nyala*"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.map_err(|error| format!("journalctl: {error}"))?;
    let out = child.stdout.take().ok_or("journalctl has no output")?;
    let (read, done) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let outcome = out.take(most).read_to_end(&mut bytes);
        // Whoever waited may have given up.
        let _ = read.send(outcome.map(|_| bytes));
    });
    let outcome = done.recv_timeout(JOURNAL);
    // It may have ended by itself; waited for, it leaves no process behind.
    let _ = child.kill();
    let _ = child.wait();
    let mut bytes = outcome.map_err(|_| "journalctl does not end")?.map_err(|error| format!("journalctl: {error}"))?;
    if bytes.len() as u64 == most {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        bytes.truncate(whole);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_log_the_newest_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.log");
        std::fs::write(&path, "first line\nsecond\nthird\n").unwrap();
        assert_eq!(newest(&path, 100).unwrap(), (b"first line\nsecond\nthird\n".to_vec(), None));
        let (bytes, cut) = newest(&path, 15).unwrap();
        assert_eq!(
            (bytes.as_slice(), cut.unwrap().as_str()),
            (b"second\nthird\n".as_slice(), "the first 11 of 24 bytes are left out")
        );
        assert_eq!(newest(&path, 3).unwrap().0, b"");
        std::fs::write(&path, vec![b'#'; 2 << 20]).unwrap();
        assert!(whole(&path).unwrap_err().to_string().contains("longer"));
    }

    #[test]
    fn settings_logs_and_secrets_of_a_host_are_found() {
        let root = tempfile::tempdir().unwrap();
        let names =
            ["etc/nyala/meta.toml", "etc/nyala/inst1.d/storage.toml", "etc/nyala/notes.txt", "var/log/nyala/m.log"];
        for name in names.into_iter().chain(["var/lib/nyala/mgmtd/rest.token"]) {
            std::fs::create_dir_all(root.path().join(name).parent().unwrap()).unwrap();
            std::fs::write(root.path().join(name), "x").unwrap();
        }
        let files = OwnFiles::of_host(root.path());
        let below = |path: &PathBuf| path.strip_prefix(root.path()).unwrap().display().to_string();
        assert_eq!(files.settings.iter().map(below).collect::<Vec<_>>(), [names[0], names[1]]);
        assert_eq!(files.logs.iter().map(below).collect::<Vec<_>>(), [names[3]]);
        let secrets: Vec<String> = files.secrets.iter().map(below).collect();
        assert!(secrets.contains(&"var/lib/nyala/mgmtd/rest.token".to_owned()) && !files.journal, "{secrets:?}");
    }
}
