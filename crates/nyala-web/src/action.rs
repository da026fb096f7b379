// SPDX-License-Identifier: Apache-2.0

//! What may be done from the page, and what will happen then.

pub mod consequences;

use crate::units;
use nyala_cluster::word::Word;
use nyala_wire::map::Consistency;
use nyala_wire::{GroupId, TargetId};

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// An operator's word on a target's content.
    Declare {
        /// The target.
        target: TargetId,
        /// The word.
        consistency: Consistency,
    },
    /// Resync in a group is to stop, or to go on.
    StopResync {
        /// The group.
        group: GroupId,
        /// Stop.
        stopped: bool,
    },
    /// Another member is to be primary.
    Switch {
        /// The group.
        group: GroupId,
        /// The member.
        target: TargetId,
    },
    /// Slots that are on their way are to stay where they are.
    CancelMoves,
}

/// What somebody confirms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirmation {
    /// The question.
    pub title: String,
    /// What will happen.
    pub will: Vec<String>,
    /// What may be lost by it.
    pub warning: Option<String>,
    /// What the button says.
    pub button: &'static str,
}

impl Action {
    /// From the fields of a form or the query of a link.
    pub fn parse(pairs: &[(String, String)]) -> Result<Action, String> {
        let field = |name: &str| {
            let found = pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
            found.ok_or_else(|| format!("the field {name} is missing"))
        };
        let id = |name: &str| {
            let text = field(name)?;
            text.parse::<u16>().map_err(|_| format!("the field {name} is not the number of a {name}"))
        };
        match field("do")? {
            "declare" => {
                let known = [Consistency::Good, Consistency::NeedsResync, Consistency::Bad];
                let word = field("to")?;
                let consistency = known.into_iter().find(|known| known.word() == word);
                let consistency = consistency.ok_or("the field to is none of good, needs-resync, bad")?;
                Ok(Action::Declare { target: TargetId(id("target")?), consistency })
            }
            "stop-resync" => Ok(Action::StopResync { group: GroupId(id("group")?), stopped: true }),
            "start-resync" => Ok(Action::StopResync { group: GroupId(id("group")?), stopped: false }),
            "switch" => Ok(Action::Switch { group: GroupId(id("group")?), target: TargetId(id("target")?) }),
            "cancel-moves" => Ok(Action::CancelMoves),
            _ => Err("there is no such action".to_owned()),
        }
    }

    /// The fields that [`Action::parse`] understands.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        match self {
            Action::Declare { target, consistency } => vec![
                ("do", "declare".to_owned()),
                ("target", target.to_string()),
                ("to", consistency.word().to_owned()),
            ],
            Action::StopResync { group, stopped } => {
                vec![
                    ("do", if *stopped { "stop-resync" } else { "start-resync" }.to_owned()),
                    ("group", group.to_string()),
                ]
            }
            Action::Switch { group, target } => {
                vec![("do", "switch".to_owned()), ("group", group.to_string()), ("target", target.to_string())]
            }
            Action::CancelMoves => vec![("do", "cancel-moves".to_owned())],
        }
    }

    /// The page that asks for a confirmation. The values are words and numbers: nothing has to be escaped.
    pub fn address(&self) -> String {
        let pairs: Vec<String> = self.fields().iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("/act?{}", pairs.join("&"))
    }
}

/// Where a duration is said in consequences.
fn remaining(bytes: f64, rate: f64) -> String {
    format!("{} left, about {}", units::bytes(bytes), units::duration(bytes / rate))
}

#[cfg(test)]
mod tests;
