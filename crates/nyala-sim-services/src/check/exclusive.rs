// SPDX-License-Identifier: Apache-2.0

//! Exactly once: of clients that make the same name exclusively one succeeds, and a request that is sent again succeeds or fails as
//! it did. Pure.

use super::ClientId;
use std::collections::BTreeMap;

/// Nanoseconds of the simulation.
type Nanos = u64;

/// What a client that is gone has asked for may arrive for so long; and so long a change may be unsynced.
pub const LATE: Nanos = 40_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Free,
    /// This client was told that it has made it.
    Held(ClientId),
    /// Nobody can say, at least until then.
    Unknown(Nanos),
}

/// Names that several clients make and remove.
#[derive(Default)]
pub struct Exclusive {
    names: BTreeMap<String, (Name, ClientId)>,
    /// Who is making or removing a name at the moment.
    trying: BTreeMap<String, Vec<ClientId>>,
}

impl Exclusive {
    fn get(&self, name: &str) -> Name {
        self.names.get(name).map_or(Name::Free, |(state, _)| *state)
    }

    fn set(&mut self, name: &str, state: Name, by: ClientId) {
        self.names.insert(name.into(), (state, by));
    }

    /// A client begins to make or remove a name.
    pub fn begin(&mut self, name: &str, client: ClientId) {
        self.trying.entry(name.into()).or_default().push(client);
    }

    /// It is done; whether nobody else is at it.
    fn end(&mut self, name: &str, client: ClientId) -> bool {
        let trying = self.trying.entry(name.into()).or_default();
        trying.retain(|other| *other != client);
        trying.is_empty()
    }

    /// A client was told that it has made the name.
    pub fn made(&mut self, name: &str, client: ClientId, now: Nanos) -> Option<String> {
        self.end(name, client);
        match self.get(name) {
            Name::Held(other) => return Some(format!("{name} was made by {client} while {other} had it")),
            Name::Unknown(until) if until > now => {}
            Name::Unknown(_) | Name::Free => self.set(name, Name::Held(client), client),
        }
        None
    }

    /// A client was told that the name is there already. `alone`: nobody else was at it from the beginning on.
    pub fn refused(&mut self, name: &str, client: ClientId, alone: bool) -> Option<String> {
        let nobody = self.end(name, client);
        let free = self.get(name) == Name::Free;
        (free && nobody && alone).then(|| format!("{name} is refused to {client}, and nobody has it"))
    }

    /// Whether the name is free and nobody else is at it.
    pub fn is_quiet(&self, name: &str) -> bool {
        self.get(name) == Name::Free && self.trying.get(name).is_none_or(Vec::is_empty)
    }

    /// Whether this client has the name, or anybody may remove it because it is not known who has.
    pub fn may_remove(&self, name: &str, client: ClientId, now: Nanos) -> bool {
        match self.get(name) {
            Name::Free => false,
            Name::Held(by) => by == client,
            Name::Unknown(until) => until <= now && self.trying.get(name).is_none_or(Vec::is_empty),
        }
    }

    /// A client begins to remove it; from now on others may make it. Whether it has to be there.
    pub fn removing(&mut self, name: &str, client: ClientId) -> bool {
        self.begin(name, client);
        let held = self.get(name) == Name::Held(client);
        self.set(name, Name::Unknown(0), client);
        held
    }

    /// It is removed. `held` as [`Exclusive::removing`] said; `missing`: the client was told that there is no such name.
    pub fn removed(&mut self, name: &str, client: ClientId, held: bool, missing: bool) -> Option<String> {
        let alone = self.end(name, client);
        let known = self.get(name) == Name::Unknown(0);
        if alone && known {
            self.set(name, Name::Free, client);
        }
        // Somebody has made it meanwhile: before it was removed, or after that.
        if !missing && matches!(self.get(name), Name::Held(by) if by != client) {
            self.set(name, Name::Unknown(0), client);
        }
        (held && missing && known).then(|| format!("{name} is missing though {client} had made it"))
    }

    /// The client is gone, or was told of an error: its last change may not have been synced, its last request is on its way.
    pub fn lost(&mut self, client: ClientId, now: Nanos) {
        for (name, trying) in &mut self.trying {
            let was_at_it = trying.contains(&client);
            trying.retain(|other| *other != client);
            let by = self.names.get(name).map(|(_, by)| *by);
            if was_at_it || by == Some(client) {
                self.names.insert(name.clone(), (Name::Unknown(now + LATE), client));
            }
        }
    }

    /// What was changed last may come to nothing: a metadata server lost power.
    pub fn may_be_lost(&mut self, until: Nanos) {
        self.names.values_mut().for_each(|(state, _)| *state = Name::Unknown(until));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it() {
        let mut names = Exclusive::default();
        names.begin("a", 1);
        names.begin("a", 2);
        assert_eq!(names.made("a", 1, 0), None);
        assert_eq!(names.refused("a", 2, false), None);
        names.begin("a", 2);
        assert!(names.made("a", 2, 0).is_some(), "two have it");
    }

    #[test]
    fn a_retry_that_meets_itself_is_found() {
        let mut names = Exclusive::default();
        names.begin("a", 1);
        assert!(names.refused("a", 1, true).is_some());
        names.begin("a", 1);
        assert_eq!(names.made("a", 1, 0), None);
        assert!(names.may_remove("a", 1, 0) && names.removing("a", 1));
        assert!(names.removed("a", 1, true, true).is_some());
    }

    #[test]
    fn a_removal_may_be_of_what_was_made_while_it_was_under_way() {
        for (missing, is_there) in [(false, false), (true, true)] {
            let mut names = Exclusive::default();
            assert!(!names.removing("a", 1));
            names.begin("a", 2);
            assert_eq!(names.made("a", 2, 0), None);
            assert_eq!(names.removed("a", 1, false, missing), None);
            let held = names.removing("a", 2);
            assert_eq!(held, is_there);
            assert_eq!(names.removed("a", 2, held, true).is_some(), is_there);
        }
    }

    #[test]
    fn of_the_dead_nothing_is_known_for_a_while() {
        let mut names = Exclusive::default();
        names.begin("a", 1);
        assert_eq!(names.made("a", 1, 0), None);
        names.lost(1, 5);
        assert_eq!(names.refused("a", 2, true), None);
        assert!(!names.may_remove("a", 2, LATE) && names.may_remove("a", 2, LATE + 5));
        assert!(!names.removing("a", 2));
        assert_eq!(names.removed("a", 2, false, true), None);
        assert!(names.is_quiet("a"));
    }
}
