// SPDX-License-Identifier: Apache-2.0

//! How tables are laid out: by the kept library, within the width of the terminal.

use comfy_table::{CellAlignment, ColumnConstraint, Width};
use nyala_bench::document::Table as Rows;

/// A terminal that says it has fewer is taken to have so many.
const FEWEST: usize = 40;
/// Of what is no terminal: a row stays one line for who reads it with a program.
const UNBOUNDED: usize = u16::MAX as usize;
/// Blanks between two columns of a table.
const GAP: usize = 2;
/// No column of a table becomes narrower.
const NARROWEST: usize = 4;

/// How wide a table may be: as the terminal. Tests of what a table says are run on any; those of the layout name a width.
fn columns() -> usize {
    let said = if cfg!(test) { None } else { console::Term::stdout().size_checked() };
    said.map_or(UNBOUNDED, |(_, columns)| usize::from(columns).max(FEWEST))
}

/// Widths for columns that would like to be so wide, so that all fit: the widest gives way, first down to its heading, then farther.
pub(super) fn fit(mut widths: Vec<usize>, heads: &[usize], all: usize) -> Vec<usize> {
    let room = all.saturating_sub(GAP * widths.len().saturating_sub(1));
    while widths.iter().sum::<usize>() > room {
        let widest_above = |floor: &dyn Fn(usize) -> usize| {
            let wide = widths.iter().enumerate().filter(|(at, width)| **width > floor(*at).max(NARROWEST));
            wide.max_by_key(|(at, width)| (**width, *at)).map(|(at, _)| at)
        };
        let Some(at) = widest_above(&|at| heads[at]).or_else(|| widest_above(&|_| NARROWEST)) else { break };
        widths[at] -= 1;
    }
    widths
}

/// A table that is as wide as the terminal at most.
pub(super) fn render(rows: &Rows) -> String {
    render_within(rows, columns())
}

/// A table that is at most so wide, as far as it has not too many columns for that: what is longer goes on in the next line.
pub(super) fn render_within(rows: &Rows, all: usize) -> String {
    let number = |text: &String| text == "-" || text.starts_with(|c: char| c.is_ascii_digit());
    let mut table = comfy_table::Table::new();
    table.load_preset(comfy_table::presets::NOTHING).set_header(&rows.heads);
    let heads = table.column_max_content_widths();
    table.add_rows(&rows.rows);
    let [heads, widths] = [heads, table.column_max_content_widths()]
        .map(|widths| widths.into_iter().map(usize::from).collect::<Vec<usize>>());
    let wanted = widths.clone();
    let widths = fit(widths, &heads, all);
    // The heading again, with a rule as wide as each column for the first row.
    let mut table = comfy_table::Table::new();
    table.load_preset(comfy_table::presets::NOTHING).set_header(&rows.heads);
    table.add_row(widths.iter().map(|width| "=".repeat(*width))).add_rows(&rows.rows);
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, GAP as u16));
        let width = u16::try_from(widths[at] + GAP).unwrap_or(u16::MAX);
        column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width)));
        // What goes on in the next line is text, also where it begins with a digit.
        let whole = widths[at] == wanted[at];
        if whole && !rows.rows.is_empty() && rows.rows.iter().all(|row| number(&row[at])) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt() + "\n"
}
