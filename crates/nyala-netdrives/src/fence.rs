// SPDX-License-Identifier: Apache-2.0

//! Pure: who has a drive, and whose requests are done.

use nyala_wire::ClusterId;
use nyala_wire::drive::DriveHold;

/// A drive's holder and its attachment.
#[derive(Clone, Debug)]
pub(crate) struct Fence {
    /// As it is on disk.
    hold: DriveHold,
    attachment: u64,
    attached: bool,
}

/// What an attachment comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attach {
    /// It may be, once the hold is on disk, if it is another one.
    Granted { store: bool },
    /// Somebody has the drive with this epoch, or had it.
    Refused { epoch: u64 },
    /// This holder has taken it again since.
    Late,
}

impl Fence {
    /// Of a drive that was opened. `first` is a number that no attachment of an earlier process has.
    pub fn new(row: Option<&[u8]>, first: u64) -> Fence {
        Fence { hold: row.and_then(decode).unwrap_or_default(), attachment: first, attached: false }
    }

    /// The largest epoch so far.
    pub fn epoch(&self) -> u64 {
        self.hold.epoch
    }

    /// Somebody wants the drive.
    pub fn wanted(&self, by: DriveHold) -> Attach {
        if by.epoch > self.hold.epoch {
            return Attach::Granted { store: true };
        }
        match (by.epoch, by.holder) == (self.hold.epoch, self.hold.holder) {
            true if by.turn < self.hold.turn => Attach::Late,
            true => Attach::Granted { store: by.turn > self.hold.turn },
            false => Attach::Refused { epoch: self.hold.epoch },
        }
    }

    /// Somebody has it, durably. Gives the number of the attachment.
    pub fn attached(&mut self, by: DriveHold) -> u64 {
        self.hold = by;
        self.attachment = self.attachment.wrapping_add(1);
        self.attached = true;
        self.attachment
    }

    /// Whether what comes with this attachment is done.
    pub fn admits(&self, attachment: u64) -> bool {
        self.attached && self.attachment == attachment
    }
}

/// As it is in the drive's table.
pub(crate) fn encode(hold: DriveHold) -> Vec<u8> {
    [hold.epoch.to_le_bytes().as_slice(), &hold.holder.0, &hold.turn.to_le_bytes()].concat()
}

/// From there.
pub(crate) fn decode(row: &[u8]) -> Option<DriveHold> {
    let (epoch, rest) = row.split_first_chunk::<8>()?;
    let (holder, turn) = rest.split_first_chunk::<16>()?;
    let turn = u64::from_le_bytes(turn.try_into().ok()?);
    Some(DriveHold { epoch: u64::from_le_bytes(*epoch), holder: ClusterId(*holder), turn })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(epoch: u64, holder: u8) -> DriveHold {
        DriveHold { epoch, holder: ClusterId([holder; 16]), turn: 0 }
    }

    #[test]
    fn the_larger_epoch_has_the_drive() {
        let mut fence = Fence::new(None, 100);
        assert!(!fence.admits(100) && !fence.admits(0), "nobody has it at first");
        assert_eq!(fence.wanted(hold(1, 7)), Attach::Granted { store: true });
        let first = fence.attached(hold(1, 7));
        assert!(fence.admits(first));
        assert_eq!(fence.wanted(hold(1, 7)), Attach::Granted { store: false }, "it comes back on another connection");
        let second = fence.attached(hold(1, 7));
        assert!(fence.admits(second) && !fence.admits(first), "what it sent before is not done any more");
        assert_eq!(fence.wanted(hold(1, 8)), Attach::Refused { epoch: 1 }, "another one with the same epoch");
        let third = fence.attached(hold(3, 8));
        assert_eq!(fence.wanted(hold(1, 7)), Attach::Refused { epoch: 3 });
        assert_eq!(fence.wanted(hold(2, 7)), Attach::Refused { epoch: 3 });
        assert!(fence.admits(third) && !fence.admits(second));
    }

    #[test]
    fn what_the_holder_sent_before_its_last_turn_comes_too_late() {
        let turn = |turn| DriveHold { turn, ..hold(4, 7) };
        let mut fence = Fence::new(None, 5);
        fence.attached(turn(2));
        assert_eq!(fence.wanted(turn(2)), Attach::Granted { store: false });
        assert_eq!(fence.wanted(turn(3)), Attach::Granted { store: true });
        fence.attached(turn(3));
        assert_eq!(fence.wanted(turn(2)), Attach::Late);
        let again = Fence::new(Some(&encode(turn(3))), 9);
        assert_eq!(again.wanted(turn(2)), Attach::Late, "also after a restart");
        assert_eq!(again.wanted(hold(5, 8)), Attach::Granted { store: true });
    }

    #[test]
    fn the_holder_outlives_a_restart_and_its_attachment_does_not() {
        let row = encode(hold(0x0102, 9));
        assert_eq!((row.len(), &row[..3]), (32, &[2, 1, 0][..]));
        let fence = Fence::new(Some(&row), 5);
        assert_eq!((fence.epoch(), fence.admits(5)), (0x0102, false));
        assert_eq!(fence.wanted(hold(0x0102, 9)), Attach::Granted { store: false });
        assert_eq!(fence.wanted(hold(0x0102, 8)), Attach::Refused { epoch: 0x0102 });
        assert_eq!(Fence::new(Some(&row[1..]), 5).epoch(), 0, "a row that is none");
    }
}
