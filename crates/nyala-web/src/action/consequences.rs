// SPDX-License-Identifier: Apache-2.0

//! What will happen: said before it is done.

use super::{Action, Confirmation, remaining};
use crate::facts::Facts;
use nyala_cluster::word::Word;
use nyala_wire::map::{Consistency, Group, MemberState, Reachability};
use nyala_wire::{GroupId, TargetId};

/// What will happen; an error says why this cannot be done.
pub fn consequences(action: &Action, facts: &Facts<'_>) -> Result<Confirmation, String> {
    match *action {
        Action::Declare { target, consistency } => declare(facts, target, consistency),
        Action::StopResync { group, stopped } => resync(facts, group, stopped),
        Action::Switch { group, target } => switch(facts, group, target),
        Action::CancelMoves => cancel(facts),
    }
}

fn group_of<'a>(facts: &Facts<'a>, id: GroupId) -> Result<&'a Group, String> {
    facts.map.group(id).ok_or_else(|| format!("there is no mirror group {id} (any more)"))
}

fn declare(facts: &Facts<'_>, id: TargetId, consistency: Consistency) -> Result<Confirmation, String> {
    let target = facts.map.target(id).ok_or_else(|| format!("there is no target {id} (any more)"))?;
    let group = facts.map.groups.iter().find(|group| group.members.contains(&id));
    let now = group.and_then(|group| group.state(id)).map_or(target.consistency.word(), |state| state.word());
    let mut will = vec![format!("Target {id} ({}) becomes {}; now it is {now}.", target.alias, consistency.word())];
    let mut warning = None;
    match (consistency, group) {
        (Consistency::Good, Some(group)) => {
            will.push(format!(
                "Mirror group {} serves what this target has, and fills the other members from it where they differ.",
                group.id
            ));
            warning = Some("What only the other members have is given up, acknowledged writes among it. Do this only if none of them comes back.".to_owned());
        }
        (Consistency::Good, None) => {
            will.push("Clients read and write it again as it is. Nothing is checked.".to_owned())
        }
        (Consistency::NeedsResync, Some(group)) => {
            will.push("It serves nothing until resync has brought it up to date.".to_owned());
            will.push(format!("Resync gives it everything that the primary of mirror group {} has.", group.id));
            let others =
                group.members_with_states().filter(|(member, state)| *member != id && *state == MemberState::Good);
            if others.count() == 0 {
                warning = Some(
                    "No other member is good: files of this group then wait until an operator declares one good."
                        .to_owned(),
                );
            }
        }
        (Consistency::NeedsResync, None) => {
            return Err("a target that is in no mirror group has nothing to be resynced from".to_owned());
        }
        (Consistency::Bad, group) => {
            will.push("It serves nothing any more, until it is declared otherwise.".to_owned());
            if group.is_none() {
                warning = Some("It is not mirrored: what it holds can be neither read nor written then.".to_owned());
            }
        }
    }
    let button = match consistency {
        Consistency::Good => "Declare it good",
        Consistency::NeedsResync => "Have it resynced",
        Consistency::Bad => "Declare it bad",
    };
    Ok(Confirmation { title: format!("Declare target {id} {}?", consistency.word()), will, warning, button })
}

fn resync(facts: &Facts<'_>, id: GroupId, stopped: bool) -> Result<Confirmation, String> {
    let group = group_of(facts, id)?;
    let behind = group.members_with_states().filter(|(_, state)| *state != MemberState::Good);
    let behind: Vec<String> = behind.map(|(target, state)| format!("{target} ({})", state.word())).collect();
    let who = if behind.is_empty() { "none at the moment".to_owned() } else { behind.join(", ") };
    let (title, button) = match stopped {
        true => (format!("Stop resync in mirror group {id}?"), "Stop resync"),
        false => (format!("Let resync go on in mirror group {id}?"), "Let resync go on"),
    };
    let mut will = vec![format!("Members that are not good: {who}.")];
    if stopped {
        will.push("They are not brought up to date until somebody lets resync go on; the group serves meanwhile, with fewer copies.".to_owned());
        let under_way = facts.figures.iter().flat_map(|figures| &figures.resyncs).filter(|((of, _), _)| *of == id);
        will.extend(under_way.map(|((_, target), at)| {
            format!("Resync of target {target} is given up: {}.", remaining(at.remaining, at.rate))
        }));
    } else {
        will.push(
            "Resync begins by itself for members that can be reached. It takes bandwidth of disks and network."
                .to_owned(),
        );
    }
    let warning = (stopped && !behind.is_empty())
        .then(|| "If the good members are lost meanwhile, so is what only they have.".to_owned());
    Ok(Confirmation { title, will, warning, button })
}

fn switch(facts: &Facts<'_>, id: GroupId, target: TargetId) -> Result<Confirmation, String> {
    let group = group_of(facts, id)?;
    let state = group.state(target).ok_or_else(|| format!("target {target} is no member of mirror group {id}"))?;
    let online = facts.map.target(target).is_some_and(|t| t.reachability == Reachability::Online);
    if group.primary() == Some(target) {
        return Err(format!("target {target} is primary of mirror group {id} already"));
    }
    if state != MemberState::Good || !online {
        return Err(format!(
            "target {target} is {} and {}: only a good member that is online can be primary",
            state.word(),
            if online { "online" } else { "not online" }
        ));
    }
    let now = group.primary().map_or_else(String::new, |primary| format!(", instead of target {primary}"));
    let will = vec![
        format!("Target {target} becomes primary of mirror group {id}{now}."),
        "Requests that are under way wait for a moment and go on; nothing is lost, no client has to do anything."
            .to_owned(),
    ];
    Ok(Confirmation { title: format!("Make target {target} primary?"), will, warning: None, button: "Make it primary" })
}

fn cancel(facts: &Facts<'_>) -> Result<Confirmation, String> {
    match facts.map.moves.len() {
        0 => Err("no slot is on its way".to_owned()),
        count => Ok(Confirmation {
            title: "Give up moving slots?".to_owned(),
            will: vec![
                format!(
                    "{count} slots stay with the metadata server that serves them now; what was copied is dropped."
                ),
                "Slots that have moved stay where they are.".to_owned(),
            ],
            warning: None,
            button: "Give up the moves",
        }),
    }
}
