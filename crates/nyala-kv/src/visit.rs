// SPDX-License-Identifier: Apache-2.0

//! How rows are handed to a reader, and changes to a table.

use std::ops::ControlFlow;

/// What a scan calls with each key and value, until it breaks.
pub type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// A change in a commit: the key, and its new value or `None` for a deletion.
pub type Change<'a> = (&'a [u8], Option<&'a [u8]>);
