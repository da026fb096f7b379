// SPDX-License-Identifier: Apache-2.0

//! Pure: the cluster state machine, target states, capacity pools and placement.
