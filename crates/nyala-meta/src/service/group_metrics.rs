// SPDX-License-Identifier: Apache-2.0

//! What a mirror group of metadata targets counts.

use super::group::GroupShell;
use nyala_metrics::catalog::{meta as metrics, mirror};
use nyala_metrics::{Metric, Page};
use nyala_replica::Progress;

/// Its part of the page; samples are missing while this target is in no group.
pub(super) fn write_group(page: &mut Page, group: Option<&GroupShell>) {
    let mut last = page.family(&metrics::MIRROR_RECORDS);
    group.iter().for_each(|group| last.value(&[&group.group()], group.last()));
    let copies = group.map(|group| (group.group(), group.progress()));
    let mut each = |metric: &Metric, value: fn(&Progress) -> u64| {
        let mut family = page.family(metric);
        if let Some((group, progress)) = &copies {
            progress.iter().for_each(|(target, progress)| family.value(&[group, target], value(progress)));
        }
    };
    each(&mirror::RESYNC_COPIED, |progress| progress.copied_bytes);
    each(&mirror::RESYNC_LEFT, |progress| progress.left_bytes);
    each(&mirror::RESYNC_SPEED, |progress| progress.bytes_per_s);
}
