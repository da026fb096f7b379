// SPDX-License-Identifier: Apache-2.0

//! Why damage is left.

/// Why damage was not repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There is one copy.
    NotMirrored,
    /// No other member of the group has given a good copy.
    NoGoodCopy,
    /// The layout of its file has nothing there.
    NoPlace,
    /// Metadata did not say whose it is.
    NotKnown,
}

/// Reasons by the number that is stored.
const REASONS: [Reason; 4] = [Reason::NotMirrored, Reason::NoGoodCopy, Reason::NoPlace, Reason::NotKnown];

impl Reason {
    /// For people.
    pub fn describe(self) -> &'static str {
        match self {
            Reason::NotMirrored => "not mirrored: restore the file",
            Reason::NoGoodCopy => "no other member could give a good copy",
            Reason::NoPlace => "its file has no data there",
            Reason::NotKnown => "metadata did not say whose it is; it is asked again",
        }
    }

    /// As it is stored.
    pub fn number(self) -> u8 {
        REASONS.iter().position(|reason| *reason == self).unwrap_or_default() as u8
    }

    /// From there.
    pub fn of(number: u8) -> Option<Reason> {
        REASONS.get(usize::from(number)).copied()
    }

    /// What is missing may be there the next time.
    pub fn may_pass(self) -> bool {
        matches!(self, Reason::NoGoodCopy | Reason::NotKnown)
    }
}
