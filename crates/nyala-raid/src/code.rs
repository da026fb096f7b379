// SPDX-License-Identifier: Apache-2.0

//! The code of a set: none, copies, or parity.

use crate::geometry::{Geometry, MAX_DRIVES};
use crate::level::{GeometryError, Level};
use nyala_parity::{Code, Recovery};

/// How the redundant columns follow from data.
#[derive(Clone, Debug)]
pub(crate) enum StripCode {
    Plain,
    /// Every redundant column is a copy of the one data column.
    Copies,
    Parity(Code),
}

impl StripCode {
    pub fn new(geometry: &Geometry) -> Result<StripCode, GeometryError> {
        let data = geometry.data();
        let code = match (geometry.level(), geometry.parity()) {
            (_, 0) => return Ok(StripCode::Plain),
            (Level::Raid1 | Level::Raid10, _) => return Ok(StripCode::Copies),
            (Level::NPlusM { .. }, parity) => Code::reed_solomon(data, parity),
            (_, 1) => Code::xor(data),
            (_, 2) => Code::p_q(data),
            (_, _) => Code::three(data),
        };
        // More drives than a set may have are more than the code can.
        code.map(StripCode::Parity)
            .map_err(|_| GeometryError::TooManyDrives { drives: geometry.drives(), most: MAX_DRIVES })
    }

    /// Redundant columns from data, all of one length.
    pub fn encode<B: AsRef<[u8]>>(&self, data: &[B], parity: usize) -> Vec<Vec<u8>> {
        let first = data.first().map_or(&[][..], B::as_ref);
        match self {
            StripCode::Plain => Vec::new(),
            StripCode::Copies => vec![first.to_vec(); parity],
            StripCode::Parity(code) => {
                let mut out = vec![vec![0; first.len()]; parity];
                let data: Vec<&[u8]> = data.iter().map(B::as_ref).collect();
                code.encode(&data, &mut out.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
                out
            }
        }
    }

    /// Changes redundant columns by what one data column changed: `delta` is old content xor new.
    pub fn update(&self, column: usize, delta: &[u8], parity: &mut [Vec<u8>]) {
        match self {
            StripCode::Plain => {}
            StripCode::Copies => {
                let copies = parity.iter_mut().flat_map(|copy| copy.iter_mut().zip(delta));
                copies.for_each(|(byte, change)| *byte ^= change);
            }
            StripCode::Parity(code) => {
                code.update(column, delta, &mut parity.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
            }
        }
    }

    /// One lost column from others, of one length; `None` if they do not suffice.
    pub fn recover(&self, lost: usize, have: &[(usize, &[u8])]) -> Option<Vec<u8>> {
        match self {
            StripCode::Plain => None,
            StripCode::Copies => have.first().map(|(_, copy)| copy.to_vec()),
            StripCode::Parity(code) => {
                let recovery = Recovery::plan(code, &[lost], have.iter().map(|(column, _)| *column)).ok()?;
                let content = |column: &usize| have.iter().find(|(there, _)| there == column).map(|(_, bytes)| *bytes);
                let from: Vec<&[u8]> = recovery.from().iter().filter_map(content).collect();
                let mut out = vec![0; have.first()?.1.len()];
                recovery.recover(&from, &mut [&mut out]);
                Some(out)
            }
        }
    }
}
