// SPDX-License-Identifier: Apache-2.0

//! A table in a box with a title, whose cells have several lines. Pure.

/// Lines of a cell.
pub type Cell = Vec<String>;

/// The table as text.
pub fn boxed(title: &str, heads: &[&str], rows: &[Vec<Cell>]) -> String {
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at)).flatten().map(|line| line.chars().count());
        cells.chain([heads[at].chars().count()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let rule = |ends: [&str; 3]| {
        let lines: Vec<String> = widths.iter().map(|width| "═".repeat(width + 2)).collect();
        format!("{}{}{}\n", ends[0], lines.join(ends[1]), ends[2])
    };
    let line = |cells: Vec<&str>| {
        let cells: Vec<String> =
            cells.iter().zip(&widths).map(|(cell, width)| format!(" {cell:<width$} ", width = *width)).collect();
        format!("║{}║\n", cells.join("║"))
    };
    let mut text = titled(&rule(["╔", "╦", "╗"]), title) + &line(heads.to_vec());
    for row in rows {
        text += &rule(["╠", "╬", "╣"]);
        for at in 0..row.iter().map(Vec::len).max().unwrap_or_default() {
            text += &line(row.iter().map(|cell| cell.get(at).map_or("", String::as_str)).collect());
        }
    }
    text + &rule(["╚", "╩", "╝"])
}

/// The title stands in the upper rule.
fn titled(rule: &str, title: &str) -> String {
    let rest = rule.chars().skip(1 + title.chars().count());
    rule.chars().take(1).chain(title.chars()).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_as_many_lines_as_they_need() {
        let cell = |text: &str| text.split('|').map(str::to_owned).collect::<Cell>();
        let text = boxed("RAIDs", &["name", "state"], &[vec![cell("era1"), cell("online|initialized")]]);
        let want = "╔RAIDs═╦═════════════╗\n║ name ║ state       ║\n╠══════╬═════════════╣\n║ era1 ║ online      ║\n\
                    ║      ║ initialized ║\n╚══════╩═════════════╝\n";
        assert_eq!(text, want);
        assert_eq!(boxed("RAIDs", &["name"], &[]).lines().count(), 3);
    }
}
