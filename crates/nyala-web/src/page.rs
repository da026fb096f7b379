// SPDX-License-Identifier: Apache-2.0

//! The pages, and the parts of them that change while one looks.

use crate::facts::Facts;
use crate::history::Span;
use crate::html;
use crate::html::files::Looked;

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Page {
    /// Health, throughput, latency.
    Overview,
    /// Who is where and mirrors whom.
    Topology,
    /// Targets and capacity.
    Targets,
    /// Mirror groups and resync.
    Mirrors,
    /// Services.
    Services,
    /// Busiest clients, users, files and directories.
    Clients,
    /// Where a file lies, and checks of the file system.
    Files,
    /// What changed.
    Events,
}

impl Page {
    /// All of them, in the order of the navigation.
    pub const ALL: [Page; 8] = [
        Page::Overview,
        Page::Topology,
        Page::Targets,
        Page::Mirrors,
        Page::Services,
        Page::Clients,
        Page::Files,
        Page::Events,
    ];

    /// Where it is.
    pub fn path(self) -> &'static str {
        match self {
            Page::Overview => "/",
            Page::Topology => "/topology",
            Page::Targets => "/targets",
            Page::Mirrors => "/mirrors",
            Page::Services => "/services",
            Page::Clients => "/clients",
            Page::Files => "/files",
            Page::Events => "/events",
        }
    }

    /// The page at a path.
    pub fn at(path: &str) -> Option<Page> {
        Page::ALL.into_iter().find(|page| page.path() == path)
    }

    /// Its title.
    pub fn title(self) -> &'static str {
        match self {
            Page::Overview => "Overview",
            Page::Topology => "Topology",
            Page::Targets => "Targets",
            Page::Mirrors => "Mirrors",
            Page::Services => "Services",
            Page::Clients => "Clients",
            Page::Files => "Files",
            Page::Events => "Events",
        }
    }

    /// Where it is with a time for its charts.
    pub fn address(self, span: Span) -> String {
        match span {
            Span::Hour => self.path().to_owned(),
            Span::Day => format!("{}?span=day", self.path()),
        }
    }
}

/// A part of a page, replaced as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its element's id.
    pub id: &'static str,
    /// What is in it.
    pub html: String,
}

/// The parts of a page as things are.
pub fn parts(page: Page, facts: &Facts<'_>) -> Vec<Part> {
    let part = |id, markup: maud::Markup| Part { id, html: markup.into_string() };
    let state = part("state", html::shell::state(facts));
    let own = match page {
        Page::Overview => vec![
            part("findings", html::overview::findings(facts)),
            part("tiles", html::overview::tiles(facts)),
            part("charts", html::charts::charts(facts)),
            part("latest", html::events::latest(facts)),
        ],
        Page::Topology => vec![part("topology", html::topology::topology(facts))],
        Page::Targets => vec![part("targets", html::targets::targets(facts))],
        Page::Mirrors => vec![part("mirrors", html::mirrors::mirrors(facts)), part("slots", html::slots::slots(facts))],
        Page::Services => vec![part("services", html::services::services(facts))],
        Page::Clients => {
            vec![
                part("clients", html::clients::clients(facts)),
                part("users", html::clients::users(facts)),
                part("busy-files", html::busy::files(facts)),
                part("busy-directories", html::busy::directories(facts)),
            ]
        }
        Page::Files => vec![part("checks", html::checks::checks(facts))],
        Page::Events => vec![part("events", html::events::events(facts))],
    };
    std::iter::once(state).chain(own).collect()
}

/// The page about files, whose parts these are, with the form for a path and what was found at one. Neither changes by itself: nobody's typing is lost.
pub fn with_file(facts: &Facts<'_>, parts: &[Part], looked: Option<&Looked>) -> Vec<Part> {
    let part = |id, markup: maud::Markup| Part { id, html: markup.into_string() };
    let form = part("file", html::files::form(looked.map_or("/", |looked| &looked.path)));
    let found = looked.map(|looked| part("found", html::files::looked(facts, looked)));
    let (state, live) = parts.split_at(parts.len().min(1));
    state.iter().cloned().chain([form]).chain(found).chain(live.iter().cloned()).collect()
}
