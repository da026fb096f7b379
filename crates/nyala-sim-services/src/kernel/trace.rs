// SPDX-License-Identifier: Apache-2.0

//! What happened, as one number and, if wanted, as text: two runs of a seed are compared by it.

use super::real;
use std::fmt::Arguments;
use std::io::Write;

/// Bytes of text that are kept before they are written.
const BUFFER: usize = 64 << 10;

/// The record of a run.
pub struct Trace {
    hash: u64,
    events: u64,
    file: Option<i32>,
    text: Vec<u8>,
}

impl Trace {
    /// `file`: a real descriptor that gets every event as a line.
    pub fn new(file: Option<i32>) -> Trace {
        Trace { hash: 0xcbf2_9ce4_8422_2325, events: 0, file, text: Vec::with_capacity(BUFFER + 4096) }
    }

    fn mix(&mut self, word: u64) {
        self.hash = (self.hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    }

    /// Notes an event by numbers that say all of it.
    pub fn event(&mut self, what: &'static str, numbers: &[u64]) {
        self.events += 1;
        self.mix(what.len() as u64 | u64::from(what.as_bytes()[0]) << 8);
        numbers.iter().for_each(|number| self.mix(*number));
        if self.file.is_some() {
            self.line(format_args!("{what} {numbers:?}"));
        }
    }

    /// Notes what the world says, in words.
    pub fn say(&mut self, words: &str) {
        self.events += 1;
        self.bytes(words.as_bytes());
        self.line(format_args!("{words}"));
    }

    /// Mixes bytes into the number.
    pub fn bytes(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
    }

    fn line(&mut self, words: Arguments<'_>) {
        let Some(file) = self.file else { return };
        // A vector takes everything.
        let _ = writeln!(self.text, "{} {words}", self.events);
        if self.text.len() >= BUFFER {
            real::write_all(file, &self.text);
            self.text.clear();
        }
    }

    /// Writes what is left, and says the number of events and the number that stands for them.
    pub fn finish(&mut self) -> (u64, u64) {
        if let Some(file) = self.file {
            real::write_all(file, &self.text);
            self.text.clear();
        }
        (self.events, self.hash)
    }
}
