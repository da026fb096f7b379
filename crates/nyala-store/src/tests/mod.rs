// SPDX-License-Identifier: Apache-2.0

//! Tests of the whole store, one file per promise.

mod files;
