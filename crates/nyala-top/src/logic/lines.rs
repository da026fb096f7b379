// SPDX-License-Identifier: Apache-2.0

//! A view as lines of a terminal.

use super::cell::Cell;
use super::tab::Tab;
use super::view::View;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Row, Table};

const HELP: [&str; 9] = [
    "1 to 7, Tab        which table",
    "left, right        which column orders it",
    "r                  the other way round",
    "/                  only rows with this text; Esc: all again",
    "p, space           hold it still",
    "up, down, PgUp, PgDn, Home, End",
    "?                  this",
    "q, Esc             the end",
    "P99, WAIT, SYNC: 99 of 100 took no longer, since the look before",
];

/// Draws it.
pub fn draw(frame: &mut Frame<'_>, view: &View, cluster: &str) {
    let silent = view.shown().silent.len().min(3) as u16;
    let parts = [Constraint::Length(2), Constraint::Fill(1), Constraint::Length(silent), Constraint::Length(1)];
    let [top, middle, troubles, bottom] = Layout::vertical(parts).areas(frame.area());
    draw_top(frame, view, cluster, top);
    if view.help {
        frame.render_widget(Paragraph::new(HELP.map(Line::from).to_vec()), middle);
    } else {
        draw_table(frame, view, middle);
    }
    let lines: Vec<Line<'_>> =
        view.shown().silent.iter().map(|(name, why)| Line::from(format!("{name}: {why}")).bold()).collect();
    frame.render_widget(Paragraph::new(lines), troubles);
    frame.render_widget(Paragraph::new(foot(view)), bottom);
}

fn draw_top(frame: &mut Frame<'_>, view: &View, cluster: &str, area: Rect) {
    let (requests, read, written) = view.shown().total;
    let (requests, read, written) = (Cell::Number(requests), Cell::Bytes(read), Cell::Bytes(written));
    let held = if view.paused { "  HELD STILL" } else { "" };
    let sums = format!("nyala top  {cluster}  {requests} req/s  {read}/s read  {written}/s written{held}");
    let tabs = Tab::ALL.into_iter().enumerate().map(|(number, tab)| {
        let title = format!("{} {}  ", number + 1, tab.word());
        if tab == view.tab { Span::from(title).bold().underlined() } else { Span::from(title) }
    });
    frame.render_widget(Paragraph::new(vec![Line::from(sums), Line::from_iter(tabs)]), area);
}

fn foot(view: &View) -> String {
    let rows = view.rows().len();
    let place = match (view.above, rows) {
        (0, 1) => "1 row".to_owned(),
        (0, rows) => format!("{rows} rows"),
        (above, rows) => format!("from {} of {rows}", above + 1),
    };
    match (view.writing, view.filter.is_empty()) {
        (true, _) => format!("/{}_   Enter: done, Esc: all rows", view.filter),
        (false, false) => format!("{place} with {:?}   Esc: all rows, ?: keys", view.filter),
        (false, true) => format!("{place}   ?: keys, q: end"),
    }
}

fn draw_table(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let ((column, ascending), heads) = (view.order(), view.tab.heads());
    let all = view.rows();
    let rows: Vec<Vec<String>> = all
        .iter()
        .skip(view.above)
        .take(area.height.into())
        .map(|row| row.iter().map(Cell::to_string).collect())
        .collect();
    let mark = |at: usize| if at == column { if ascending { "^" } else { "v" } } else { "" };
    let titles: Vec<String> = heads.iter().enumerate().map(|(at, head)| format!("{head}{}", mark(at))).collect();
    let numbers: Vec<bool> = (0..heads.len()).map(|at| all.first().is_some_and(|row| row[at].is_number())).collect();
    let width = |at: usize| {
        let widest = rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        widest.max(titles[at].chars().count()) as u16
    };
    // Numbers have the room that they need, names what is left.
    let widths = (0..heads.len()).map(|at| if at == 0 { Constraint::Fill(1) } else { Constraint::Length(width(at)) });
    let cell = |(at, text): (usize, String)| {
        let alignment = if numbers[at] { Alignment::Right } else { Alignment::Left };
        ratatui::widgets::Cell::from(Line::from(text).alignment(alignment))
    };
    let line = |row: Vec<String>| Row::new(row.into_iter().enumerate().map(cell).collect::<Vec<_>>());
    let header = line(titles.clone()).style(Style::new().add_modifier(Modifier::BOLD));
    frame.render_widget(Table::new(rows.iter().cloned().map(line), widths).header(header).column_spacing(1), area);
}

#[cfg(test)]
mod tests;
