// SPDX-License-Identifier: Apache-2.0

//! Talking to the cluster: the cluster map, sessions with metadata servers, requests to metadata, storage and mirror groups, and
//! how long and how often they are repeated.

pub mod logic;
pub mod transport;

pub(crate) mod acting_user;
pub(crate) mod adopt;
pub(crate) mod bound;
pub(crate) mod cluster;
pub(crate) mod cluster_map;
pub(crate) mod confirm;
pub(crate) mod deadline;
pub(crate) mod exchange;
pub(crate) mod failure;
pub(crate) mod following;
pub(crate) mod grant_fetches;
pub(crate) mod management;
pub(crate) mod meta;
pub(crate) mod mirror;
pub(crate) mod reach;
pub(crate) mod replay;
pub(crate) mod retry;
pub(crate) mod root;
pub(crate) mod session;
pub(crate) mod session_close;
pub(crate) mod sessions;
pub(crate) mod show;
pub(crate) mod storage;
pub(crate) mod unit;
