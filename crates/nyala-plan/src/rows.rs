// SPDX-License-Identifier: Apache-2.0

//! Rows of equal boxes, and the lines between them.

use crate::svg::{Anchor, Svg};

/// Width of the picture.
pub const WIDTH: f64 = 960.0;
/// Space around everything.
pub const MARGIN: f64 = 20.0;
/// Space between two boxes.
const GAP: f64 = 10.0;
/// Height of a box with two lines of letters.
pub const BOX: f64 = 48.0;
/// From the top of one row of boxes to that of the next one.
const ROW: f64 = 112.0;
/// Top of the first row.
pub const TOP: f64 = 80.0;
/// Boxes of a kind that are drawn one by one.
pub const DRAWN: u32 = 6;
/// A row of boxes: the two lines of each.
pub struct Row {
    /// The upper edge.
    pub top: f64,
    /// Name, and a word more, of each.
    pub boxes: Vec<(String, String)>,
}

impl Row {
    /// The first ones of so many, and one for the others.
    pub fn of(row: u32, number: u32, name: impl Fn(u32) -> (String, String)) -> Row {
        let mut boxes: Vec<_> = (1..=number.min(DRAWN)).map(name).collect();
        if number > DRAWN {
            boxes.push((format!("{} more", number - DRAWN), "alike".to_owned()));
        }
        Row { top: TOP + ROW * f64::from(row), boxes }
    }

    fn width(&self) -> f64 {
        let all = WIDTH - 2.0 * MARGIN;
        ((all + GAP) / self.boxes.len().max(1) as f64 - GAP).min(230.0)
    }

    /// The middle of a box.
    pub fn middle(&self, at: usize) -> f64 {
        let whole = (self.width() + GAP) * self.boxes.len() as f64 - GAP;
        (WIDTH - whole) / 2.0 + (self.width() + GAP) * at as f64 + self.width() / 2.0
    }

    /// Draws the boxes.
    pub fn draw(&self, svg: &mut Svg) {
        for (at, (name, more)) in self.boxes.iter().enumerate() {
            let x = self.middle(at);
            svg.rect("box", (x - self.width() / 2.0, self.top), (self.width(), BOX));
            svg.text("strong", Anchor::Middle, (x, self.top + 20.0), name);
            svg.text("soft", Anchor::Middle, (x, self.top + 38.0), more);
        }
    }

    /// Lines from a row of clients down to the switches.
    pub fn join_below(&self, svg: &mut Svg, below: &Row) {
        for to in 0..below.boxes.len() {
            svg.line("network", (self.middle(0), self.top + BOX), (below.middle(to), below.top));
        }
    }

    /// Lines from these boxes to all of a row above.
    pub fn join_above(&self, svg: &mut Svg, above: &Row) {
        for from in 0..self.boxes.len() {
            for to in 0..above.boxes.len() {
                svg.line("network", (self.middle(from), self.top), (above.middle(to), above.top + BOX));
            }
        }
    }
}
