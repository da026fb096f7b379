// SPDX-License-Identifier: Apache-2.0

//! Values in tables, short enough for a column.

use std::cmp::Ordering;
use std::fmt;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text.
    Text(String),
    /// A number of things, or of things in a second.
    Number(f64),
    /// Bytes, or bytes in a second.
    Bytes(f64),
    /// A time in seconds.
    Time(f64),
    /// A part of a whole, in percent.
    Percent(f64),
    /// Not known.
    None,
}

impl Cell {
    /// A time, if there is one.
    pub fn time(seconds: Option<f64>) -> Cell {
        seconds.map_or(Cell::None, Cell::Time)
    }

    /// The order of a column: what is not known comes first.
    pub fn order(&self, other: &Cell) -> Ordering {
        match (self, other) {
            (Cell::Text(one), Cell::Text(other)) => one.cmp(other),
            (one, other) => one.number().total_cmp(&other.number()),
        }
    }

    fn number(&self) -> f64 {
        match self {
            Cell::Number(number) | Cell::Bytes(number) | Cell::Time(number) | Cell::Percent(number) => *number,
            Cell::None | Cell::Text(_) => f64::NEG_INFINITY,
        }
    }

    /// Whether it stands at the right edge of its column.
    pub fn is_number(&self) -> bool {
        !matches!(self, Cell::Text(_))
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The sum of nothing is -0.
        let (mut value, mut unit) = (self.number() + 0.0, "");
        match self {
            Cell::Text(text) => return f.write_str(text),
            Cell::None => return f.write_str("-"),
            Cell::Percent(_) => return write!(f, "{value:.0}%"),
            Cell::Number(_) => {
                for next in ["k", "M", "G"] {
                    if value >= 9999.5 {
                        (value, unit) = (value / 1000.0, next);
                    }
                }
            }
            Cell::Bytes(_) => {
                for next in ["K", "M", "G", "T", "P"] {
                    if value >= 1023.5 {
                        (value, unit) = (value / 1024.0, next);
                    }
                }
            }
            Cell::Time(seconds) => {
                (value, unit) = match *seconds {
                    seconds if seconds < 0.001 => (seconds * 1e6, "µs"),
                    seconds if seconds < 1.0 => (seconds * 1e3, "ms"),
                    seconds => (seconds, "s"),
                };
            }
        }
        let digits = usize::from(value < 99.95 && (value - value.round()).abs() >= 0.05);
        write!(f, "{value:.digits$}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_short() {
        let shown = |cell: Cell| cell.to_string();
        assert_eq!(
            [shown(Cell::Number(0.0)), shown(Cell::Number(9999.0)), shown(Cell::Number(12_345.0))],
            ["0", "9999", "12.3k"]
        );
        assert_eq!(
            [shown(Cell::Bytes(1023.0)), shown(Cell::Bytes(1.5 * 1048576.0)), shown(Cell::Bytes(2e15))],
            ["1023", "1.5M", "1.8P"]
        );
        assert_eq!(
            [shown(Cell::Time(0.000_012)), shown(Cell::Time(0.0305)), shown(Cell::Time(7.0))],
            ["12µs", "30.5ms", "7s"]
        );
        assert_eq!([shown(Cell::Bytes(-0.0)), shown(Cell::Percent(-0.0))], ["0", "0%"]);
        assert_eq!([shown(Cell::Percent(12.4)), shown(Cell::None)], ["12%", "-"]);
        assert!(Cell::None.order(&Cell::Number(0.0)).is_lt() && Cell::Bytes(1.0).order(&Cell::Bytes(2.0)).is_lt());
    }
}
