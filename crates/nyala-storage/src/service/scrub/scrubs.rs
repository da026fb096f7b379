// SPDX-License-Identifier: Apache-2.0

//! The scrubs of all targets of a service. Failure model: see the parent module.

use super::asks::Asks;
use super::figures::ScrubFigures;
use super::target_scrub::TargetScrub;
use crate::config::ScrubConfig;
use crate::service::target::Target;
use crate::service::targets::ById;
use nyala_transport::HandshakeConfig;
use nyala_transport::member::Member;
use nyala_wire::TargetId;
use nyala_wire::scrub::ScrubState;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// The scrubs of all targets of a service.
pub struct Scrubs(BTreeMap<TargetId, Arc<TargetScrub>>);

impl Scrubs {
    /// With what the targets remember. Nothing is read before [`Scrubs::start`].
    pub fn open(config: ScrubConfig, targets: &ById, member: &Member, handshake: HandshakeConfig) -> Arc<Scrubs> {
        let asks = Arc::new(Asks::new(member.clone(), handshake));
        let open = |(id, target): (&TargetId, &Arc<Target>)| {
            (*id, Arc::new(TargetScrub::open(*id, target.clone(), config, asks.clone())))
        };
        Arc::new(Scrubs(targets.iter().map(open).collect()))
    }

    /// Begins, unless scrubs are switched off.
    pub fn start(&self) -> Vec<JoinHandle<()>> {
        let wanted = self.0.values().filter(|scrub| !scrub.config.interval.is_zero());
        wanted.map(|scrub| tokio::spawn(scrub.clone().run())).collect()
    }

    /// Ends what was begun, and remembers where it was.
    pub async fn stop(&self, started: Vec<JoinHandle<()>>) {
        started.iter().for_each(JoinHandle::abort);
        let any = !started.is_empty();
        for task in started {
            // What it holds of its target is free after this, whose directory may be wanted next.
            let _ = task.await;
        }
        self.0.values().filter(|_| any).for_each(|scrub| scrub.save());
    }

    /// How a target's scrub is.
    pub fn describe(&self, target: TargetId) -> Option<ScrubState> {
        self.0.get(&target).map(|scrub| scrub.describe())
    }

    /// Figures of a target.
    pub fn figures(&self, target: TargetId) -> ScrubFigures {
        self.0.get(&target).map(|scrub| scrub.figures()).unwrap_or_default()
    }

    /// The same of all targets, with names of the form `scrub.TARGET.WHAT`, for whoever judges the health of the cluster.
    pub fn counters(&self) -> Vec<(String, u64)> {
        let of = |(id, scrub): (&TargetId, &Arc<TargetScrub>)| {
            let ScrubFigures { damaged_bytes, late, .. } = scrub.figures();
            [(format!("scrub.{id}.damaged_bytes"), damaged_bytes), (format!("scrub.{id}.late"), late.into())]
        };
        self.0.iter().flat_map(of).collect()
    }
}
