// SPDX-License-Identifier: Apache-2.0

//! The management service: Raft around the cluster state, leases, REST API.
