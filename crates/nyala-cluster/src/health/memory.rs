// SPDX-License-Identifier: Apache-2.0

//! Services that are short of memory: of that of their host, or of what their control group allows them.

use super::finding::{About, Finding, Severity};
use super::nodes::host;
use super::probe::Probe;
use crate::word::Word;
use nyala_wire::map::ClusterMap;

/// A host is short below this part of its memory, percent ...
const SHORT_PERCENT: u64 = 3;
/// ... and so many bytes.
const SHORT_BYTES: u64 = 512 << 20;
/// A service is short when it takes this part of its limit, percent. Less is normal: the rest is page cache, which the kernel takes back.
const OF_LIMIT_PERCENT: u64 = 90;

pub(super) fn check(map: &ClusterMap, probes: &[Probe], all: &mut Vec<Finding>) {
    for probe in probes {
        let (Some(node), memory) = (map.node(probe.node), probe.memory) else { continue };
        let name = format!("{} node {} [ID: {}]", node.role.word(), node.alias, node.id);
        let mut found = |what, advice| {
            all.push(Finding { severity: Severity::Degraded, about: About::Node(node.id), what, advice });
        };
        if let (Some(total), Some(available)) = (memory.total_bytes, memory.available_bytes)
            && available < (total / 100 * SHORT_PERCENT).min(SHORT_BYTES)
        {
            let what =
                format!("the host of {name} is short of memory: {} of {} MiB are left", available >> 20, total >> 20);
            let advice = format!(
                "`ps aux --sort=-rss | head` on {} says who takes it: stop what does not belong there, or add memory. A host that \
                 runs out of memory ends processes, and slows down before.",
                host(node)
            );
            found(what, advice);
        }
        if let Some(limit) = memory.limit_bytes
            && memory.resident_bytes >= limit / 100 * OF_LIMIT_PERCENT
        {
            let (has, most) = (memory.resident_bytes >> 20, limit >> 20);
            let what =
                format!("{name} is short of memory: it takes {has} of the {most} MiB that its control group has");
            let advice = format!(
                "Raise the limit on {} (`MemoryMax` of its unit, or that of its container), or lower the service's own limits: at \
                 the limit the kernel ends it.",
                host(node)
            );
            found(what, advice);
        }
    }
}

#[cfg(test)]
mod tests;
