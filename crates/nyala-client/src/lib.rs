// SPDX-License-Identifier: Apache-2.0

//! The client core: name space operations, striping, buffering, retry.
