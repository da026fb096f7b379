// SPDX-License-Identifier: Apache-2.0

//! Diagnoses a group: what is wrong with it, in a sentence that says what to do.

use nyala_wire::TargetId;
use nyala_wire::map::{Group, MemberState};

/// What is wrong with a group, if something is. `offline` says whether a member is out of reach.
pub fn group_diagnosis(group: &Group, offline: impl Fn(TargetId) -> bool) -> Option<String> {
    let of = |wanted: MemberState| group.members_with_states().filter(move |(_, s)| *s == wanted).map(|(t, _)| t);
    let good: Vec<TargetId> = of(MemberState::Good).collect();
    let id = group.id;
    let Some(last) = good.first() else {
        return Some(format!(
            "mirror group {id} has no good member: files there can be neither read nor written until an operator says which \
             member's content is to be taken (`nyala target set-state TARGET good --yes`)"
        ));
    };
    if good.iter().all(|target| offline(*target)) {
        let other = group.members.iter().find(|target| !good.contains(target));
        let instead = other.map_or(String::new(), |other| {
            format!(
                "; only if it is lost for good: `nyala target set-state {other} good --yes` takes what target {other} has \
                 and gives up what only {last} has"
            )
        });
        return Some(format!(
            "mirror group {id} waits for target {last}, its last good member, which is offline: files there wait until it is \
             back (start its service){instead}"
        ));
    }
    let behind: Vec<String> = group
        .members_with_states()
        .filter(|(_, state)| *state != MemberState::Good)
        .map(|(target, state)| {
            let what = match state {
                MemberState::Resyncing => "is being resynced",
                MemberState::Bad => "is bad (`nyala target set-state TARGET needs-resync` lets it be filled again)",
                _ if offline(target) => "needs resync and is offline",
                _ => "needs resync",
            };
            format!("target {target} {what}")
        })
        .collect();
    let stopped = if group.resync_stopped {
        format!("; resync is stopped (`nyala mirror resync start {id}` lets it go on)")
    } else {
        String::new()
    };
    (!behind.is_empty()).then(|| format!("mirror group {id}: {}{stopped}", behind.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use MemberState::{Bad, Good, NeedsResync, Resyncing};
    use nyala_wire::map::TargetKind;
    use nyala_wire::{GroupId, MapVersion};

    fn said(states: &[MemberState], offline: &[u16], resync_stopped: bool) -> Option<String> {
        let group = Group {
            id: GroupId(7),
            kind: TargetKind::Storage,
            epoch: 1,
            members: (0..states.len() as u16).map(|n| TargetId(101 + n)).collect(),
            states: states.to_vec(),
            term: 1,
            since: MapVersion(1),
            fencing: Vec::new(),
            resync_stopped,
            losses: 0,
            serves: None,
            full: Vec::new(),
        };
        group_diagnosis(&group, |target| offline.contains(&target.0))
    }

    #[test]
    fn every_trouble_is_said_with_what_to_do() {
        assert_eq!(said(&[Good, Good], &[], true), None);
        assert_eq!(said(&[Good, Good], &[102], false), None, "the target's own state says it");
        let waits = said(&[Good, NeedsResync], &[101], false).unwrap();
        assert!(waits.contains("group 7 waits for target 101") && waits.contains("set-state 102 good"), "{waits}");
        let both = said(&[Good, Good], &[101, 102], false).unwrap();
        assert!(both.contains("waits for target 101") && !both.contains("set-state"), "{both}");
        assert!(said(&[Bad, NeedsResync], &[], false).unwrap().contains("no good member"));
        assert_eq!(said(&[Good, Resyncing], &[], false).unwrap(), "mirror group 7: target 102 is being resynced");
        let stopped = said(&[Good, NeedsResync, Bad], &[102], true).unwrap();
        for word in ["102 needs resync and is offline", "103 is bad", "resync start 7"] {
            assert!(stopped.contains(word), "{word}: {stopped}");
        }
    }
}
