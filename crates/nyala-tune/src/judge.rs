// SPDX-License-Identifier: Apache-2.0

//! What is to be written to a file of the kernel, from what it says.

use crate::plan::Item;
use serde::Serialize;

/// What a file needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum Verdict {
    /// It says that already.
    Same,
    /// This is to be written.
    Write {
        /// The value.
        value: String,
    },
    /// It cannot be set here.
    Skip {
        /// Why.
        why: String,
    },
}

/// What the files of a setting say; absent where there is no such file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// The setting's own file.
    pub own: Option<String>,
    /// The file with its limit.
    pub limit: Option<String>,
    /// The file that may count in its place.
    pub counterpart: Option<String>,
}

/// What is to be done with its file.
pub fn judge(item: &Item, texts: &Texts) -> Verdict {
    let skip = |why: String| Verdict::Skip { why };
    let Some(text) = texts.own.as_deref() else { return skip("this kernel or device does not have it".into()) };
    if let Some((file, other)) = item.setting.counterpart.zip(texts.counterpart.as_deref())
        && other.trim() != "0"
    {
        return skip(format!("{file} is {} and counts in its place", other.trim()));
    }
    let offered: Vec<&str> = text.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect();
    let mut value = item.decision.value.to_owned();
    // mq-deadline is what deadline is called where requests have several queues.
    let names = [value.clone(), format!("mq-{value}")];
    if names.iter().any(|name| name == chosen(text)) {
        return Verdict::Same;
    }
    if text.contains('[') {
        match names.iter().find(|name| offered.contains(&name.as_str())) {
            Some(name) => value.clone_from(name),
            None => return skip(format!("it offers {} alone", offered.join(", "))),
        }
    }
    if let Ok(number) = value.parse::<u64>() {
        let number = texts.limit.as_deref().and_then(most).map_or(number, |most| number.min(most));
        value = number.to_string();
        if item.setting.least && chosen(text).parse::<u64>().is_ok_and(|now| now >= number) {
            return Verdict::Same;
        }
    }
    if chosen(text) == value { Verdict::Same } else { Verdict::Write { value } }
}

/// The share of the memory that a limit by memory allows.
const MEMORY_SHARE: u64 = 20;

/// The limit that a text says.
fn most(text: &str) -> Option<u64> {
    let memory = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.strip_suffix("kB"));
    match memory {
        Some(kilobytes) => kilobytes.trim().parse::<u64>().ok().map(|all| all / MEMORY_SHARE),
        None => text.trim().parse().ok(),
    }
}

/// The value that a file of the kernel says: where it lists several, the one in brackets.
pub fn chosen(text: &str) -> &str {
    let marked = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    marked.unwrap_or_else(|| text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Device, Hardware, items};
    use crate::setting::Role;

    fn item(id: &str) -> Item {
        let device = Device { name: "sda".into(), role: Role::Storage };
        let hardware = Hardware { devices: vec![device], ..Hardware::default() };
        items(&hardware).into_iter().find(|item| item.setting.id == id).unwrap()
    }

    #[test]
    fn what_is_to_be_written() {
        let write = |value: &str| Verdict::Write { value: value.into() };
        let says = |item: &Item, own: &str| judge(item, &Texts { own: Some(own.into()), ..Texts::default() });
        let ratio = item("vm.dirty_ratio");
        assert_eq!((says(&ratio, "20\n"), says(&ratio, "40\n")), (Verdict::Same, write("20")));
        assert!(matches!(judge(&ratio, &Texts::default()), Verdict::Skip { .. }));
        let huge = item("transparent_hugepage.enabled");
        assert_eq!(says(&huge, "always [madvise] never\n"), write("never"));
        assert_eq!(says(&huge, "always madvise [never]\n"), Verdict::Same);
        let scheduler = item("storage.scheduler");
        assert_eq!(says(&scheduler, "[none] mq-deadline kyber\n"), write("mq-deadline"));
        assert_eq!(says(&scheduler, "none [mq-deadline]\n"), Verdict::Same);
        assert_eq!(says(&scheduler, "noop [deadline] cfq\n"), Verdict::Same);
        assert_eq!(says(&scheduler, "[none]\n"), Verdict::Skip { why: "it offers none alone".into() });
    }

    #[test]
    fn limits_counterparts_and_what_is_more_already() {
        let write = |value: &str| Verdict::Write { value: value.into() };
        let with =
            |own: &str, limit: &str| Texts { own: Some(own.into()), limit: Some(limit.into()), counterpart: None };
        let sectors = item("storage.max_sectors_kb");
        assert_eq!(judge(&sectors, &with("1280\n", "128\n")), write("128"), "as much as the device takes");
        assert_eq!(judge(&sectors, &with("128\n", "128\n")), Verdict::Same);
        let free = item("vm.min_free_kbytes");
        assert_eq!(judge(&free, &with("67584\n", "MemTotal:       263752644 kB\nMemFree: 1 kB\n")), write("262144"));
        assert_eq!(
            judge(&free, &with("11000\n", "MemTotal: 2000000 kB\n")),
            write("100000"),
            "a small host keeps its memory"
        );
        assert_eq!(judge(&free, &with("500000\n", "MemTotal: 263752644 kB\n")), Verdict::Same, "more is kept");
        let ratio = item("vm.dirty_ratio");
        let bytes = |bytes: &str| Texts { own: Some("0\n".into()), counterpart: Some(bytes.into()), limit: None };
        assert!(matches!(judge(&ratio, &bytes("1073741824\n")), Verdict::Skip { why } if why.contains("1073741824")));
        assert_eq!(judge(&ratio, &bytes("0\n")), write("20"));
    }
}
