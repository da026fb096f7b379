// SPDX-License-Identifier: Apache-2.0

//! What persons and the kernel write on a host: the table of file systems, files of the kernel, and what they said before.

use nyala_tune::fstab::{Known, escape, known};
use nyala_tune::plan::items;
use nyala_tune::saved::Saved;
use nyala_tune::setting::Role;
use nyala_tune::{Device, Hardware, Texts, Verdict, chosen, judge};

/// The first line is looked for in the others, as that of a new file system is. True if its mount point is there.
pub fn fstab(bytes: &[u8]) -> bool {
    let (line, table) = bytes.split_at(bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len()));
    let Ok(name) = std::str::from_utf8(line) else { return false };
    // As a name in a line of our own, and as a line.
    if !name.is_empty() {
        let ours = format!("host:/ {} fuse.nyala _netdev 0 0", escape(&format!("/{name}")));
        assert_eq!(known(ours.as_bytes(), &ours), Known::Same, "{ours}");
        if known(table, &ours) == Known::No {
            let added = [table, b"\n", ours.as_bytes(), b"\n"].concat();
            assert_eq!(known(&added, &ours), Known::Same, "{ours}");
        }
    }
    match known(table, name) {
        Known::No => false,
        Known::Same => true,
        Known::Other(there) => {
            assert!(!there.is_empty());
            true
        }
    }
}

/// Texts of a setting's files, with NUL between them: its own, that of its limit, that which may count in its place. True if something is
/// to be written.
pub fn judged(bytes: &[u8]) -> bool {
    let mut parts = bytes.splitn(3, |byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned());
    let texts = Texts { own: parts.next(), limit: parts.next(), counterpart: parts.next() };
    let device = |name: &str, role| Device { name: name.to_owned(), role };
    let devices = vec![device("sda", Role::Storage), device("sdb", Role::Meta)];
    let all = items(&Hardware { devices, ..Hardware::default() });
    assert!(!all.is_empty());
    let mut writes = false;
    for item in all {
        let Verdict::Write { value } = judge(&item, &texts) else { continue };
        writes = true;
        assert!(
            !value.is_empty() && value.trim() == value && value != chosen(texts.own.as_deref().unwrap_or_default())
        );
        let written = Texts { own: Some(value), ..texts.clone() };
        assert_eq!(judge(&item, &written), Verdict::Same, "{} is not settled by {written:?}", item.setting.id);
    }
    writes
}

/// `tune.json`.
pub fn saved(bytes: &[u8]) -> bool {
    let parse = |bytes: &[u8]| serde_json::from_slice::<Saved>(bytes).ok().and_then(|saved| saved.checked().ok());
    parse(bytes).is_some_and(|saved| {
        let text = serde_json::to_vec(&saved).expect("what was read can be written");
        assert_eq!(parse(&text), Some(saved));
        true
    })
}
