// SPDX-License-Identifier: Apache-2.0

//! Tables as the old commands print them: columns aligned to the right, each head ruled off. Pure.

/// Heads with the least width of their columns, and rows.
pub fn right_aligned(heads: &[(&str, usize)], rows: &[Vec<String>]) -> String {
    let width = |at: usize, (head, least): (&str, usize)| {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count());
        cells.chain([head.chars().count(), least]).max().unwrap_or(least)
    };
    let widths: Vec<usize> = heads.iter().enumerate().map(|(at, head)| width(at, *head)).collect();
    let line = |cells: Vec<String>| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}", width = *width));
        cells.collect::<Vec<_>>().join(" ") + "\n"
    };
    let mut text = line(heads.iter().map(|(head, _)| (*head).to_owned()).collect());
    text += &line(heads.iter().map(|(head, _)| "=".repeat(head.chars().count())).collect());
    rows.iter().for_each(|row| text += &line(row.clone()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_their_heads() {
        let rows = [vec!["1".to_owned(), "101".to_owned()], vec!["1000".to_owned(), "2".to_owned()]];
        let text = right_aligned(&[("ID", 6), ("Target", 0)], &rows);
        assert_eq!(text, "    ID Target\n    == ======\n     1    101\n  1000      2\n");
    }
}
