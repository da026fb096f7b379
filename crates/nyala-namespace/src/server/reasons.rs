// SPDX-License-Identifier: Apache-2.0

//! What tasks wait for, in the words in which operators are told.

use super::waits::{Event, Wait};

/// What is waited for; `asked`: what the task asked for last.
pub(super) fn word(wait: Wait, asked: &'static str) -> &'static str {
    match wait.event {
        None if wait.until_ms.is_some() => "pause",
        None => asked,
        Some(Event::Released) => "locks",
        Some(Event::Delegations) => "delegations",
        Some(Event::Finished) => "earlier request",
        Some(Event::LockChecks | Event::FileLocks(_)) => "file locks",
        Some(Event::Poll(_) | Event::Considered) => "news",
        Some(Event::Replays) => "replays",
        Some(Event::Map) => "map",
    }
}
