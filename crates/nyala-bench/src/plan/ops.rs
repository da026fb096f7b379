// SPDX-License-Identifier: Apache-2.0

//! From a phase to the operations of one task.

use super::fill::mix;
use super::{Entry, Op, Phase, Step};

impl Phase {
    /// The task whose files this task works on.
    fn owner(&self, task: usize) -> usize {
        (task + self.shift) % self.tasks
    }

    /// One of the directories that this task works in, by its number.
    fn dir(&self, task: usize, number: u64) -> usize {
        let first = if self.shared { 0 } else { self.owner(task) * self.dirs_each };
        self.first_dir + first + number as usize
    }

    /// The number of the directory that has name number `index` of a task.
    fn dir_of_name(&self, index: u64) -> u64 {
        index / self.count.div_ceil(self.dirs_each as u64).max(1)
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
        if self.step.makes()
            || self.step.is_random()
            || matches!(self.step, Step::List | Step::ListPlus | Step::RemoveDir)
        {
            return self.count;
        }
        self.count.min(done.get(self.owner(task)).copied().unwrap_or(self.count))
    }

    /// Operation number `index` of a task.
    pub fn op(&self, task: usize, index: u64) -> Op {
        let owner = self.owner(task);
        match self.step {
            Step::List | Step::ListPlus => {
                let dir = self.dir(task, index % self.dirs_each as u64);
                Op::Dir { dir, plus: self.step == Step::ListPlus }
            }
            Step::RemoveDir => Op::RemoveDir { dir: self.dir(task, index) },
            step if step.is_transfer() => Op::Transfer {
                write: step.is_write(),
                offset: self.offset(task, index),
                bytes: self.bytes,
                key: self.file_key(task),
            },
            step => {
                let (dir, index) = (self.dir(task, self.dir_of_name(index)), self.first_name + index);
                let entry = Entry { dir, name: format!("f.{owner}.{index}") };
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
