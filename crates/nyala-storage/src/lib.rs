// SPDX-License-Identifier: Apache-2.0

//! The storage service: chunk files with block checksums.

pub mod chunk_store;
