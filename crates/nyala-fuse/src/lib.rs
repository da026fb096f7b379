// SPDX-License-Identifier: Apache-2.0

//! The kernel mount: our own FUSE session and the adapter to the client.
