// SPDX-License-Identifier: Apache-2.0

//! Durable ordered tables: log with group commit, tables in memory, atomic checkpoints into LMDB.
