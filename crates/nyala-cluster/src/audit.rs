// SPDX-License-Identifier: Apache-2.0

//! Orders of operators, written down before they are carried out, with what came of them. A bounded part of the cluster state.
//!
//! **Failure model.** The node that carries an order out may stop leading, or die, in between: the order then stands there without an outcome, and may
//! have been carried out or not. What operators say in an order is theirs: it is cut at a length before it is kept.

use crate::{ClusterError, ClusterState, Event};
use nyala_wire::audit::AuditRecord;

/// Most orders that are kept; the oldest go.
pub const MOST_ORDERS: usize = 256;
/// Longest text of each part of a record, bytes.
pub const MAX_TEXT: usize = 400;

/// Cut between two characters.
fn cut(mut text: String) -> String {
    let end = (0..=MAX_TEXT.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.truncate(end.unwrap_or(0));
    text
}

pub(crate) fn note_order(state: &mut ClusterState, order: AuditRecord) -> Result<Vec<Event>, ClusterError> {
    state.last_order += 1;
    if state.orders.len() >= MOST_ORDERS {
        state.orders.drain(..=state.orders.len() - MOST_ORDERS);
    }
    state.orders.push(AuditRecord {
        number: state.last_order,
        key: cut(order.key),
        host: cut(order.host),
        what: cut(order.what),
        outcome: None,
        ..order
    });
    Ok(vec![Event::OrderNoted(state.last_order)])
}

/// What came of it first counts. One that is not kept any more is forgotten.
pub(crate) fn end_order(state: &mut ClusterState, number: u64, outcome: String) -> Result<Vec<Event>, ClusterError> {
    let order = state.orders.iter_mut().rev().find(|order| order.number == number && order.outcome.is_none());
    let Some(order) = order else { return Ok(Vec::new()) };
    order.outcome = Some(cut(outcome));
    Ok(vec![Event::OrderEnded(number)])
}
