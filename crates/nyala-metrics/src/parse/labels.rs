// SPDX-License-Identifier: Apache-2.0

//! Names, labels and escapes.

use std::collections::BTreeMap;

/// Whether it may be the name of a metric or a label.
pub(super) fn name_is_good(name: &str) -> Result<(), String> {
    let good =
        |(at, byte): (usize, u8)| byte.is_ascii_alphabetic() || byte == b'_' || (at > 0 && byte.is_ascii_digit());
    let good = !name.is_empty() && name.bytes().enumerate().all(good);
    good.then_some(()).ok_or(format!("{name:?} is no name"))
}

/// Labels up to the closing brace, and what comes after it.
pub(super) fn labels(mut rest: &str) -> Result<(BTreeMap<String, String>, &str), String> {
    let mut labels = BTreeMap::new();
    loop {
        let (name, after) = rest.split_once("=\"").ok_or("a label has a value in quotes")?;
        name_is_good(name)?;
        let mut escaped = false;
        let end = after.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let (value, after) = after.split_at(end.ok_or("a label's value has no end")?);
        if labels.insert(name.to_owned(), unescape(value)?).is_some() {
            return Err(format!("label {name} comes twice"));
        }
        rest = match after.as_bytes() {
            [b'"', b'}', ..] => return Ok((labels, &after[2..])),
            [b'"', b',', ..] => &after[2..],
            _ => return Err("a comma or a brace comes after a label".to_owned()),
        };
    }
}

pub(super) fn unescape(text: &str) -> Result<String, String> {
    let (mut out, mut chars) = (String::new(), text.chars());
    while let Some(c) = chars.next() {
        out.push(match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => '\n',
                Some(c @ ('\\' | '"')) => c,
                other => return Err(format!("\\{other:?} is no escape")),
            },
            ('"', _) => return Err("a quote is not escaped".to_owned()),
            (c, _) => c,
        });
    }
    Ok(out)
}
