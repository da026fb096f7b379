// SPDX-License-Identifier: Apache-2.0

//! Health at a glance.

use crate::facts::{Facts, Leadership};
use nyala_cluster::health::{About, Finding, Severity, findings, worst};
use nyala_wire::map::{MemberState, TargetKind};

mod fold;

pub use fold::{Card, fold};

/// The state of everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// How bad it is; `None`: all is well.
    pub severity: Option<Severity>,
    /// In a few words.
    pub headline: String,
    /// What is wrong, the worst first.
    pub cards: Vec<Card>,
}

/// What is wrong, as the page says it: what every check finds, and what this node knows of management.
pub fn state(facts: &Facts<'_>) -> State {
    let mut all = findings(facts.map, &facts.probes());
    if facts.here.leadership == Leadership::Lost {
        let finding = Finding {
            severity: Severity::Down,
            about: About::Cluster,
            what: "management has no majority, as far as this node knows: nothing can change, and what this page says may be old"
                .to_owned(),
            advice: "Start the other management nodes (`systemctl start nyala-mgmtd` on their hosts), or look at the network \
                     between them. Files go on being served until leases end."
                .to_owned(),
        };
        all.push(finding);
    }
    let empty = facts.map.targets.is_empty();
    if empty && facts.here.leadership != Leadership::Lost {
        // Nothing is lost where nothing was yet.
        all.iter_mut().filter(|finding| finding.about == About::Cluster).for_each(|finding| {
            finding.severity = Severity::Notice;
        });
    }
    let severity = worst(&all);
    let cards = fold(facts.map, all);
    let of = |severity| cards.iter().filter(|card| card.severity == severity).count();
    let headline = match severity {
        _ if facts.here.leadership == Leadership::Lost => "Management has no majority".to_owned(),
        _ if empty => "There are no targets yet".to_owned(),
        Some(Severity::Down) => format!("Down: {}", things(of(Severity::Down))),
        Some(Severity::Degraded) => format!("Degraded: {}", things(of(Severity::Degraded))),
        Some(Severity::Notice) => "Mending itself".to_owned(),
        None => "All is well".to_owned(),
    };
    State { severity, headline, cards }
}

fn things(count: usize) -> String {
    if count == 1 { "1 thing needs you".to_owned() } else { format!("{count} things need you") }
}

/// How much of one kind of target is used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    /// Size, bytes; 0 where nothing is known.
    pub size: f64,
    /// What is used of it.
    pub used: f64,
}

impl Used {
    /// The used part, of one.
    pub fn part(&self) -> f64 {
        if self.size > 0.0 { (self.used / self.size).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// Used space of all targets of a kind.
pub fn used(facts: &Facts<'_>, kind: TargetKind) -> Used {
    let Some(figures) = facts.figures else { return Used::default() };
    let known = facts.map.targets.iter().filter(|target| target.kind == kind);
    known.filter_map(|target| figures.targets.get(&target.id)).fold(Used::default(), |sum, target| Used {
        size: sum.size + target.size,
        used: sum.used + (target.size - target.free).max(0.0),
    })
}

/// Mirror groups whose members are all good, and all groups.
pub fn whole_groups(facts: &Facts<'_>) -> (usize, usize) {
    let is_whole = |group: &&nyala_wire::map::Group| group.members_with_states().all(|(_, s)| s == MemberState::Good);
    (facts.map.groups.iter().filter(is_whole).count(), facts.map.groups.len())
}
