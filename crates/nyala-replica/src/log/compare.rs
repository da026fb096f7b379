// SPDX-License-Identifier: Apache-2.0

//! Members' tables compared at one place of the log, a range of keys at a time, while records go on.
//!
//! The primary has summed up the range as of its last record. Good members get that record, and with it, as nothing may come in
//! between, the question: a member sums up the range when it has applied exactly the records up to there. What the two then differ in,
//! no record explains.
//!
//! **Failure model.** That of the log: the question is sent again with its records until the member has those. Its answer may be lost,
//! and a member that has more already (the question came twice), is not good, or does not know the question, says nothing: who compares
//! asks again. Nothing else waits for an answer.

use super::link::{Link, Mode, Question};
use super::ranges::RangeSum;
use nyala_wire::TargetId;
use std::collections::BTreeMap;

/// Primary: these members are to sum up a range as of record `at`, the last one. An earlier question is dropped.
pub(super) fn ask(links: &mut BTreeMap<TargetId, Link>, good: &[TargetId], at: u64, range: &RangeSum) {
    for (target, link) in links.iter_mut() {
        if good.contains(target) && matches!(link.mode, Mode::Stream) {
            link.question = Some(Question { at, range: range.clone(), sent: false });
        }
    }
}
