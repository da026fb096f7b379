// SPDX-License-Identifier: Apache-2.0

//! A report for people: text and tables in their order. How tables are laid out is up to whoever prints them.

/// Rows under a heading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// A name for each column.
    pub heads: Vec<&'static str>,
    /// Values, one for each column.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub fn new(heads: &[&'static str]) -> Table {
        Table { heads: heads.to_vec(), rows: Vec::new() }
    }

    /// Adds a row with a value for each column.
    pub fn row(&mut self, values: impl IntoIterator<Item = String>) {
        let row: Vec<String> = values.into_iter().collect();
        assert_eq!(row.len(), self.heads.len(), "a row has a value for each column");
        self.rows.push(row);
    }
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Whole lines.
    Text(String),
    /// A table.
    Table(Table),
}

/// Text and tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// In their order.
    pub pieces: Vec<Piece>,
}

impl Document {
    /// Adds text, with its newlines.
    pub fn text(&mut self, text: impl Into<String>) {
        self.pieces.push(Piece::Text(text.into()));
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) {
        self.pieces.push(Piece::Table(table));
    }

    /// Adds all of another.
    pub fn append(&mut self, other: Document) {
        self.pieces.extend(other.pieces);
    }

    /// All of it in one text, with a blank between the values of a row.
    #[cfg(test)]
    pub(crate) fn plain(&self) -> String {
        let row = |values: Vec<&str>| values.join(" ") + "\n";
        let table = |table: &Table| {
            let rows = table.rows.iter().map(|values| row(values.iter().map(String::as_str).collect()));
            row(table.heads.clone()) + &rows.collect::<String>()
        };
        self.pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.clone(),
                Piece::Table(rows) => table(rows),
            })
            .collect()
    }
}
