// SPDX-License-Identifier: Apache-2.0

//! What is to be encoded, and what came of it.

use nyala_wire::{ErasureCode, Layout, TargetId};

/// What is to be encoded.
#[derive(Clone, Debug, Default)]
pub struct Encoding {
    /// With this code; absent: with what the file was made with.
    pub code: Option<ErasureCode>,
    /// Also what is encoded already, from what can be read of it.
    pub again: bool,
    /// Not to these targets.
    pub avoid: Vec<TargetId>,
    /// Only while its data was moved so often, absent: however often. What was found damaged may be whole by now.
    pub moves: Option<u32>,
}

/// How many bytes were copied, and the layout of now; absent: there was nothing to do.
pub type Encoded = Option<(u64, Layout)>;
