// SPDX-License-Identifier: Apache-2.0

//! One event, one line: what came from elsewhere (a name, another program's message) does not make a second one.

use std::io::{self, Write};

/// Writes each event as one line: breaks within it become `\n`, `\r`.
///
/// tracing-subscriber hands each event over whole, in one call, with a break at its end.
pub struct OneLine<W>(pub W);

impl<W: Write> Write for OneLine<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let (text, end) = event.split_at(event.len() - usize::from(event.ends_with(b"\n")));
        if !text.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            self.0.write_all(event)?;
            return Ok(event.len());
        }
        let mut line = Vec::with_capacity(event.len() + 16);
        for byte in text {
            match byte {
                b'\n' => line.extend_from_slice(b"\\n"),
                b'\r' => line.extend_from_slice(b"\\r"),
                byte => line.push(*byte),
            }
        }
        line.extend_from_slice(end);
        self.0.write_all(&line)?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};
    use tracing_subscriber::fmt::MakeWriter;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Lines {
        type Writer = OneLine<Lines>;

        fn make_writer(&'a self) -> OneLine<Lines> {
            OneLine(self.clone())
        }
    }

    #[test]
    fn an_event_is_one_line_whatever_is_in_it() {
        let kept = Lines::default();
        let text = tracing_subscriber::fmt().with_writer(kept.clone()).with_ansi(false).finish();
        tracing::subscriber::with_default(text, || {
            tracing::info!(name = %"a\nb\r\nc", "first\nof two");
            tracing::warn!("second");
        });
        let lines = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        assert_eq!(lines.lines().count(), 2, "{lines}");
        assert!(lines.ends_with('\n') && lines.contains("first\\nof two name=a\\nb\\r\\nc\n"), "{lines}");
    }
}
