// SPDX-License-Identifier: Apache-2.0

//! Sessions of browsers that have shown a token. Pure: times and random words are arguments.

use crate::rest::{Access, Shown};
use std::collections::BTreeMap;

/// Most sessions; what was opened first goes first.
const MOST: usize = 1000;
/// A session lasts so long, milliseconds.
pub(crate) const LASTS_MS: u64 = 12 * 3600 * 1000;

/// A session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    /// What its token lets it do.
    pub access: Access,
    /// The word that its forms have to have.
    pub csrf: String,
    /// What the audit log calls its token.
    pub name: String,
    /// What came of the last action, until it has been shown.
    pub flash: Option<(bool, String)>,
    opened_ms: u64,
    ends_ms: u64,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Sessions(BTreeMap<String, Session>);

impl Sessions {
    /// A new one, with an id and a word for forms that nobody can guess.
    pub fn open(&mut self, now_ms: u64, shown: Shown, id: String, csrf: String) {
        self.0.retain(|_, session| now_ms < session.ends_ms);
        if self.0.len() >= MOST {
            let oldest = self.0.iter().min_by_key(|(_, session)| session.opened_ms).map(|(id, _)| id.clone());
            oldest.map(|id| self.0.remove(&id));
        }
        // It ends with its token.
        let ends_ms = shown.ends_s.map_or(u64::MAX, |ends_s| ends_s.saturating_mul(1000)).min(now_ms + LASTS_MS);
        let Shown { access, name, .. } = shown;
        self.0.insert(id, Session { access, csrf, name, flash: None, opened_ms: now_ms, ends_ms });
    }

    /// The session with this id, while it lasts.
    pub fn find(&self, now_ms: u64, id: &str) -> Option<&Session> {
        self.0.get(id).filter(|session| now_ms < session.ends_ms)
    }

    /// What came of the last action; it is shown once.
    pub fn take_flash(&mut self, id: &str) -> Option<(bool, String)> {
        self.0.get_mut(id).and_then(|session| session.flash.take())
    }

    /// What came of an action.
    pub fn flash(&mut self, id: &str, done: bool, text: String) {
        if let Some(session) = self.0.get_mut(id) {
            session.flash = Some((done, text));
        }
    }

    /// It ends.
    pub fn close(&mut self, id: &str) {
        self.0.remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(sessions: &mut Sessions, now_ms: u64, id: &str) {
        let shown = Shown { access: Access::View, name: "view.token".to_owned(), ends_s: None };
        sessions.open(now_ms, shown, id.to_owned(), format!("c{id}"));
    }

    #[test]
    fn a_session_ends_with_its_token() {
        let mut sessions = Sessions::default();
        let shown = Shown { access: Access::Admin, name: "token of alice".to_owned(), ends_s: Some(100) };
        sessions.open(90_000, shown, "a".to_owned(), "c".to_owned());
        assert_eq!(sessions.find(99_999, "a").unwrap().name, "token of alice");
        assert_eq!(sessions.find(100_000, "a"), None);
    }

    #[test]
    fn sessions_end() {
        let mut sessions = Sessions::default();
        open(&mut sessions, 1000, "a");
        assert_eq!(sessions.find(1000 + LASTS_MS - 1, "a").unwrap().csrf, "ca");
        assert_eq!(sessions.find(1000 + LASTS_MS, "a"), None);
        assert_eq!(sessions.find(1000, ""), None);
        sessions.close("a");
        assert_eq!(sessions.find(1000, "a"), None);
    }

    #[test]
    fn their_number_is_bounded() {
        let mut sessions = Sessions::default();
        (0..MOST as u64 + 5).for_each(|n| open(&mut sessions, n, &format!("s{n}")));
        assert_eq!(sessions.0.len(), MOST);
        assert!(sessions.find(9999, "s4").is_none() && sessions.find(9999, "s5").is_some());
    }

    #[test]
    fn what_came_of_an_action_is_shown_once() {
        let mut sessions = Sessions::default();
        open(&mut sessions, 0, "a");
        sessions.flash("a", true, "done".to_owned());
        assert_eq!(sessions.take_flash("a"), Some((true, "done".to_owned())));
        assert_eq!((sessions.take_flash("a"), sessions.take_flash("b")), (None, None));
    }
}
