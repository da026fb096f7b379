// SPDX-License-Identifier: Apache-2.0

//! Keys, whatever terminal they come from.

/// A key that was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// Next table.
    Tab,
    /// The table before.
    BackTab,
    /// Move.
    Up,
    /// Move.
    Down,
    /// The column to the left.
    Left,
    /// The column to the right.
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// Done.
    Enter,
    /// Away with it.
    Escape,
    /// Removes a character.
    Backspace,
}
