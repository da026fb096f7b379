// SPDX-License-Identifier: Apache-2.0

//! Pages of made-up clusters: what is in them, what is escaped, what they cost, and their pictures.

mod actions;
mod clusters;
mod content;
mod cost;
mod files;
mod hostile;
mod pictures;
