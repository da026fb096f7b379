// SPDX-License-Identifier: Apache-2.0

//! What a management node knows, as pages are made of it.

use crate::checks::Check;
use crate::figures::Figures;
use crate::history::{History, Span};
use nyala_cluster::Change;
use nyala_cluster::health::Probe;
use nyala_wire::NodeId;
use nyala_wire::map::ClusterMap;

/// All of it.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The cluster map as this node has it.
    pub map: &'a ClusterMap,
    /// The node that shows the page.
    pub here: &'a Here,
    /// What services said last; none yet after a start.
    pub figures: Option<&'a Figures>,
    /// What they said before.
    pub history: &'a History,
    /// The last changes of the cluster state, newest first.
    pub changes: &'a [Change],
    /// The last checks of the file system, newest first.
    pub checks: &'a [Check],
    /// Now, milliseconds since 1970.
    pub now_ms: u64,
    /// The time that charts show.
    pub span: Span,
    /// Whether the visitor may change something.
    pub may_act: bool,
}

/// The node that shows the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Here {
    /// Its alias.
    pub alias: String,
    /// Whether it leads.
    pub leadership: Leadership,
}

/// Whether a management node leads, and who does else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leadership {
    /// It leads.
    Leads,
    /// Another one leads.
    Follows(NodeId),
    /// There is no majority, as far as is known here: nothing can change.
    Lost,
}

impl Facts<'_> {
    /// What came of asking the nodes.
    pub fn probes(&self) -> Vec<Probe> {
        self.figures.map(|figures| figures.probes(self.map)).unwrap_or_default()
    }
}
