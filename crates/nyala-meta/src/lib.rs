// SPDX-License-Identifier: Apache-2.0

//! The metadata service: name space, attributes, sessions, inline small files.
