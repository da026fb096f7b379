// SPDX-License-Identifier: Apache-2.0

//! Changing the kernel's files, and back.

use super::state::State;
use crate::exit::Failure;
use crate::host::Root;
use nyala_tune::facts::KernelFile;
use nyala_tune::{Verdict, chosen, judge};
use serde::Serialize;

/// A file that is to be changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// From the root.
    pub file: String,
    /// What it says now.
    pub from: String,
    /// What it is to say.
    pub to: String,
    /// Something that should be known about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Done {
    /// What was to be changed.
    #[serde(flatten)]
    pub change: Change,
    /// Why it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What settings would change.
pub fn changes(files: &[KernelFile]) -> Vec<Change> {
    let change = |file: &KernelFile| match judge(&file.item, &file.texts) {
        Verdict::Write { value } => {
            let from = file.texts.own.as_deref().map(chosen).unwrap_or_default().to_owned();
            Some(Change { file: file.item.file(), from, to: value, note: None })
        }
        Verdict::Same | Verdict::Skip { .. } => None,
    };
    files.iter().filter_map(change).collect()
}

/// Changes files, after what they say is kept.
pub fn apply(root: &Root, files: &[KernelFile]) -> Result<Vec<Done>, Failure> {
    let _locked = State::lock(root)?;
    let changes = changes(files);
    let before = State::load(root)?;
    let mut state = before.clone();
    changes.iter().for_each(|change| state.remember(&change.file, &change.from, &change.to));
    if !changes.is_empty() {
        state.store(root)?;
    }
    let done: Vec<Done> = changes.into_iter().map(|change| perform(root, change)).collect();
    // What was refused has not changed, and is nothing to bring back.
    let failed = |file: &str| done.iter().any(|done| done.change.file == file && done.error.is_some());
    let known = |file: &str| before.saved.iter().any(|saved| saved.file == file);
    state.saved.retain(|saved| known(&saved.file) || !failed(&saved.file));
    state.store(root)?;
    Ok(done)
}

/// What would be brought back: what was changed last comes first.
pub fn reverts(root: &Root) -> Result<Vec<Change>, Failure> {
    let change = |saved: &super::state::Before| {
        let now = root.text(&saved.file);
        let from = now.as_deref().map(chosen).unwrap_or_default().to_owned();
        let note = match now {
            None => Some("it is gone".to_owned()),
            Some(_) if from != saved.set && from != saved.before => {
                Some(format!("somebody changed it since it was set to {}", saved.set))
            }
            Some(_) => None,
        };
        Change { file: saved.file.clone(), from, to: saved.before.clone(), note }
    };
    Ok(State::load(root)?.saved.iter().rev().map(change).collect())
}

/// Brings back what files said before; what cannot be brought back stays in the state, unless its file is gone.
pub fn revert(root: &Root) -> Result<Vec<Done>, Failure> {
    let _locked = State::lock(root)?;
    let done: Vec<Done> = reverts(root)?.into_iter().map(|change| perform(root, change)).collect();
    let mut state = State::load(root)?;
    let failed = |file: &str| done.iter().any(|done| done.change.file == file && done.error.is_some());
    state.saved.retain(|saved| failed(&saved.file) && root.path(&saved.file).exists());
    state.store(root)?;
    Ok(done)
}

