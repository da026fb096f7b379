// SPDX-License-Identifier: Apache-2.0

//! Changing the kernel's files, and back.

use super::state;
use crate::exit::Failure;
use crate::host::{Root, kernel_file};
use nyala_tune::facts::KernelFile;
use nyala_tune::saved::Before;
use nyala_tune::{Item, Verdict, chosen, judge};
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
    /// What guides say and which rule settled it, or what else should be known about it.
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
            // Never silently: who sets it sees whether guides contradict each other.
            let note = format!("{} ({})", file.item.decision.rule.text(), file.item.setting.sayings());
            Some(Change { file: file.item.file(), from, to: value, note: Some(note) })
        }
        Verdict::Same | Verdict::Skip { .. } => None,
    };
    files.iter().filter_map(change).collect()
}

/// Where the kernel's files are read and written. A write may change other files: a queue that gets another scheduler gets that
/// scheduler's own length.
pub trait Kernel {
    /// What a file says.
    fn text(&self, file: &str) -> Option<String>;
    /// Writes a value.
    fn write(&self, file: &str, value: &str) -> std::io::Result<()>;
}

impl Kernel for Root {
    fn text(&self, file: &str) -> Option<String> {
        Root::text(self, file)
    }

    fn write(&self, file: &str, value: &str) -> std::io::Result<()> {
        Root::write(self, file, value)
    }
}

/// What a file says as its value.
fn value(kernel: &dyn Kernel, file: &str) -> Option<String> {
    kernel.text(file).as_deref().map(chosen).map(str::to_owned)
}

/// Changes files, after what all of them say is kept: also of those that say the right thing already, since writing another may change them.
pub fn apply(root: &Root, kernel: &dyn Kernel, items: &[Item]) -> Result<Vec<Done>, Failure> {
    let _locked = state::lock(root)?;
    let files: Vec<KernelFile> = items.iter().map(|item| kernel_file(&|file| kernel.text(file), item)).collect();
    if changes(&files).is_empty() {
        return Ok(Vec::new());
    }
    let mut saved = state::load(root)?;
    for file in &files {
        let set = match judge(&file.item, &file.texts) {
            Verdict::Skip { .. } => continue,
            Verdict::Write { value } => value,
            Verdict::Same => file.texts.own.as_deref().map(chosen).unwrap_or_default().to_owned(),
        };
        let before = file.texts.own.as_deref().map(chosen).unwrap_or_default();
        saved.remember(&file.item.file(), before, &set);
    }
    state::store(&saved, root)?;
    // Each is looked at again when its turn comes.
    let now = |item: &Item| changes(&[kernel_file(&|file| kernel.text(file), item)]).pop();
    Ok(items.iter().filter_map(|item| now(item).map(|change| perform(kernel, change))).collect())
}

/// What would be brought back, in the order in which it was set: a scheduler before what it limits.
pub fn reverts(root: &Root, kernel: &dyn Kernel) -> Result<Vec<Change>, Failure> {
    Ok(state::load(root)?.files.iter().filter_map(|saved| back(kernel, saved)).collect())
}

/// What brings a file back; none where it says that already.
fn back(kernel: &dyn Kernel, saved: &Before) -> Option<Change> {
    let now = value(kernel, &saved.file);
    let note = match now.as_deref() {
        Some(now) if now == saved.before => return None,
        Some(now) if now != saved.set => Some(format!("somebody changed it since it was set to {}", saved.set)),
        Some(_) => None,
        None => Some("it is gone".to_owned()),
    };
    Some(Change { file: saved.file.clone(), from: now.unwrap_or_default(), to: saved.before.clone(), note })
}

/// Brings back what files said before; what cannot be brought back stays in the state, unless its file is gone.
pub fn revert(root: &Root, kernel: &dyn Kernel) -> Result<Vec<Done>, Failure> {
    let _locked = state::lock(root)?;
    let mut saved = state::load(root)?;
    let done: Vec<Done> =
        saved.files.iter().filter_map(|file| back(kernel, file).map(|change| perform(kernel, change))).collect();
    saved.files.retain(|file| value(kernel, &file.file).is_some_and(|now| now != file.before));
    state::store(&saved, root)?;
    Ok(done)
}

