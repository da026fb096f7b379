// SPDX-License-Identifier: Apache-2.0

//! A file's attributes as this client knows them. Pure.

use nyala_wire::Attr;

#[derive(Default)]
pub(crate) struct AttrState {
    attr: Option<Attr>,
    /// When they were taken in; 0: they are to be asked for before they are used.
    valid_ms: u64,
    /// Changes of attributes by this client, counted when each begins and when it ends.
    altered: u64,
}

impl AttrState {
    /// The attributes, valid or not.
    pub(crate) fn known(&self) -> Option<&Attr> {
        self.attr.as_ref()
    }

    /// The attributes, if they may be used.
    pub(crate) fn valid(&self) -> Option<&Attr> {
        self.attr.as_ref().filter(|_| self.valid_ms > 0)
    }

    /// Whether they were taken in, or asked for, at most `cache_ms` ago.
    pub(crate) fn is_fresh(&self, now_ms: u64, cache_ms: u64) -> bool {
        self.valid_ms > 0 && now_ms.saturating_sub(self.valid_ms) <= cache_ms
    }

    /// They are to be asked for before they are used.
    pub(crate) fn invalidate(&mut self) {
        self.valid_ms = 0;
    }

    /// They are being asked for: who comes meanwhile uses what is known.
    pub(crate) fn assume_fresh(&mut self, now_ms: u64) {
        self.valid_ms = now_ms;
    }

    pub(crate) fn take(&mut self, attr: &Attr, now_ms: u64) {
        self.attr = Some(attr.clone());
        self.valid_ms = now_ms;
    }

    /// This client begins or ends a change of attributes.
    pub(crate) fn alters(&mut self) {
        self.invalidate();
        self.altered += 1;
    }

    pub(crate) fn altered(&self) -> u64 {
        self.altered
    }
}
