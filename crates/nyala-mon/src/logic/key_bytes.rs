// SPDX-License-Identifier: Apache-2.0

//! A series as bytes of a record.

use super::series::{Field, Key, Kind};
use super::varint::{put, take};
use nyala_metrics::catalog::Source;

/// Longest text, bytes.
const LONGEST_TEXT: usize = 4096;

fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend(text.as_bytes());
}

fn take_text(bytes: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(take(bytes)?).ok().filter(|length| *length <= LONGEST_TEXT)?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    String::from_utf8(text.to_vec()).ok()
}

fn index_of<T: PartialEq>(all: &[T], one: &T) -> u64 {
    all.iter().position(|other| other == one).map_or(u64::MAX, |index| index as u64)
}

fn at<T: Copy>(all: &[T], bytes: &mut &[u8]) -> Option<T> {
    all.get(usize::try_from(take(bytes)?).ok()?).copied()
}

/// Appends a series.
pub fn put_key(out: &mut Vec<u8>, key: &Key) {
    put_text(out, &key.metric);
    put(out, index_of(&Source::ALL, &key.service));
    put_text(out, &key.instance);
    put(out, key.labels.len() as u64);
    for (name, value) in &key.labels {
        put_text(out, name);
        put_text(out, value);
    }
    put(out, index_of(&Field::ALL, &key.field));
    put(out, index_of(&Kind::ALL, &key.kind));
    put(out, key.micros.into());
}

/// Takes a series from the front; none if there is no whole one.
pub fn take_key(bytes: &mut &[u8]) -> Option<Key> {
    let (metric, service, instance) = (take_text(bytes)?, at(&Source::ALL, bytes)?, take_text(bytes)?);
    let mut labels = Vec::new();
    for _ in 0..take(bytes)? {
        labels.push((take_text(bytes)?, take_text(bytes)?));
    }
    let (field, kind) = (at(&Field::ALL, bytes)?, at(&Kind::ALL, bytes)?);
    Some(Key { metric, service, instance, labels, field, kind, micros: at(&[false, true], bytes)? })
}
