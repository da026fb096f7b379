// SPDX-License-Identifier: Apache-2.0

//! From a phase to the operations of one task.

use super::fill::mix;
use super::{Entry, Op, Phase, Step};

impl Phase {
    /// The task whose files this task works on.
    fn owner(&self, task: usize) -> usize {
        (task + self.shift) % self.tasks
    }

    /// The directory that this task works in.
    pub fn dir(&self, task: usize) -> usize {
        if self.shared { self.first_dir } else { self.first_dir + self.owner(task) }
    }

    /// The file that is open during a phase of transfers.
    pub fn file(&self, task: usize) -> Entry {
        let name = if self.shared { "shared".to_owned() } else { format!("data.{}", self.owner(task)) };
        Entry { dir: self.first_dir, name }
    }

    /// Content of the file that is open.
    fn file_key(&self, task: usize) -> u64 {
        if self.shared { mix(self.seed ^ 0x5348) } else { mix(self.seed ^ self.owner(task) as u64) }
    }

    /// How many operations the task does: no more than its owner made in a phase before.
    pub fn count_after(&self, done: &[u64], task: usize) -> u64 {
        if self.step.makes() || self.step.is_random() || matches!(self.step, Step::List | Step::ListPlus) {
            return self.count;
        }
        self.count.min(done.get(self.owner(task)).copied().unwrap_or(self.count))
    }

    /// Operation number `index` of a task.
    pub fn op(&self, task: usize, index: u64) -> Op {
        let owner = self.owner(task);
        match self.step {
            Step::List | Step::ListPlus => Op::Dir { dir: self.dir(task), plus: self.step == Step::ListPlus },
            step if step.is_transfer() => Op::Transfer {
                write: step.is_write(),
                offset: self.offset(task, index),
                bytes: self.bytes,
                key: self.file_key(task),
            },
            step => {
                let index = self.first_name + index;
                let entry = Entry { dir: self.dir(task), name: format!("f.{owner}.{index}") };
                Op::Name { step, entry, bytes: self.bytes, key: self.seed ^ (owner as u64) << 40 ^ index }
            }
        }
    }

    fn offset(&self, task: usize, index: u64) -> u64 {
        let bytes = self.bytes as u64;
        if self.step.is_random() {
            let places = (self.file_bytes / bytes).max(1);
            return mix(self.seed ^ mix((task as u64) << 32 ^ index)) % places * bytes;
        }
        let record = if self.shared { index * self.tasks as u64 + self.owner(task) as u64 } else { index };
        record * bytes
    }
}

#[cfg(test)]
mod tests;
