// SPDX-License-Identifier: Apache-2.0

//! Major types and simple values (RFC 8949, 3.1 and 3.3).

pub const UNSIGNED: u8 = 0;
pub const NEGATIVE: u8 = 1;
pub const BYTES: u8 = 2;
pub const TEXT: u8 = 3;
pub const ARRAY: u8 = 4;
pub const MAP: u8 = 5;
pub const TAG: u8 = 6;
pub const NULL: u8 = 0xf6;
pub const FALSE: u8 = 0xf4;
pub const TRUE: u8 = 0xf5;
