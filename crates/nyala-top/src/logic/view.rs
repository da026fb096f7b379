// SPDX-License-Identifier: Apache-2.0

//! What of the tables is wanted: which one, in which order, which rows, held still or not. Keys change it.

use super::key::Key;
use super::tab::Tab;
use super::tables::{Row, Tables};

/// What is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The table.
    pub tab: Tab,
    /// For each table: the column that orders it, and whether the largest comes last.
    order: [(usize, bool); Tab::COUNT],
    /// Rows have this in their text.
    pub filter: String,
    /// The filter is being written.
    pub writing: bool,
    /// What is shown does not change.
    pub paused: bool,
    /// Keys are explained.
    pub help: bool,
    /// Rows that are scrolled away.
    pub above: usize,
    shown: Tables,
}

/// Rows of a page.
const PAGE: usize = 10;
/// Longest filter, characters.
const LONGEST: usize = 60;

impl View {
    /// Begins with this table.
    pub fn new(tab: Tab) -> View {
        View {
            tab,
            order: Tab::ALL.map(|tab| (tab.busiest(), false)),
            filter: String::new(),
            writing: false,
            paused: false,
            help: false,
            above: 0,
            shown: Tables::default(),
        }
    }

    /// New tables; while paused, those of before stay.
    pub fn tables(&mut self, tables: Tables) {
        if !self.paused {
            self.shown = tables;
        }
        self.scroll(0);
    }

    /// What is shown.
    pub fn shown(&self) -> &Tables {
        &self.shown
    }

    /// The column that orders the table, and whether the largest comes last.
    pub fn order(&self) -> (usize, bool) {
        self.order[self.tab as usize]
    }

    /// The rows that are wanted, in order.
    pub fn rows(&self) -> Vec<&Row> {
        let ((column, ascending), filter) = (self.order(), self.filter.to_lowercase());
        let has = |row: &&Row| row.iter().any(|cell| cell.to_string().to_lowercase().contains(&filter));
        let mut rows: Vec<&Row> = self.shown.rows(self.tab).iter().filter(has).collect();
        rows.sort_by(|one, other| {
            let order = one[column].order(&other[column]);
            // Of those that are equal, the one whose name comes first.
            (if ascending { order } else { order.reverse() }).then_with(|| one[0].order(&other[0]))
        });
        rows
    }

    /// A key was pressed; whether this is the end.
    pub fn press(&mut self, key: Key) -> bool {
        if self.writing {
            self.write(key);
            return false;
        }
        let help = std::mem::take(&mut self.help);
        match key {
            Key::Char('q') => return true,
            Key::Escape if help => {}
            Key::Escape if !self.filter.is_empty() => self.filter.clear(),
            Key::Escape => return true,
            Key::Char('?' | 'h') => self.help = !help,
            Key::Char('/') => self.writing = true,
            Key::Char('p' | ' ') => self.paused = !self.paused,
            Key::Char('r') => self.order[self.tab as usize].1 ^= true,
            Key::Char(digit @ '1'..='7') => self.go(digit as usize - '1' as usize),
            Key::Tab => self.go(self.tab as usize + 1),
            Key::BackTab => self.go(self.tab as usize + Tab::ALL.len() - 1),
            Key::Left | Key::Char('<') => self.turn(self.tab.heads().len() - 1),
            Key::Right | Key::Char('>') => self.turn(1),
            Key::Up | Key::Char('k') => self.scroll(-1),
            Key::Down | Key::Char('j') => self.scroll(1),
            Key::PageUp => self.scroll(-(PAGE as isize)),
            Key::PageDown => self.scroll(PAGE as isize),
            Key::Home => self.above = 0,
            Key::End => self.scroll(isize::MAX),
            Key::Char(_) | Key::Enter | Key::Backspace => {}
        }
        false
    }

    fn write(&mut self, key: Key) {
        match key {
            Key::Char(c) if self.filter.chars().count() < LONGEST => self.filter.push(c),
            Key::Backspace => drop(self.filter.pop()),
            Key::Enter => self.writing = false,
            Key::Escape => {
                self.writing = false;
                self.filter.clear();
            }
            _ => {}
        }
        self.above = 0;
    }

    fn go(&mut self, number: usize) {
        self.tab = Tab::ALL[number % Tab::ALL.len()];
        self.above = 0;
    }

    /// Orders by another column; names from the first on, numbers from the largest.
    fn turn(&mut self, by: usize) {
        let (column, _) = self.order();
        let column = (column + by) % self.tab.heads().len();
        let names = self.shown.rows(self.tab).first().is_some_and(|row| !row[column].is_number());
        self.order[self.tab as usize] = (column, names);
    }

    fn scroll(&mut self, by: isize) {
        let last = self.rows().len().saturating_sub(1);
        self.above = self.above.saturating_add_signed(by).min(last);
    }
}
