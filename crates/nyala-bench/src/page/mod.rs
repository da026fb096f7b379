// SPDX-License-Identifier: Apache-2.0

//! Stored runs as one HTML page that needs nothing else: tables, box plots over repeated runs, CPU per operation, machine facts, and how
//! the newest run compares with those before it. Pure: the same runs give the same bytes.
//!
//! **Failure model.** A stored run may be of an older or newer version of this program, cut, or no run at all: what is known is shown, and what
//! cannot be read is an error with the reason. Names come from files and are escaped.

mod boxes;
mod frame;
mod html;
mod loose;
mod quartiles;
mod scale;
mod sections;
mod series;
mod stored;

pub(crate) use boxes::{Kind, draw};
pub(crate) use frame::frame;
pub use html::page;
pub(crate) use quartiles::quartiles;
pub(crate) use series::Series;
pub use stored::{NotARun, Stored, read};
