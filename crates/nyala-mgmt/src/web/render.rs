// SPDX-License-Identifier: Apache-2.0

//! Pages as this node knows things, made once for all who look.

use super::sampled::Sampled;
use crate::clock::wall_ms;
use crate::core::{Core, Refusal};
use nyala_cluster::Change;
use nyala_transport::member::monotonic_ms;
use nyala_web::{Check, Facts, Figures, Here, History, Leadership, Page, Part, Span};
use nyala_wire::map::ClusterMap;
use nyala_wire::{MapVersion, NodeId};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What pages are made of, held while one is made.
pub(super) struct Known {
    map: Arc<ClusterMap>,
    here: Here,
    figures: Option<Arc<Figures>>,
    history: Arc<History>,
    changes: Vec<Change>,
    checks: Vec<Check>,
    now_ms: u64,
    round: u64,
}

impl Known {
    /// As it is now.
    pub fn now(core: &Core, sampled: &Sampled) -> Known {
        let map = core.view.map();
        let me = u32::try_from(core.me).map_or(NodeId(0), NodeId);
        let alias = map.node(me).map_or_else(|| core.me.to_string(), |node| node.alias.clone());
        let round = *sampled.rounds().borrow();
        let (figures, history) = sampled.latest();
        let here = Here { alias, leadership: leadership(core) };
        let leads = here.leadership == Leadership::Leads;
        let checks = core.checks.lock().shown(monotonic_ms(), &core.view.state().orders, leads);
        Known { map, here, figures, history, changes: core.view.changes(), checks, now_ms: wall_ms(), round }
    }

    /// For somebody who looks.
    pub fn facts(&self, span: Span, may_act: bool) -> Facts<'_> {
        Facts {
            map: &self.map,
            here: &self.here,
            figures: self.figures.as_deref(),
            history: &self.history,
            changes: &self.changes,
            checks: &self.checks,
            now_ms: self.now_ms,
            span,
            may_act,
        }
    }
}

/// Whether this node leads, as far as it knows.
pub(super) fn leadership(core: &Core) -> Leadership {
    match core.check_leading() {
        Ok(()) => Leadership::Leads,
        Err(Refusal::NotLeader { leader: Some(leader), .. }) => Leadership::Follows(leader),
        Err(_) => Leadership::Lost,
    }
}

/// A page for somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct View {
    /// Which.
    pub page: Page,
    /// The time of its charts.
    pub span: Span,
    /// Whether the visitor may change something.
    pub may_act: bool,
}

type Moment = (MapVersion, u64, Leadership, Vec<Check>);

/// The parts of a view, and of what moment they are.
type RenderedView = (Moment, Arc<Vec<Part>>);

/// Parts of pages that were made; one moment of each.
#[derive(Default)]
pub(super) struct Rendered(Mutex<BTreeMap<View, RenderedView>>);

impl Rendered {
    /// The parts of a page; made if something has changed since it was made last.
    pub fn parts(&self, view: View, known: &Known) -> Arc<Vec<Part>> {
        let moment = (known.map.version, known.round, known.here.leadership.clone(), known.checks.clone());
        // Held while it is made, so that it is made once.
        let mut made = self.0.lock();
        if let Some((_, parts)) = made.get(&view).filter(|(then, _)| *then == moment) {
            return parts.clone();
        }
        let parts = Arc::new(nyala_web::parts(view.page, &known.facts(view.span, view.may_act)));
        made.insert(view, (moment, parts.clone()));
        parts
    }
}
