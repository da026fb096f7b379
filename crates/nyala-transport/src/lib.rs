// SPDX-License-Identifier: Apache-2.0

//! Connections, handshake, request and response, streamed payloads.
