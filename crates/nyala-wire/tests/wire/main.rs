// SPDX-License-Identifier: Apache-2.0

//! What crosses the wire: that it survives the round trip, that what is wrong is refused, that it stays as it is, and
//! that `docs/protocol.md` says the same.

mod cbor;
mod document;
mod examples;
mod golden;
mod messages;
mod properties;
mod shapes;
mod tape;
mod values;
