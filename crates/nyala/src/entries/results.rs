// SPDX-License-Identifier: Apache-2.0

//! Results that are printed as they are found: what is printed is what a list of all of them would be, and none is held.
//! Failure model: see the parent module.

use crate::exit::Failure;
use crate::output::{Output, json, lines};
use crate::progress::Shown;
use serde::Serialize;
use std::cell::RefCell;
use std::io::{BufWriter, ErrorKind, IsTerminal, Stdout, Write};
use std::time::{Duration, Instant};

/// Results do not wait longer for others to be written with them, unless none is found.
const HELD_BACK: Duration = Duration::from_millis(200);

/// Where results go.
pub struct Results<W: Write> {
    output: Output,
    out: BufWriter<W>,
    /// The line that says how far the walk is may be on the same terminal.
    terminal: bool,
    written: Instant,
    count: u64,
}

impl Results<Stdout> {
    /// Standard output.
    pub fn stdout(output: Output) -> Results<Stdout> {
        let out = std::io::stdout();
        let terminal = out.is_terminal();
        Results { output, out: BufWriter::new(out), terminal, written: Instant::now(), count: 0 }
    }
}

impl<W: Write> Results<W> {
    /// Prints one more, as text or as JSON. Whether somebody still reads.
    pub fn put<T: Serialize>(
        &mut self,
        shown: &RefCell<Shown>,
        text: impl FnOnce() -> Vec<u8>,
        value: impl FnOnce() -> T,
    ) -> Result<bool, Failure> {
        let bytes = match self.output {
            Output::Table => text(),
            Output::Ndjson => lines(&value())?.into_bytes(),
            Output::Json => {
                let inner = json(&value())?.trim_end().replace('\n', "\n  ");
                format!("{}\n  {inner}", if self.count == 0 { "[" } else { "," }).into_bytes()
            }
        };
        self.count += 1;
        if self.terminal {
            return shown.borrow().aside(|| self.write(&bytes, true));
        }
        let due = self.written.elapsed() >= HELD_BACK;
        self.write(&bytes, due)
    }

    fn write(&mut self, bytes: &[u8], flush: bool) -> Result<bool, Failure> {
        let mut result = self.out.write_all(bytes);
        if flush {
            self.written = Instant::now();
            result = result.and_then(|()| self.out.flush());
        }
        match result {
            Ok(()) => Ok(true),
            // `| head` has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Failure::failed(format!("cannot write to standard output: {error}"))),
        }
    }

    /// Ends the list.
    pub fn finish(&mut self) -> Result<(), Failure> {
        let end: &[u8] = match (self.output, self.count) {
            (Output::Json, 0) => b"[]\n",
            (Output::Json, _) => b"\n]\n",
            _ => b"",
        };
        self.write(end, true).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(output: Output, values: &[serde_json::Value]) -> String {
        let mut bytes = Vec::new();
        let out = BufWriter::new(&mut bytes);
        let mut results = Results { output, out, terminal: false, written: Instant::now(), count: 0 };
        let shown = RefCell::new(Shown::default());
        for value in values {
            assert!(results.put(&shown, || b"text\n".to_vec(), || value.clone()).unwrap());
        }
        results.finish().unwrap();
        assert_eq!(results.count, values.len() as u64);
        drop(results);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn it_is_what_a_list_of_all_would_be() {
        let values = [serde_json::json!({"path": "/a\nb", "list": [1, 2]}), serde_json::json!({"path": "/c"})];
        for part in [&values[..0], &values[..1], &values[..]] {
            assert_eq!(printed(Output::Json, part), json(&part).unwrap());
            assert_eq!(printed(Output::Ndjson, part), lines(&part).unwrap());
            assert_eq!(printed(Output::Table, part), "text\n".repeat(part.len()));
        }
    }

    struct Gone;

    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_went_away_is_noticed() {
        let out = BufWriter::with_capacity(4, Gone);
        let mut results = Results { output: Output::Table, out, terminal: false, written: Instant::now(), count: 0 };
        let shown = RefCell::new(Shown::default());
        assert!(!results.put(&shown, || b"a long line\n".to_vec(), || 1).unwrap());
    }
}
