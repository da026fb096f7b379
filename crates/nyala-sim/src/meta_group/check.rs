// SPDX-License-Identifier: Apache-2.0

//! What must hold.

use super::node::{Node, TERM, pairs};
use nyala_replica::log::Summed;
use nyala_wire::TargetId;
use std::collections::BTreeMap;

/// What was seen, to judge what comes.
#[derive(Debug, Default)]
pub struct Check {
    /// For each key the newest record that was answered for, with its number.
    answered: BTreeMap<u8, (u64, u64)>,
    /// The same, also of what power cuts took since, until a primary leads that does not claim to have everything.
    promised: BTreeMap<u8, (u64, u64)>,
    /// How many primaries claimed that.
    pub claimed: u64,
    /// Content of records that were answered for.
    contents: BTreeMap<u64, Vec<(u8, u64)>>,
    /// All up to here is on disk at every good member.
    durable: u64,
    leaders: BTreeMap<u32, TargetId>,
    /// What primaries had when they asked members to compare, by the number of the question.
    asked: BTreeMap<u64, Summed>,
    /// Answers to that.
    pub compared: u64,
    /// Records that were answered for.
    pub count: u64,
}

type Verdict = Result<(), String>;

impl Check {
    /// A primary answers for all records up to one.
    pub fn committed(&mut self, node: &Node, up_to: u64) -> Verdict {
        let member = node.member.as_ref().ok_or("a member that does not run answers")?;
        let from = self.contents.last_key_value().map_or(0, |(index, _)| *index);
        for (index, record) in member.records_up_to(up_to) {
            let content: Vec<(u8, u64)> = pairs(&record).collect();
            match self.contents.get(&index) {
                Some(known) if *known != content => {
                    return Err(format!("{}: record {index} is {content:?}, and was {known:?}", node.target));
                }
                Some(_) => {}
                None => {
                    for (key, value) in content.iter().filter(|(key, _)| *key != TERM) {
                        self.answered.insert(*key, (*value, index));
                        self.promised.insert(*key, (*value, index));
                    }
                    self.contents.insert(index, content);
                    self.count += u64::from(index > from);
                }
            }
        }
        Ok(())
    }

    /// A primary asks members to compare; the number of the question.
    pub fn asks(&mut self, sum: Summed) -> u64 {
        let number = self.asked.len() as u64 + 1;
        self.asked.insert(number, sum);
        number
    }

    /// A member has answered: at one place of the log, its tables are the primary's.
    pub fn compared(&mut self, member: TargetId, number: u64, sum: Option<Summed>) -> Verdict {
        let (Some(theirs), Some(asked)) = (sum, self.asked.get(&number)) else { return Ok(()) };
        self.compared += 1;
        match theirs == *asked {
            true => Ok(()),
            false => Err(format!("{member} has {theirs:?} where its primary had {asked:?}, as of the same record")),
        }
    }

    /// A primary says that this is on disk everywhere.
    pub fn durable(&mut self, index: u64) -> Verdict {
        self.durable = self.durable.max(index);
        Ok(())
    }

    /// The last good copy has lost power: what was not said to be on disk may be gone.
    pub fn lost(&mut self) {
        let durable = self.durable;
        self.answered.retain(|_, (_, index)| *index <= durable);
        self.contents.retain(|index, _| *index <= durable);
    }

    /// A member begins to lead.
    pub fn leads(&mut self, term: u32, node: &Node) -> Verdict {
        if let Some(other) = self.leaders.insert(term, node.target).filter(|other| *other != node.target) {
            return Err(format!("{other} and {} both lead term {term}", node.target));
        }
        if node.applied.state.copying.is_some() {
            return Err(format!("{} leads term {term} and has not been given everything", node.target));
        }
        match node.member.as_ref().is_some_and(|member| member.has_all_answered()) {
            true => {
                self.claimed += 1;
                has_all(&self.promised, node)
            }
            false => {
                self.promised.clone_from(&self.answered);
                self.has_all(node)
            }
        }
    }

    /// A primary answers a read: nothing that was answered for before is missing.
    pub fn read(&mut self, node: &Node, key: u8) -> Verdict {
        let has = node.applied.rows.get(&key).copied().unwrap_or(0);
        match self.answered.get(&key) {
            Some((value, index)) if has < *value => {
                Err(format!("{} shows {has} for key {key} after record {index} set it to {value}", node.target))
            }
            _ => Ok(()),
        }
    }

    /// What was answered for is there, or newer.
    pub fn has_all(&self, node: &Node) -> Verdict {
        has_all(&self.answered, node)
    }
}

fn has_all(answered: &BTreeMap<u8, (u64, u64)>, node: &Node) -> Verdict {
    for (key, (value, index)) in answered {
        let has = node.applied.rows.get(key).copied().unwrap_or(0);
        if has < *value {
            return Err(format!(
                "{} has {has} for key {key}; record {index} set it to {value}, and was answered for",
                node.target
            ));
        }
    }
    Ok(())
}
