// SPDX-License-Identifier: Apache-2.0

//! Who is busiest.

use super::{Cut, largest};
use crate::facts::Facts;
use crate::figures::{ClientFigures, UserFigures};

/// Most clients, and most users, that are listed.
pub const MOST_BUSY: usize = 50;

/// The clients with the most requests.
pub fn clients<'a>(facts: &Facts<'a>) -> Cut<&'a ClientFigures> {
    let all = facts.figures.map_or(&[][..], |figures| &figures.clients);
    largest(all, MOST_BUSY, |client| client.requests, |client| &client.name)
}

/// The users with the most requests.
pub fn users<'a>(facts: &Facts<'a>) -> Cut<&'a UserFigures> {
    let all = facts.figures.map_or(&[][..], |figures| &figures.users);
    largest(all, MOST_BUSY, |user| user.requests, |user| &user.uid)
}
