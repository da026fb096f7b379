// SPDX-License-Identifier: Apache-2.0

//! Results of commits, and the comparison with the last one.
//!
//! **Failure model.** A stored result may be missing, cut, or of another version of this program: there is nothing to
//! compare with then, which is said and ends nothing. Writing a result fails with its path.

use super::scores::Score;
use crate::error::{BenchError, io};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Runs on a shared machine differ by so much without a reason.
pub(crate) const NOISE: f64 = 1.3;

/// What is read of a stored result.
#[derive(Debug, Deserialize)]
struct Stored {
    name: String,
    scores: Vec<Score>,
}

/// The last result in a directory: its name and scores; why there is none.
pub fn last(dir: &Path) -> Result<(String, Vec<Score>), String> {
    let listed = std::fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut files: Vec<PathBuf> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    let file = files.iter().max().ok_or_else(|| format!("{} holds no results yet", dir.display()))?;
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let stored: Stored = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok((stored.name, stored.scores))
}

/// Fills in what the figures were, and whether they became worse by more than chance.
pub fn compare(scores: &mut [Score], before: &[Score]) {
    for score in scores {
        let same = |other: &&Score| other.aim.what == score.aim.what && other.aim.unit == score.aim.unit;
        let Some(old) = before.iter().find(same) else { continue };
        score.before = old.aim.value;
        score.worse = match (score.aim.miss(), old.aim.miss()) {
            (Some(now), Some(then)) => now > then * NOISE,
            // What could be measured and cannot any more.
            (None, Some(_)) => true,
            (_, None) => false,
        };
    }
}

/// Writes a file of a result.
pub fn store(dir: &Path, name: &str, extension: &str, text: &str) -> Result<PathBuf, BenchError> {
    let file = dir.join(format!("{name}.{extension}"));
    let written = std::fs::create_dir_all(dir).and_then(|()| std::fs::write(&file, text));
    written.map_err(io(format!("cannot write {}", file.display())))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::aim::{at_least, at_most};

    fn scores(create: Option<f64>, stream: Option<f64>) -> Vec<Score> {
        let aims = vec![at_most("create", create, 25.0, "µs"), at_least("stream", stream, 70.0, "%")];
        aims.into_iter().map(Score::new).collect()
    }

    fn worse(now: &[Score], before: &[Score]) -> Vec<bool> {
        let mut now = now.to_vec();
        compare(&mut now, before);
        now.iter().map(|score| score.worse).collect()
    }

    #[test]
    fn a_regression_is_told_from_noise_in_both_directions() {
        let before = scores(Some(20.0), Some(100.0));
        assert_eq!(worse(&scores(Some(25.0), Some(80.0)), &before), [false, false]);
        assert_eq!(worse(&scores(Some(27.0), Some(70.0)), &before), [true, true]);
        assert_eq!(worse(&scores(Some(2.0), Some(700.0)), &before), [false, false]);
        assert_eq!(worse(&scores(None, Some(100.0)), &before), [true, false], "not measured any more");
        assert_eq!(worse(&before, &scores(None, None)), [false, false], "new");
    }

    #[test]
    fn the_last_result_is_found_by_its_name() {
        let dir = tempfile::tempdir().unwrap();
        assert!(last(dir.path()).unwrap_err().contains("no results yet"));
        for (name, value) in [("2026-11-21-2", 2.0), ("2026-11-21-1", 1.0)] {
            let result = serde_json::json!({ "name": name, "scores": scores(Some(value), None), "other": 1 });
            store(dir.path(), name, "json", &result.to_string()).unwrap();
        }
        store(dir.path(), "2026-11-22-0", "svg", "<svg/>").unwrap();
        let (name, found) = last(dir.path()).unwrap();
        assert_eq!((name.as_str(), found[0].aim.value), ("2026-11-21-2", Some(2.0)));
        store(dir.path(), "2026-11-23", "json", "{").unwrap();
        assert!(last(dir.path()).unwrap_err().contains("2026-11-23.json"));
        assert!(last(&dir.path().join("none")).is_err());
    }
}
