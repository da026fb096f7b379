// SPDX-License-Identifier: Apache-2.0

//! InfluxDB's line protocol: `metric,instance=meta1,op=create,service=meta count=12i,sum=0.012 1700000000000`, times in milliseconds.

use super::block::Block;
use super::series::Key;
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Writing into memory does not fail.
macro_rules! put {
    ($text:expr, $($what:tt)*) => { let _ = write!($text, $($what)*); };
}

/// Of one metric, its values with their times.
type Numbers<'a> = (&'a Arc<Key>, Vec<(u64, i64)>);

/// Appends the samples of a block within these times; returns how many values that are.
pub fn lines(out: &mut String, block: &Block, times: RangeInclusive<u64>) -> usize {
    let (mut written, mut group): (usize, Vec<Numbers>) = (0, Vec::new());
    for (key, values) in block.all() {
        let values: Vec<_> = values.filter(|(time, _)| times.contains(time)).collect();
        if group.first().is_some_and(|(first, _)| !first.is_beside(key)) {
            put_group(out, &group);
            group.clear();
        }
        written += values.len();
        group.push((key, values));
    }
    put_group(out, &group);
    written
}

/// The numbers of one metric with the same tags: a line for each time.
fn put_group(out: &mut String, group: &[Numbers]) {
    let Some((first, _)) = group.first() else { return };
    let tags = tags(first);
    let mut times: Vec<u64> = group.iter().flat_map(|(_, values)| values.iter().map(|(time, _)| *time)).collect();
    times.sort_unstable();
    times.dedup();
    for time in times {
        out.push_str(&tags);
        let mut before = ' ';
        for (key, values) in group {
            if let Ok(at) = values.binary_search_by_key(&time, |(time, _)| *time) {
                put!(out, "{before}{}=", key.field.word());
                put_value(out, key, values[at].1);
                before = ',';
            }
        }
        put!(out, " {time}\n");
    }
}

fn put_value(out: &mut String, key: &Key, value: i64) {
    if key.micros {
        let (sign, us) = (if value < 0 { "-" } else { "" }, value.unsigned_abs());
        put!(out, "{sign}{}.{:06}", us / 1_000_000, us % 1_000_000);
    } else {
        put!(out, "{value}i");
    }
}

/// Measurement and tags, which come in the order of their names.
fn tags(key: &Key) -> String {
    let own = [("instance", key.instance.as_str()), ("service", key.service.word())];
    let labels = key.labels.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let mut all: Vec<(&str, &str)> =
        labels.filter(|(name, _)| own.iter().all(|(own, _)| own != name)).chain(own).collect();
    all.sort_unstable();
    let mut tags = escaped(&key.metric, false);
    // A tag has a value, or is not there.
    for (name, value) in all.into_iter().filter(|(_, value)| !value.is_empty()) {
        put!(tags, ",{}={}", escaped(name, true), escaped(value, true));
    }
    tags
}

/// A backslash stands for itself there, but not before what has to be escaped; a line ends nowhere else.
fn escaped(text: &str, tag: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ',' | ' ' => out.extend(['\\', c]),
            '=' if tag => out.extend(['\\', c]),
            '\\' => out.push('/'),
            c if c.is_control() => out.push('_'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::series::{Field, Kind};
    use nyala_metrics::catalog::Source;

    fn key(metric: &str, labels: &[(&str, &str)], field: Field, micros: bool) -> Arc<Key> {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (metric, instance) = (metric.to_owned(), "c1:/mnt/a b".to_owned());
        Arc::new(Key { metric, service: Source::Mount, instance, labels, field, kind: Kind::Counter, micros })
    }

    #[test]
    fn lines_byte_by_byte() {
        let mut block = Block::default();
        let times = [("op", "read"), ("z", "a,b=c\\\n")];
        let mut first = [
            (key("t_seconds", &times, Field::Count, false), 2),
            (key("t_seconds", &times, Field::Sum, true), 1_500_001),
            (key("b_bytes", &[("op", "")], Field::Value, false), -7),
        ];
        first.sort();
        block.push(1000, &first);
        block.push(2000, &[(key("t_seconds", &times, Field::Sum, true), -1)]);
        block.push(3000, &first);
        let mut out = String::new();
        assert_eq!(lines(&mut out, &block, 1000..=2999), 4);
        let mount = "instance=c1:/mnt/a\\ b";
        let expected = format!(
            "b_bytes,{mount},service=mount value=-7i 1000\n\
             t_seconds,{mount},op=read,service=mount,z=a\\,b\\=c/_ count=2i,sum=1.500001 1000\n\
             t_seconds,{mount},op=read,service=mount,z=a\\,b\\=c/_ sum=-0.000001 2000\n"
        );
        assert_eq!(out, expected);
    }
}
