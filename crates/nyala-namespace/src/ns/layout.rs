// SPDX-License-Identifier: Apache-2.0

//! Where a new file's data goes.
//!
//! After a restart of everything metadata may serve before storage is back: what only has to be waited for is NOT_READY,
//! which clients try again; what does not come by waiting is NO_SPACE.

use super::env::Env;
use crate::change::Step;
use nyala_wire::map::{Consistency, Group, MemberState, Placement, Target, TargetKind};
use nyala_wire::{DataLocation, ErasureCode, ErrorCode, Layout, Pattern, StripePattern, TargetId};

impl Env<'_> {
    /// Whether a pool has storage that is only away for now, as after a restart of everything: targets, or for mirrored
    /// files groups with a member that can serve once it is back. Operators make groups: where there is none, waiting
    /// does not help.
    fn is_pool_away(&self, pattern: &StripePattern) -> bool {
        let comes_back = |target: &Target| target.pool == pattern.pool && target.consistency != Consistency::Bad;
        if pattern.pattern != Pattern::Mirror {
            return self.map.targets_of(TargetKind::Storage).any(comes_back);
        }
        let serves = |group: &Group| {
            let mut members = group.members_with_states();
            members.any(|(id, state)| state == MemberState::Good && self.map.target(id).is_some_and(comes_back))
        };
        self.map.groups.iter().any(|group| group.kind == TargetKind::Storage && serves(group))
    }

    /// Whether it is in order, and all its targets or groups exist.
    pub fn is_usable(&self, layout: &Layout) -> bool {
        let known = |location| match location {
            DataLocation::Target(id) => self.map.target(id).is_some_and(|target| target.kind == TargetKind::Storage),
            DataLocation::Group(id) => {
                self.map.groups.iter().any(|one| one.id == id && one.kind == TargetKind::Storage)
            }
        };
        layout.check().is_ok() && layout.indices().map(|index| layout.location(index)).all(known)
    }

    /// Where the data of a file is that is made again: as it was told, if that can be.
    pub fn layout_again(&self, pattern: &StripePattern, acknowledged: &Layout) -> Step<Layout> {
        let of_new = pattern.of_new_files();
        let same = acknowledged.pattern == of_new.pattern && acknowledged.code == of_new.code;
        let fits = same && acknowledged.chunk_bytes == pattern.chunk_bytes;
        if !fits || !self.is_usable(acknowledged) {
            return Err(ErrorCode::STALE.with("a file cannot be made again with the layout that it had").into());
        }
        Ok(acknowledged.clone())
    }

    /// The same without these targets or groups.
    pub fn layout_elsewhere(&self, pattern: &StripePattern, avoid: &[TargetId]) -> Step<Layout> {
        if let Some(code) = pattern.code.filter(|_| pattern.pattern == Pattern::Ec) {
            return self.layout_encoded(pattern, code, avoid);
        }
        // All that there are, in the order in which they would be chosen.
        let mut layout = self.layout(&StripePattern { num_targets: StripePattern::MAX_TARGETS, ..*pattern })?;
        layout.targets.retain(|target| !avoid.contains(target));
        layout.targets.truncate(usize::from(pattern.num_targets));
        if layout.targets.is_empty() {
            let what = if pattern.pattern == Pattern::Mirror { "mirror group" } else { "storage target" };
            return Err(ErrorCode::NO_SPACE.with(format!("no other {what} of the pool can take the data")).into());
        }
        Ok(layout)
    }

    /// Where encoded data can be: each part on a target of its own, and no two on one node before every node has one.
    fn layout_encoded(&self, pattern: &StripePattern, code: ErasureCode, avoid: &[TargetId]) -> Step<Layout> {
        let all = StripePattern { num_targets: StripePattern::MAX_TARGETS, ..*pattern };
        let mut targets = self.placement.choose(&all, Placement::RandomInternode, &[], self.random, 0);
        targets.retain(|target| !avoid.contains(target));
        let (there, needed) = (targets.len(), usize::from(code.width()));
        if there < needed {
            let ErasureCode { data, parity } = code;
            let why = format!(
                "{data}+{parity} needs {needed} storage targets of the pool that can take data, and there are {there}"
            );
            return Err(ErrorCode::NO_SPACE.with(why).into());
        }
        targets.truncate(needed);
        Ok(Layout { pattern: Pattern::Ec, chunk_bytes: pattern.chunk_bytes, targets, moves: 0, code: Some(code) })
    }

    /// Where a new file's data will be. What is to be encoded is mirrored first.
    pub fn layout(&self, pattern: &StripePattern) -> Step<Layout> {
        let pattern = &pattern.of_new_files();
        let targets = self.placement.choose(pattern, self.map.settings.placement, &[], self.random, 0);
        if targets.is_empty() && self.is_pool_away(pattern) {
            return Err(ErrorCode::NOT_READY.with("no storage of the directory's pool is online now").into());
        }
        if targets.is_empty() {
            let what = if pattern.pattern == Pattern::Mirror { "mirror group" } else { "storage target" };
            let why = format!("no {what} of the directory's pool can take new files");
            return Err(ErrorCode::NO_SPACE.with(why).into());
        }
        let StripePattern { pattern, chunk_bytes, code, .. } = *pattern;
        Ok(Layout { pattern, chunk_bytes, targets, moves: 0, code })
    }
}
