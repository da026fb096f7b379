// SPDX-License-Identifier: Apache-2.0

//! Whether a new file is written in whole stripes of its erasure code. Pure.
//!
//! From `Idle` to `Choosing` when a whole stripe is there, from there to `Writing` when targets are chosen, or to `Declined`, for as long as the
//! file's delegation is held.

use super::stripes::Stripes;
use nyala_wire::Layout;
use std::sync::Arc;

#[derive(Default)]
pub(crate) enum WholeStripes {
    /// What is written to a new file may go out in whole stripes.
    #[default]
    Idle,
    /// Targets are being chosen, for this choice of its own number. What is written waits.
    Choosing(u64),
    Writing(Stripes),
    /// It is mirrored first.
    Declined,
}

impl WholeStripes {
    pub(crate) fn writing(&self) -> Option<&Stripes> {
        if let WholeStripes::Writing(stripes) = self { Some(stripes) } else { None }
    }

    pub(crate) fn writing_mut(&mut self) -> Option<&mut Stripes> {
        if let WholeStripes::Writing(stripes) = self { Some(stripes) } else { None }
    }

    /// Whether the file's server knows where its stripes are.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.writing().is_some_and(|stripes| stripes.before.is_none())
    }

    pub(crate) fn is_idle(&self) -> bool {
        matches!(self, WholeStripes::Idle)
    }

    pub(crate) fn is_choosing(&self) -> bool {
        matches!(self, WholeStripes::Choosing(_))
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.writing().is_some_and(Stripes::has_failed)
    }

    /// Targets are being chosen.
    pub(crate) fn choose(&mut self, choice: u64) {
        *self = WholeStripes::Choosing(choice);
    }

    /// Whether this choice is being made, and none after it.
    pub(crate) fn is_made(&self, choice: u64) -> bool {
        matches!(self, WholeStripes::Choosing(made) if *made == choice)
    }

    /// None are to be had, or the data was moved back.
    pub(crate) fn decline(&mut self) {
        *self = WholeStripes::Declined;
    }

    /// These are chosen. `before`: where the data was to go.
    pub(crate) fn chosen(&mut self, to: &Layout, before: Arc<Layout>) {
        *self = WholeStripes::Writing(Stripes::new(to, before));
    }

    /// Whether what is written from `at` on may be kept until it goes out; `encoded`: the file is.
    pub(crate) fn accepts(&self, at: u64, encoded: bool) -> bool {
        self.writing().map_or(!encoded, |stripes| stripes.accepts(at))
    }

    /// Its server knows where the data is. Nothing more goes there if the last stripe was among it.
    pub(crate) fn acknowledged(&mut self) {
        match self {
            WholeStripes::Writing(stripes) if stripes.is_closing() => *self = WholeStripes::Declined,
            WholeStripes::Writing(stripes) => stripes.before = None,
            _ => {}
        }
    }

    /// The delegation is gone, or all that was written is dropped: where the data is by its server, if that is not where it went.
    pub(crate) fn end(&mut self) -> Option<Arc<Layout>> {
        match std::mem::take(self) {
            WholeStripes::Writing(stripes) => stripes.before,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
