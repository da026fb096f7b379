// SPDX-License-Identifier: Apache-2.0

//! Every setting with what it is, what it would be, what the guides say, and the rule that settles it.

use crate::output::Table;
use nyala_tune::catalogue::{NOT_TAKEN, NotTaken};
use nyala_tune::facts::KernelFile;
use nyala_tune::{Verdict, chosen, judge};
use serde::Serialize;

/// A setting as it is listed.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    setting: &'static str,
    subject: String,
    file: String,
    now: Option<String>,
    taken: &'static str,
    #[serde(flatten)]
    verdict: Verdict,
    guides: String,
    rule: &'static str,
    reason: &'static str,
}

/// All settings, and what is not taken.
#[derive(Serialize)]
pub struct Listed {
    settings: Vec<Row>,
    not_taken: &'static [NotTaken],
}

impl Row {
    fn of(file: &KernelFile) -> Row {
        Row {
            setting: file.item.setting.id,
            subject: file.item.subject.clone(),
            file: format!("/{}", file.item.file()),
            now: file.texts.own.as_deref().map(|text| chosen(text).to_owned()),
            taken: file.item.decision.value,
            verdict: judge(&file.item, &file.texts),
            guides: file.item.setting.sayings(),
            rule: file.item.decision.rule.text(),
            reason: file.item.setting.reason,
        }
    }
}

/// As a table, with the reasons below.
pub fn render(shown: &Listed) -> String {
    let mut table = Table::new(&["SETTING", "OF", "NOW", "WANTED", "GUIDES"]);
    let mut texts: Vec<String> = Vec::new();
    let mut rest = shown.settings.as_slice();
    while let Some(first) = rest.first() {
        // A hundred processors are one row.
        let same = |row: &&Row| row.setting == first.setting && row.now == first.now && row.verdict == first.verdict;
        let count = rest.iter().take_while(same).count();
        let of = if count > 1 { format!("{} and {} more", first.subject, count - 1) } else { first.subject.clone() };
        let wanted = match &first.verdict {
            Verdict::Same => "as it is".to_owned(),
            Verdict::Write { value } => value.clone(),
            Verdict::Skip { why } => format!("not set: {why}"),
        };
        let now = first.now.clone().unwrap_or_else(|| "-".to_owned());
        table.row([first.setting.to_owned(), of, now, wanted, first.guides.clone()]);
        let text = format!("{}: {}\n  {}\n", first.setting, first.reason, first.rule);
        if texts.last() != Some(&text) {
            texts.push(text);
        }
        rest = &rest[count..];
    }
    let left: String = shown.not_taken.iter().map(|left| format!("{}\n  {}\n", left.advice, left.why)).collect();
    format!(
        "{}\nWhy, and how contradictions were settled:\n{}\nAdvice that is not taken:\n{left}",
        table.render(),
        texts.concat()
    )
}

/// Lists settings.
pub fn list(files: &[KernelFile]) -> Listed {
    Listed { settings: files.iter().map(Row::of).collect(), not_taken: NOT_TAKEN }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::Pretended;
    use crate::host::{directories, hardware, kernel_files};

    #[test]
    fn every_setting_is_shown_with_its_rule() {
        let host = Pretended::new();
        let files = kernel_files(&host.root, &hardware(&host.root, &directories(&host.root, &[])));
        let text = render(&list(&files));
        for part in [
            "disk guide: never, flash guide: always",
            "a value that can stall a request or drop a packet loses",
            "the larger number makes fewer requests",
            "the kernel's default is taken",
            "dirty_bytes is 4096000 and counts in its place",
            "mount with nobarrier\n  after a power cut",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        let row = |word: &str| text.lines().find(|line| line.starts_with(word)).unwrap().to_owned();
        assert!(row("cpu.scaling_governor").contains("cpu0 and 1 more"), "{text}");
        assert_eq!(text.matches("\ncpu.scaling_governor: ").count(), 1);
    }
}
