// SPDX-License-Identifier: Apache-2.0

//! Where a scrub is: through the rows of one group after the other, remembered over restarts.

use crate::ids::StripeId;
use crate::key;
use crate::reader::Reader;

/// Version of the encoding.
const FORMAT: u8 = 1;

/// A scrub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scrub {
    /// The last stripe that was looked at; `None` is the beginning.
    pub behind: Option<StripeId>,
    /// When it began, seconds since 1970.
    pub began_s: u64,
    /// Stripes that were looked at.
    pub stripes: u64,
    /// Blocks, rows and parities that were wrong and are right now.
    pub healed: u64,
    /// Stripes that could not be read.
    pub lost: u64,
    /// When the last whole scrub ended, seconds since 1970; 0 if none has.
    pub ended_s: u64,
}

impl Scrub {
    /// One that begins now.
    pub fn begin(self, now_s: u64) -> Scrub {
        Scrub { ended_s: self.ended_s, began_s: now_s, ..Scrub::default() }
    }

    /// Whether the next one is due.
    pub fn is_due(&self, now_s: u64, every_s: u64) -> bool {
        self.began_s == 0 || self.behind.is_none() && now_s.saturating_sub(self.ended_s) >= every_s
    }

    /// The first key of rows that are still to be looked at.
    pub fn from(&self) -> Vec<u8> {
        self.behind.map_or_else(|| b"R".to_vec(), |behind| key::next(&key::row(behind)))
    }

    /// A stripe was looked at.
    pub fn looked_at(&mut self, stripe: StripeId, healed: u64, lost: bool) {
        assert!(self.behind.is_none_or(|behind| behind < stripe), "forward only");
        self.behind = Some(stripe);
        self.stripes += 1;
        self.healed += healed;
        self.lost += u64::from(lost);
    }

    /// Nothing is left.
    pub fn end(&mut self, now_s: u64) {
        self.behind = None;
        self.ended_s = now_s;
    }

    /// As it lies in a table.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        let numbers = [self.began_s, self.stripes, self.healed, self.lost, self.ended_s];
        numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
        self.behind.iter().for_each(|behind| out.extend(&key::row(*behind)[1..]));
        out
    }

    /// From a table.
    pub fn decode(bytes: &[u8]) -> Option<Scrub> {
        let mut reader = Reader(bytes);
        if reader.u8()? != FORMAT {
            return None;
        }
        let mut next = || reader.u64();
        let (began_s, stripes, healed, lost, ended_s) = (next()?, next()?, next()?, next()?, next()?);
        let behind = if reader.0.is_empty() { None } else { Some(key::stripe_of(reader.0, b"")?) };
        Some(Scrub { behind, began_s, stripes, healed, lost, ended_s })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ObjectId;

    #[test]
    fn bytes_are_as_documented() {
        let behind = Some(StripeId { object: ObjectId(1), number: 2 });
        let scrub = Scrub { behind, began_s: 3, stripes: 4, healed: 5, lost: 6, ended_s: 7 };
        let mut right = vec![1];
        (3..8).for_each(|number| right.extend([number, 0, 0, 0, 0, 0, 0, 0]));
        right.extend([[0; 15].as_slice(), &[1], &[0; 7], &[2]].concat());
        assert_eq!((scrub.encode(), Scrub::decode(&right)), (right.clone(), Some(scrub)));
        assert_eq!(Scrub::decode(&right[..50]), None);
        assert_eq!(Scrub::decode(&Scrub::default().encode()), Some(Scrub::default()));
    }

    #[test]
    fn it_goes_forward_and_comes_due_again() {
        let mut scrub = Scrub::default();
        assert!(scrub.is_due(5, 100));
        scrub = scrub.begin(5);
        let stripe = StripeId { object: ObjectId(9), number: 1 };
        scrub.looked_at(stripe, 2, true);
        assert!(scrub.from() > key::row(stripe) && !scrub.is_due(1000, 100), "it is under way");
        scrub.end(50);
        assert_eq!((scrub.is_due(149, 100), scrub.is_due(150, 100)), (false, true));
        assert_eq!((scrub.from(), scrub.healed, scrub.lost), (b"R".to_vec(), 2, 1));
    }
}
