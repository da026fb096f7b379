// SPDX-License-Identifier: Apache-2.0

//! Members that do not answer, though management may hear them: whose host is probed, and who did not answer last.
//!
//! **Failure model.** What lies between two members fails, in one direction or in both, and between each of them and management it
//! does not: neither is ever offline. A member that owes an answer has its host probed; one that did not answer the last probe is probed
//! again until it does. Probes may take long: none is begun while another one of the same host is under way.

use nyala_wire::TargetId;
use std::collections::BTreeSet;

/// See the module's words.
#[derive(Clone, Debug, Default)]
pub struct Silence {
    probing: BTreeSet<TargetId>,
    silent: BTreeSet<TargetId>,
}

impl Silence {
    /// Whose hosts to probe now: those that owe an answer and those that were silent, as far as they are known still.
    pub fn begin_probes(
        &mut self,
        owing: impl IntoIterator<Item = TargetId>,
        is_known: impl Fn(TargetId) -> bool,
    ) -> Vec<TargetId> {
        self.silent.retain(|target| is_known(*target));
        let due: BTreeSet<TargetId> = owing.into_iter().chain(self.silent.iter().copied()).collect();
        due.into_iter().filter(|target| is_known(*target) && self.probing.insert(*target)).collect()
    }

    /// A probe has ended; whether that is news.
    pub fn probed(&mut self, target: TargetId, answers: bool) -> bool {
        self.probing.remove(&target);
        if answers { self.silent.remove(&target) } else { self.silent.insert(target) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_probe_at_a_time_until_the_host_answers() {
        let (a, gone) = (TargetId(1), TargetId(2));
        let known = |target| target != gone;
        let mut silence = Silence::default();
        assert_eq!(silence.begin_probes([a, gone], known), [a]);
        assert!(silence.begin_probes([a], known).is_empty(), "it is under way");
        assert!(silence.probed(a, false), "it is silent from now on");
        assert_eq!(silence.begin_probes([], known), [a], "until it answers");
        assert!(!silence.probed(a, false));
        assert_eq!(silence.begin_probes([], known), [a]);
        assert!(silence.probed(a, true));
        assert!(silence.begin_probes([], known).is_empty());
        assert!(!silence.probed(a, true));
    }
}
