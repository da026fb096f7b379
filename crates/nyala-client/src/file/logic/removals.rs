// SPDX-License-Identifier: Apache-2.0

//! May a file have gone by a removal of one of its names that this client sent? The server does not revoke the delegation of
//! the client that removes a name, so that a delegation alone does not say that the file is still there.

/// One file's removals by this client.
#[derive(Debug, Default)]
pub struct Removals {
    under_way: u32,
    begun: u64,
    in_doubt: bool,
}

impl Removals {
    /// A name is about to be removed.
    pub fn begin(&mut self) {
        self.under_way += 1;
        self.begun += 1;
        self.in_doubt = true;
    }

    /// It was removed, or not.
    pub fn end(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }

    /// Whether the file may be gone, or about to go, for all that this client knows.
    pub fn in_doubt(&self) -> bool {
        self.in_doubt
    }

    /// Before the server is asked for the file; for [`Removals::survived`].
    pub fn note(&self) -> Option<u64> {
        (self.under_way == 0).then_some(self.begun)
    }

    /// The server, asked after the note, has said that the file has names: it outlived every removal up to then.
    pub fn survived(&mut self, note: Option<u64>) {
        if note == Some(self.begun) {
            self.in_doubt = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_doubt_until_the_server_was_asked_after_the_last_removal() {
        let mut removals = Removals::default();
        assert!(!removals.in_doubt());
        removals.begin();
        let during = removals.note();
        removals.end();
        removals.survived(during);
        assert!(removals.in_doubt(), "asked while it was under way");
        let before = removals.note();
        removals.begin();
        removals.survived(before);
        assert!(removals.in_doubt(), "asked before another one");
        removals.end();
        let after = removals.note();
        removals.survived(after);
        assert!(!removals.in_doubt());
    }
}
