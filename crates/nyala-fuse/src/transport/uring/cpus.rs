// SPDX-License-Identifier: Apache-2.0

//! Which queues there are, and which thread serves which.
//!
//! The kernel wants a queue for every CPU that there could ever be, and puts a request into the queue of the CPU that
//! it comes from. Queues of CPUs that this process may not run on are spread over the threads that there are.
//!
//! **Failure model.** `/sys` may be missing or say something odd: then there is no io_uring transport, and the error says
//! why.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs;
use std::io;

/// Says which CPUs there could ever be.
const POSSIBLE: &str = "/sys/devices/system/cpu/possible";

/// What one thread serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// Where the thread belongs; none: anywhere.
    pub(crate) cpu: Option<usize>,
    /// Its queues, each with the number of entries to begin with.
    pub(crate) queues: Vec<(u16, usize)>,
}

/// Entries of a queue whose CPU nobody of ours runs on, to begin with.
const IDLE_ENTRIES: usize = 2;

/// All queues for one thread, or each to a thread on its own CPU.
pub(crate) fn shares(per_cpu: bool, entries: usize) -> io::Result<Vec<Share>> {
    let queues = count(fs::read_to_string(POSSIBLE)?.trim())
        .ok_or_else(|| io::Error::other(format!("{POSSIBLE} is not understood")))?;
    let allowed = sched_getaffinity(None)?;
    let usable: Vec<usize> = (0..usize::from(queues)).filter(|cpu| allowed.is_set(*cpu)).collect();
    Ok(assign_queues(queues, if per_cpu { &usable } else { &[] }, entries))
}

/// How many there are in a list such as `0-3,8`; the kernel numbers its queues from 0 to that, gaps or not.
fn count(list: &str) -> Option<u16> {
    list.split(',').try_fold(0u16, |sum, range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<u16>().ok()?, last.parse::<u16>().ok()?);
        sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

fn assign_queues(queues: u16, cpus: &[usize], entries: usize) -> Vec<Share> {
    if cpus.is_empty() {
        return vec![Share { cpu: None, queues: (0..queues).map(|queue| (queue, entries)).collect() }];
    }
    let mut shares: Vec<Share> = cpus.iter().map(|cpu| Share { cpu: Some(*cpu), queues: Vec::new() }).collect();
    let mut next = 0;
    for queue in 0..queues {
        if let Some(own) = shares.iter_mut().find(|share| share.cpu == Some(usize::from(queue))) {
            own.queues.push((queue, entries));
        } else {
            shares[next % cpus.len()].queues.push((queue, IDLE_ENTRIES.min(entries)));
            next += 1;
        }
    }
    shares
}

/// Keeps the running thread on a CPU.
pub(crate) fn pin(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_understood() {
        assert_eq!(count("0"), Some(1));
        assert_eq!(count("0-1"), Some(2));
        assert_eq!(count("0-3,8,10-11"), Some(7));
        for odd in ["", "x", "0-", "3-2", "0-65535"] {
            assert_eq!(count(odd), None, "{odd}");
        }
    }

    #[test]
    fn every_queue_has_exactly_one_thread() {
        let shares = assign_queues(6, &[1, 4], 8);
        assert_eq!(shares[0], Share { cpu: Some(1), queues: vec![(0, 2), (1, 8), (3, 2)] });
        assert_eq!(shares[1], Share { cpu: Some(4), queues: vec![(2, 2), (4, 8), (5, 2)] });
        assert_eq!(assign_queues(2, &[], 8), [Share { cpu: None, queues: vec![(0, 8), (1, 8)] }]);
    }
}
