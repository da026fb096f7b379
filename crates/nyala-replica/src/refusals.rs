// SPDX-License-Identifier: Apache-2.0

//! Why clients' changes were not done as they asked. To the member such a change is done, as on all other members: no disk
//! failed. Its client gets the refusal, and gets it again when it asks again.
//!
//! **Failure model.** The reply is lost, and the client asks again under the same number: refusals are remembered. There may be
//! any number of them: the oldest go, and who asks again that late is told that the change is done.

use crate::input::Ticket;
use crate::numbers::ByNumber;
use nyala_wire::WireError;
use std::collections::BTreeMap;

/// Most refusals that are remembered.
const MOST: usize = 4096;

/// Whose change: client and number.
pub type Origin = (u64, u64);

/// Refusals, by whose change it was; and whose change each buffer is.
#[derive(Clone, Debug, Default)]
pub struct Refusals {
    origins: ByNumber<Ticket, Origin>,
    /// With its age.
    by_origin: BTreeMap<Origin, (u64, WireError)>,
    by_age: BTreeMap<u64, Origin>,
    last: u64,
}

impl Refusals {
    /// A change of a client comes in, in this buffer.
    pub fn track(&mut self, ticket: Ticket, origin: Origin) {
        self.origins.insert(ticket, origin);
    }

    /// The buffer is dropped: the change is over.
    pub fn untrack(&mut self, ticket: Ticket) {
        self.origins.remove(&ticket);
    }

    /// The change in this buffer was not done as asked. Nothing is remembered of buffers that came from other members: their
    /// clients ask there.
    pub fn refuse(&mut self, ticket: Ticket, error: WireError) {
        let Some(origin) = self.origins.get(&ticket).copied() else { return };
        self.last += 1;
        if let Some((age, _)) = self.by_origin.insert(origin, (self.last, error)) {
            self.by_age.remove(&age);
        }
        self.by_age.insert(self.last, origin);
        if self.by_age.len() > MOST
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.by_origin.remove(&oldest);
        }
    }

    /// What a client is told of its change instead of "done".
    pub fn of(&self, origin: Origin) -> Option<&WireError> {
        self.by_origin.get(&origin).map(|(_, error)| error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::ErrorCode;

    fn refused(refusals: &mut Refusals, number: u64, error: ErrorCode) {
        let ticket = Ticket(number);
        refusals.track(ticket, (7, number));
        refusals.refuse(ticket, error.into());
        refusals.untrack(ticket);
    }

    fn code(refusals: &Refusals, number: u64) -> Option<ErrorCode> {
        refusals.of((7, number)).map(|error| error.code)
    }

    #[test]
    fn a_refusal_outlives_its_buffer_and_the_last_one_counts() {
        let mut refusals = Refusals::default();
        refused(&mut refusals, 1, ErrorCode::STALE);
        refused(&mut refusals, 2, ErrorCode::STALE);
        refused(&mut refusals, 1, ErrorCode::FILE_TOO_BIG);
        assert_eq!(code(&refusals, 1), Some(ErrorCode::FILE_TOO_BIG));
        assert_eq!((code(&refusals, 2), code(&refusals, 3)), (Some(ErrorCode::STALE), None));
    }

    #[test]
    fn nothing_is_remembered_of_what_no_client_of_ours_waits_for() {
        let mut refusals = Refusals::default();
        refusals.refuse(Ticket(1), ErrorCode::STALE.into());
        refusals.track(Ticket(2), (7, 2));
        refusals.untrack(Ticket(2));
        refusals.refuse(Ticket(2), ErrorCode::STALE.into());
        assert!(refusals.by_origin.is_empty() && refusals.by_age.is_empty());
    }

    #[test]
    fn the_oldest_go_and_a_repeated_one_is_young_again() {
        let mut refusals = Refusals::default();
        (0..MOST as u64).for_each(|number| refused(&mut refusals, number, ErrorCode::STALE));
        refused(&mut refusals, 0, ErrorCode::STALE);
        assert_eq!((refusals.by_age.len(), refusals.by_origin.len()), (MOST, MOST));
        refused(&mut refusals, MOST as u64, ErrorCode::STALE);
        assert_eq!((refusals.by_age.len(), refusals.by_origin.len()), (MOST, MOST));
        assert!(code(&refusals, 0).is_some() && code(&refusals, 1).is_none() && code(&refusals, 2).is_some());
    }
}
