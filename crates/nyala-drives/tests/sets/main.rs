// SPDX-License-Identifier: Apache-2.0

//! Sets on simulated drives, and on directories of this machine.

mod common;
mod crash;
mod cut_off;
mod deleted;
mod directories;
mod flips;
mod options;
mod returned;
