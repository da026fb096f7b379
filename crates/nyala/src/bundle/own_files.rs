// SPDX-License-Identifier: Apache-2.0

//! What a bundle takes of the settings and logs of this host, and which secrets of it must not leave. Failure model: see the parent module.

use super::archive::Archive;
use super::files::{self, OwnFiles};
use super::scrub::Scrub;
use super::settings;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The secrets of this host, and the files whose secrets are too short.
pub fn gate(files: &OwnFiles) -> (Scrub, Vec<PathBuf>) {
    let text = |path: &PathBuf| files::whole(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let named = files.settings.iter().filter_map(|path| text(path).ok()).flat_map(|text| settings::secret_files(&text));
    let mut paths: Vec<PathBuf> = files.secrets.iter().cloned().chain(named.map(PathBuf::from)).collect();
    paths.sort();
    paths.dedup();
    let mut scrub = Scrub::default();
    // What cannot be read here cannot have been written down by this command either.
    paths.retain(|path| {
        files::whole(path).is_ok_and(|secret| !secret.trim_ascii().is_empty() && !scrub.hide_file(&secret))
    });
    (scrub, paths)
}

/// Names the secrets that are not taken out.
pub fn add_unhidden<W: Write>(archive: &mut Archive<W>, files: &[PathBuf]) {
    for file in files {
        archive.missing("a gate for secrets", &format!("what {} holds is too short to be looked for", file.display()));
    }
}

/// Adds what may be shown of the settings files.
pub fn add_settings<W: Write>(archive: &mut Archive<W>, files: &OwnFiles) -> std::io::Result<()> {
    for path in &files.settings {
        let name = format!("settings/{}", flat(path));
        match files::whole(path) {
            Ok(bytes) => archive.add(&name, settings::shown(&String::from_utf8_lossy(&bytes)).as_bytes(), None)?,
            Err(error) => archive.missing(&name, &error.to_string()),
        }
    }
    Ok(())
}

/// Adds the newest of each log.
pub fn add_logs<W: Write>(archive: &mut Archive<W>, files: &OwnFiles, most: u64) -> std::io::Result<()> {
    for path in &files.logs {
        let name = format!("logs/{}", flat(path));
        match files::newest(path, most) {
            Ok((bytes, cut)) => archive.add(&name, &bytes, cut)?,
            Err(error) => archive.missing(&name, &error.to_string()),
        }
    }
    if files.journal {
        match files::journal(most) {
            Ok(bytes) => archive.add("logs/journal.txt", &bytes, None)?,
            Err(why) => archive.missing("logs/journal.txt", &why),
        }
    }
    Ok(())
}

/// A path as one name.
fn flat(path: &Path) -> String {
    path.display().to_string().trim_start_matches('/').replace('/', "_")
}