fn perform(root: &Root, change: Change) -> Done {
    let written = root.write(&change.file, &change.to);
    let now = root.text(&change.file);
    let error = match (written, now.as_deref().map(chosen)) {
        (Err(error), _) => Some(error.to_string()),
        (Ok(()), Some(now)) if now == change.to => None,
        (Ok(()), Some(now)) => Some(format!("the kernel took {now} instead")),
        (Ok(()), None) => Some("it cannot be read again".to_owned()),
    };
    Done { change, error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::Pretended;
    use crate::host::{directories, hardware, kernel_files};
    use std::os::unix::fs::PermissionsExt;

    fn files(host: &Pretended) -> Vec<KernelFile> {
        kernel_files(&host.root, &hardware(&host.root, &directories(&host.root, &[])))
    }

    const ENABLED: &str = "sys/kernel/mm/transparent_hugepage/enabled";
    const RATIO: &str = "proc/sys/vm/dirty_background_ratio";
    const REQUESTS: &str = "sys/block/sda/queue/nr_requests";

    #[test]
    fn what_is_set_is_brought_back_exactly() {
        let host = Pretended::new();
        let planned = changes(&files(&host));
        assert!(planned.iter().any(|change| change.file == ENABLED && change.from == "always" && change.to == "never"));
        assert_eq!(host.says(ENABLED), "[always] madvise never", "planning changes nothing");
        let all: Vec<(String, String)> =
            planned.iter().map(|change| (change.file.clone(), change.from.clone())).collect();
        let done = apply(&host.root, &files(&host)).unwrap();
        assert!(done.len() == all.len() && done.iter().all(|done| done.error.is_none()), "{done:?}");
        assert_eq!((host.says(ENABLED).as_str(), host.says(RATIO).as_str()), ("never", "5"));
        assert_eq!(
            (host.says(REQUESTS).as_str(), host.says("sys/block/nvme0n1/queue/nr_requests").as_str()),
            ("2048", "128")
        );
        assert_eq!(host.says("sys/block/md0/queue/max_sectors_kb"), "128", "as much as the device takes");
        assert_eq!(
            (host.says("proc/sys/vm/dirty_ratio").as_str(), host.says("proc/sys/vm/zone_reclaim_mode").as_str()),
            ("0", "0")
        );
        // A second time, with something that was changed in between: what was there first counts.
        host.write(RATIO, "7\n");
        assert_eq!(apply(&host.root, &files(&host)).unwrap().len(), 1);
        host.write(RATIO, "9\n");
        let back = reverts(&host.root).unwrap();
        let ratio = back.iter().find(|change| change.file == RATIO).unwrap();
        assert!(ratio.to == "10" && ratio.note.as_deref().is_some_and(|note| note.contains("somebody")), "{ratio:?}");
        let done = revert(&host.root).unwrap();
        assert!(done.iter().all(|done| done.error.is_none()), "{done:?}");
        all.iter().for_each(|(file, before)| assert_eq!(host.says(file), *before, "{file}"));
        assert_eq!(revert(&host.root).unwrap(), [], "nothing is left to bring back");
        assert!(!host.at("var/lib/nyala/tune.json").exists());
    }

    #[test]
    fn a_file_that_is_refused_is_named_and_the_others_are_set() {
        let host = Pretended::new();
        let refusing = host.at("sys/block/sda/queue/nr_requests");
        std::fs::remove_file(&refusing).unwrap();
        // A directory cannot be opened for writing; like a device that takes no such value.
        let mut all = files(&host);
        let wanted = all.iter_mut().find(|file| file.item.file() == REQUESTS).unwrap();
        wanted.texts.own = Some("256\n".into());
        std::fs::create_dir(&refusing).unwrap();
        let done = apply(&host.root, &all).unwrap();
        let failed: Vec<&str> =
            done.iter().filter(|done| done.error.is_some()).map(|done| done.change.file.as_str()).collect();
        assert_eq!(failed, [REQUESTS]);
        assert_eq!(host.says(RATIO), "5");
        let back = reverts(&host.root).unwrap();
        assert!(
            back.len() + 1 == done.len() && back.iter().all(|change| change.file != REQUESTS),
            "it has not changed"
        );
    }

    #[test]
    fn everything_is_kept_before_the_first_change() {
        let host = Pretended::new();
        let state = host.at("var/lib/nyala");
        std::fs::create_dir_all(&state).unwrap();
        // A state that cannot be kept (its name is a directory's): nothing is changed.
        std::fs::create_dir_all(state.join("tune.json/x")).unwrap();
        assert!(apply(&host.root, &files(&host)).is_err());
        assert_eq!((host.says(RATIO).as_str(), host.says(ENABLED).as_str()), ("10", "[always] madvise never"));
        std::fs::remove_dir_all(state.join("tune.json")).unwrap();
        std::fs::create_dir_all(state.join("tune.new/x")).unwrap();
        assert!(apply(&host.root, &files(&host)).is_err(), "it cannot be written");
        assert_eq!(host.says(RATIO), "10");
        std::fs::remove_dir_all(state.join("tune.new")).unwrap();
        apply(&host.root, &files(&host)).unwrap();
        // Another boot has the kernel's values: nothing is brought back.
        host.write("proc/sys/kernel/random/boot_id", "b2\n");
        assert_eq!(reverts(&host.root).unwrap(), []);
        assert!(std::fs::metadata(state.join("tune.json")).unwrap().permissions().mode() & 0o022 == 0);
    }
}