fn perform(kernel: &dyn Kernel, change: Change) -> Done {
    let written = kernel.write(&change.file, &change.to);
    let error = match (written, value(kernel, &change.file)) {
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

    fn items(host: &Pretended) -> Vec<Item> {
        nyala_tune::plan::items(&hardware(&host.root, &directories(&host.root, &[])))
    }

    fn apply(host: &Pretended) -> Result<Vec<Done>, Failure> {
        super::apply(&host.root, &host.root, &items(host))
    }

    fn planned(host: &Pretended) -> Vec<Change> {
        changes(&kernel_files(&host.root, &hardware(&host.root, &directories(&host.root, &[]))))
    }

    const ENABLED: &str = "sys/kernel/mm/transparent_hugepage/enabled";
    const RATIO: &str = "proc/sys/vm/dirty_background_ratio";
    const REQUESTS: &str = "sys/block/sda/queue/nr_requests";

    #[test]
    fn what_is_set_is_brought_back_exactly() {
        let host = Pretended::new();
        let planned = planned(&host);
        assert!(planned.iter().any(|change| change.file == ENABLED && change.from == "always" && change.to == "never"));
        assert_eq!(host.says(ENABLED), "[always] madvise never", "planning changes nothing");
        let told =
            |word: &str| planned.iter().any(|change| change.note.as_deref().is_some_and(|note| note.contains(word)));
        assert!(told("disk guide: never, flash guide: always") && told("contradict each other"), "{planned:?}");
        let all: Vec<(String, String)> =
            planned.iter().map(|change| (change.file.clone(), change.from.clone())).collect();
        let done = apply(&host).unwrap();
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
        assert_eq!(apply(&host).unwrap().len(), 1);
        host.write(RATIO, "9\n");
        let back = reverts(&host.root, &host.root).unwrap();
        let ratio = back.iter().find(|change| change.file == RATIO).unwrap();
        assert!(ratio.to == "10" && ratio.note.as_deref().is_some_and(|note| note.contains("somebody")), "{ratio:?}");
        let done = revert(&host.root, &host.root).unwrap();
        assert!(done.iter().all(|done| done.error.is_none()), "{done:?}");
        all.iter().for_each(|(file, before)| assert_eq!(host.says(file), *before, "{file}"));
        assert_eq!(revert(&host.root, &host.root).unwrap(), [], "nothing is left to bring back");
        assert!(!host.at("var/lib/nyala/tune.json").exists());
    }

    #[test]
    fn a_file_that_is_refused_is_named_and_the_others_are_set() {
        let host = Pretended::new();
        // A number that nobody may write, like a device that takes no such value.
        let refusing = host.at("sys/devices/x/block/sda/queue/nr_requests");
        std::fs::remove_file(&refusing).unwrap();
        std::os::unix::fs::symlink("/proc/sys/kernel/ngroups_max", &refusing).unwrap();
        let done = apply(&host).unwrap();
        let failed: Vec<&str> =
            done.iter().filter(|done| done.error.is_some()).map(|done| done.change.file.as_str()).collect();
        assert_eq!(failed, [REQUESTS]);
        assert_eq!(host.says(RATIO), "5");
        let back = reverts(&host.root, &host.root).unwrap();
        assert!(
            back.len() + 1 == done.len() && back.iter().all(|change| change.file != REQUESTS),
            "it has not changed"
        );
    }

    /// A kernel that gives a queue the length of its new scheduler.
    struct Resetting<'a>(&'a Pretended);

    impl Kernel for Resetting<'_> {
        fn text(&self, file: &str) -> Option<String> {
            self.0.root.text(file)
        }

        fn write(&self, file: &str, value: &str) -> std::io::Result<()> {
            if let Some(queue) = file.strip_suffix("/scheduler") {
                self.0.root.write(&format!("{queue}/nr_requests"), if value == "none" { "1023\n" } else { "256\n" })?;
            }
            self.0.root.write(file, value)
        }
    }

    #[test]
    fn what_another_setting_changes_is_set_after_it_and_brought_back_after_it() {
        let host = Pretended::new();
        let meta = "sys/block/nvme0n1/queue/nr_requests";
        // It says what is wanted already, until the scheduler is changed.
        host.write(meta, "128\n");
        let kernel = Resetting(&host);
        super::apply(&host.root, &kernel, &items(&host)).unwrap();
        assert_eq!((host.says(meta).as_str(), host.says(REQUESTS).as_str()), ("128", "2048"));
        let done = revert(&host.root, &kernel).unwrap();
        assert!(done.iter().all(|done| done.error.is_none()), "{done:?}");
        assert_eq!((host.says(meta).as_str(), host.says(REQUESTS).as_str()), ("128", "256"));
        assert!(!host.at("var/lib/nyala/tune.json").exists());
    }

    #[test]
    fn everything_is_kept_before_the_first_change() {
        let host = Pretended::new();
        let state = host.at("var/lib/nyala");
        std::fs::create_dir_all(&state).unwrap();
        // A state that cannot be kept (its name is a directory's): nothing is changed.
        std::fs::create_dir_all(state.join("tune.json/x")).unwrap();
        assert!(apply(&host).is_err());
        assert_eq!((host.says(RATIO).as_str(), host.says(ENABLED).as_str()), ("10", "[always] madvise never"));
        std::fs::remove_dir_all(state.join("tune.json")).unwrap();
        std::fs::create_dir_all(state.join("tune.new/x")).unwrap();
        assert!(apply(&host).is_err(), "it cannot be written");
        assert_eq!(host.says(RATIO), "10");
        std::fs::remove_dir_all(state.join("tune.new")).unwrap();
        apply(&host).unwrap();
        // Another boot has the kernel's values: nothing is brought back.
        host.write("proc/sys/kernel/random/boot_id", "b2\n");
        assert_eq!(reverts(&host.root, &host.root).unwrap(), []);
        assert!(std::fs::metadata(state.join("tune.json")).unwrap().permissions().mode() & 0o022 == 0);
    }
}
