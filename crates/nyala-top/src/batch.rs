// SPDX-License-Identifier: Apache-2.0

//! Without a terminal: text. Failure model: see the crate.

use crate::logic::lines::draw;
use crate::logic::tab::Tab;
use crate::logic::tables::Tables;
use crate::logic::view::View;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// Columns of what is printed.
const COLUMNS: u16 = 80;
/// Rows at most.
const ROWS: usize = 1000;
/// Lines that are no rows.
const OTHERS: u16 = 8;

/// A table as text.
pub fn print(tables: Tables, tab: Tab, cluster: &str) -> String {
    let mut view = View::new(tab);
    view.tables(tables);
    let rows = view.rows().len().min(ROWS) as u16;
    text(&view, cluster, rows + OTHERS)
}

/// A view of so many lines as text, without what is empty at their ends.
pub(crate) fn text(view: &View, cluster: &str, lines: u16) -> String {
    let mut terminal = match Terminal::new(TestBackend::new(COLUMNS, lines)) {
        Ok(terminal) => terminal,
        Err(never) => match never {},
    };
    match terminal.draw(|frame| draw(frame, view, cluster)) {
        Ok(_) => {}
        Err(never) => match never {},
    }
    let buffer = terminal.backend().buffer();
    let lines = buffer.content.chunks(buffer.area.width.max(1).into());
    let lines = lines.map(|line| line.iter().map(|cell| cell.symbol()).collect::<String>());
    let lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect();
    lines.join("\n") + "\n"
}
