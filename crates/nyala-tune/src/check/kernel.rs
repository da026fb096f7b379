// SPDX-License-Identifier: Apache-2.0

//! Settings of the kernel.

use crate::facts::{KernelFile, Swap};
use crate::finding::{Area, Finding, Level};
use crate::judge::{Verdict, chosen, judge};

/// Most that is good for a server.
const MOST_SWAPPINESS: u64 = 10;

/// Judges them; equal findings about several processors are one.
pub fn check(files: &[KernelFile], swap: Option<Swap>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut counts: Vec<(String, u64)> = Vec::new();
    for file in files {
        let Some(finding) = one(file) else { continue };
        match counts.last_mut().zip(findings.last_mut()) {
            Some(((id, count), last)) if id == file.item.setting.id && last.is == finding.is => {
                *count += 1;
                last.subject = format!("{id} of {count}, up to {}", file.item.subject);
            }
            _ => {
                counts.push((file.item.setting.id.to_owned(), 1));
                findings.push(finding);
            }
        }
    }
    findings.extend(swap.filter(|swap| swap.on && swap.swappiness > MOST_SWAPPINESS).map(|swap| Finding {
        level: Level::Advice,
        area: Area::Kernel,
        subject: "vm.swappiness".into(),
        is: swap.swappiness.to_string(),
        change: format!("sysctl vm.swappiness={MOST_SWAPPINESS}"),
        why: "memory of a service that was swapped out is missed in the middle of a request; the page cache can go instead".into(),
    }));
    findings
}

fn one(file: &KernelFile) -> Option<Finding> {
    let Verdict::Write { value } = judge(&file.item, &file.texts) else { return None };
    let setting = file.item.setting;
    let subject = if file.item.subject.is_empty() {
        setting.id.to_owned()
    } else {
        format!("{} of {}", setting.id, file.item.subject)
    };
    Some(Finding {
        level: Level::Advice,
        area: Area::Kernel,
        subject,
        is: file.texts.own.as_deref().map(chosen).unwrap_or_default().to_owned(),
        change: format!("{value}: nyala tune apply"),
        why: format!("{} ({})", setting.reason, file.item.decision.rule.text()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Texts;
    use crate::plan::{Hardware, items};

    #[test]
    fn what_differs_is_found_and_processors_are_counted() {
        let processors = (0..4).map(|number| format!("cpu{number}")).collect();
        let hardware = Hardware { processors, ..Hardware::default() };
        let text = |id: &str| match id {
            "vm.dirty_ratio" => Some("40\n"),
            "vm.dirty_background_ratio" => Some("5\n"),
            "cpu.scaling_governor" => Some("powersave\n"),
            "transparent_hugepage.enabled" => Some("[always] madvise never\n"),
            _ => None,
        };
        let file = |item: crate::plan::Item| {
            let own = text(item.setting.id).map(str::to_owned);
            KernelFile { item, texts: Texts { own, ..Texts::default() } }
        };
        let files: Vec<KernelFile> = items(&hardware).into_iter().map(file).collect();
        let findings = check(&files, Some(Swap { swappiness: 60, on: true }));
        let shown: Vec<(&str, &str)> =
            findings.iter().map(|finding| (finding.subject.as_str(), finding.is.as_str())).collect();
        let want = [
            ("vm.dirty_ratio", "40"),
            ("transparent_hugepage.enabled", "always"),
            ("cpu.scaling_governor of 4, up to cpu3", "powersave"),
            ("vm.swappiness", "60"),
        ];
        assert_eq!(shown, want);
        assert!(findings[1].why.contains("contradict") && findings[1].change.starts_with("never"), "{findings:?}");
        assert_eq!(check(&[], Some(Swap { swappiness: 60, on: false })), [], "nothing can be swapped");
        assert_eq!(check(&[], Some(Swap { swappiness: 10, on: true })), []);
    }
}
