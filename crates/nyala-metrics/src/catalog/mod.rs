// SPDX-License-Identifier: Apache-2.0

//! Every metric that Nyala exports. Names follow OpenMetrics: a unit in the name's end, `_total` and the like only in samples.

pub mod member;
pub mod meta;
pub mod mgmt;
pub mod mirror;
pub mod mon;
pub mod mount;
pub mod process;
pub mod slow;
pub mod storage;
pub mod store;

use crate::Metric;

/// What a kind of service exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// `nyala mgmtd`.
    Mgmtd,
    /// `nyala meta`.
    Meta,
    /// `nyala storage`.
    Storage,
    /// `nyala mount`.
    Mount,
    /// `nyala mon`.
    Mon,
}

impl Source {
    /// All of them.
    pub const ALL: [Source; 5] = [Source::Mgmtd, Source::Meta, Source::Storage, Source::Mount, Source::Mon];

    /// The word for it, as in the label `service` of `nyala_build`.
    pub fn word(self) -> &'static str {
        match self {
            Source::Mgmtd => "mgmtd",
            Source::Meta => "meta",
            Source::Storage => "storage",
            Source::Mount => "mount",
            Source::Mon => "mon",
        }
    }

    /// Its metrics.
    pub fn metrics(self) -> Vec<&'static Metric> {
        let lists: &[&[&Metric]] = match self {
            Source::Mgmtd => &[process::ALL, slow::ALL, store::ALL, mgmt::ALL],
            Source::Meta => &[process::ALL, slow::ALL, member::ALL, store::ALL, mirror::ALL, meta::ALL],
            Source::Storage => &[process::ALL, slow::ALL, member::ALL, store::ALL, mirror::ALL, storage::ALL],
            Source::Mount => &[process::ALL, mount::ALL],
            Source::Mon => &[process::ALL, mon::ALL],
        };
        lists.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use std::collections::BTreeMap;

    #[test]
    fn names_follow_the_rules() {
        let mut by_name: BTreeMap<&str, &Metric> = BTreeMap::new();
        for metric in Source::ALL.iter().flat_map(|source| source.metrics()) {
            let Metric { name, kind, labels, help } = *metric;
            let word = |text: &str| {
                let mut bytes = text.bytes();
                bytes.next().is_some_and(|byte| byte.is_ascii_lowercase())
                    && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
            };
            assert!(word(name) && (name.starts_with("nyala_") || name.starts_with("process_")), "{name}");
            assert!(labels.iter().all(|label| word(label) && *label != "le"), "{name}");
            for suffix in ["_total", "_count", "_sum", "_bucket", "_info", "_created"] {
                assert!(!name.ends_with(suffix), "{name}: OpenMetrics adds that itself");
            }
            assert!(kind != Kind::Histogram || name.ends_with("_seconds"), "{name}");
            assert!(!help.ends_with('.') && !help.contains(['|', '\n']), "{name}: {help}");
            let other = by_name.insert(name, metric);
            assert!(other.is_none_or(|other| other == metric), "{name} means two things");
        }
    }
}
