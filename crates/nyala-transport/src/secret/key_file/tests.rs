// SPDX-License-Identifier: Apache-2.0

//! Tests of files that list keys.

use super::*;
use crate::secret::key::{Grant, KeyRules};

fn file() -> KeyFile {
    let entry = |id: &str, roles: &str, rules: KeyRules, made, byte| KeyEntry {
        grant: Grant { key: id.into(), roles: roles.parse().expect("roles"), rules },
        made,
        secret: vec![byte; 32],
    };
    let rules = KeyRules { read_only: true };
    KeyFile { keys: vec![entry("k1", "all", KeyRules::default(), 0, 1), entry("web.2", "client", rules, 7, 2)] }
}

#[test]
fn a_file_is_what_was_printed() {
    let text = file().print();
    assert!(is_key_file(text.as_bytes()));
    assert_eq!(KeyFile::parse(text.as_bytes()), Ok(file()));
    for cut in 1..text.len() - 1 {
        assert!(KeyFile::parse(&text.as_bytes()[..cut]).is_err(), "cut after {cut} bytes");
    }
    let last = text.lines().rev().nth(1).expect("a line");
    let (secret, made) = ("02".repeat(32), "made=7");
    assert_eq!(last, format!("key id=web.2 roles=client rules=read-only {made} secret={secret}"));
    assert!(!format!("{:?}", file()).contains("2, 2"), "printing shows no secret");
}

#[test]
fn what_is_not_understood_is_refused_with_its_line() {
    let secret = "ab".repeat(32);
    let line = |text: &str| format!("{FIRST_LINE}\n\n# a note\n{}\nend\n", text.replace("SECRET", &secret));
    let good = "key id=a roles=client secret=SECRET";
    KeyFile::parse(line(good).as_bytes()).expect("this is the one that the others differ from");
    for (text, says) in [
        ("kee id=a roles=client secret=SECRET", "`key`"),
        ("key roles=client secret=SECRET", "`id=` is missing"),
        ("key id=a secret=SECRET", "`roles=` is missing"),
        ("key id=a roles=client", "`secret=` is missing"),
        ("key id=a/b roles=client secret=SECRET", "no id of a key"),
        ("key id=a roles=root secret=SECRET", "no role of a key"),
        ("key id=a roles=client rules=rw secret=SECRET", "no rule of a key"),
        ("key id=a roles=client until=9 secret=SECRET", "no part of a key"),
        ("key id=a id=b roles=client secret=SECRET", "twice"),
        ("key id=a roles=client made=now secret=SECRET", "`made`"),
        ("key id=a roles=client secret=SECRETf", "hexadecimal"),
        ("key id=a roles=client secret=abcd", "has 2 bytes"),
        ("key id=a roles=client SECRET", "without `=`"),
        (&format!("{good}\nend\n{good}"), "behind `end`"),
        (&format!("{good}\n{good}"), "line 5: key a has the id"),
        (&format!("{good}\n{}", good.replace("id=a", "id=b")), "key b has the id or the secret of key a"),
    ] {
        let error = KeyFile::parse(line(text).as_bytes()).expect_err(text);
        assert!(error.contains(says) && error.starts_with("line "), "{text}: {error}");
        assert!(!error.contains(&secret), "{error}");
    }
    assert!(KeyFile::parse(format!("{FIRST_LINE}\nend\n").as_bytes()).expect_err("empty").contains("no key"));
    assert!(KeyFile::parse(b"nyala-keys 2\n").expect_err("later").contains("no other version"));
    assert!(KeyFile::parse(b"nyala-keys \xff").expect_err("binary").contains("no text"));
}

#[test]
fn keys_are_limited_in_number() {
    let keys = |count: usize| {
        let line = |index: usize| format!("key id=k{index} roles=client secret={index:064x}\n");
        format!("{FIRST_LINE}\n{}end\n", (0..count).map(line).collect::<String>())
    };
    assert_eq!(KeyFile::parse(keys(MAX_KEYS).as_bytes()).map(|file| file.keys.len()), Ok(MAX_KEYS));
    assert!(KeyFile::parse(keys(MAX_KEYS + 1).as_bytes()).expect_err("too many").contains("more than 64"));
}
