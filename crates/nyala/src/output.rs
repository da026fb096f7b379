// SPDX-License-Identifier: Apache-2.0

//! Tables for people, JSON for programs: as one document, or in lines.

use crate::exit::{Exit, Failure, Outcome};
use clap::ValueEnum;
use layout::render;
use nyala_bench::Document;
use nyala_bench::document::{Piece, Table as Rows};
use serde::Serialize;
use std::io::{ErrorKind, Write};

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// Aligned columns.
    #[default]
    Table,
    /// One JSON document.
    Json,
    /// JSON, a line for each entry of a list; of what is no list, one line.
    Ndjson,
}

/// Rows under a heading. Columns whose every value begins with a digit are aligned to the right.
#[derive(Clone, Debug, Default)]
pub struct Table(Rows);

impl Table {
    /// An empty table.
    pub fn new(heads: &[&'static str]) -> Table {
        Table(Rows::new(heads))
    }

    /// Adds a row with a value for each column.
    pub fn row(&mut self, values: impl IntoIterator<Item = String>) {
        self.0.row(values);
    }

    /// The text, as wide as the terminal at most, with a newline after each line and no blanks at line ends.
    pub fn render(&self) -> String {
        render(&self.0)
    }
}

/// Writes to standard output; a reader that went away (`| head`) ends the command quietly.
pub fn print(text: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(Exit::Ok),
    }
}

/// A value as one JSON document with a newline.
pub fn json<T: Serialize>(value: &T) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    text.map(|text| text + "\n").map_err(|error| Failure::failed(format!("cannot write JSON: {error}")))
}

/// A value as lines of JSON: each entry of a list is one, and what is no list is one. Names of fields are in the order of the alphabet.
pub fn lines<T: Serialize>(value: &T) -> Result<String, Failure> {
    // From the text of the other form: one way to write each type, of which there are hundreds, and not two.
    let read = serde_json::from_str(&json(value)?);
    Ok(match read.map_err(|error| Failure::failed(format!("cannot write JSON: {error}")))? {
        serde_json::Value::Array(entries) => entries.iter().map(|entry| format!("{entry}\n")).collect(),
        other => format!("{other}\n"),
    })
}

/// A report of the benchmarks as text.
pub fn text(document: &Document) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Table(rows) => render(rows),
    };
    document.pieces.iter().map(piece).collect()
}

/// Prints a value as JSON, or the document that shows it.
pub fn show_document<T: Serialize>(output: Output, value: &T, document: Document) -> Outcome {
    show(output, value, |_| text(&document))
}

/// Prints a value as JSON, or as the text that `table` makes.
pub fn show<T: Serialize>(output: Output, value: &T, table: impl FnOnce(&T) -> String) -> Outcome {
    match output {
        Output::Json => print(&json(value)?),
        Output::Ndjson => print(&lines(value)?),
        Output::Table => print(&table(value)),
    }
}

mod layout;
#[cfg(test)]
mod tests;
