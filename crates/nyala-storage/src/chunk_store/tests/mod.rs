// SPDX-License-Identifier: Apache-2.0

//! Tests of the chunk store: against a model, with crashes and failures at every step, and with flipped bytes.

mod crash;
mod damage;
mod data_count;
mod faults;
mod fences;
mod model;
mod optimistic;
mod regions;
mod reserve;
mod sim;
mod walk;
