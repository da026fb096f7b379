// SPDX-License-Identifier: Apache-2.0

//! One subcommand per file.

pub mod completions;
pub mod config_check;
pub mod down;
pub mod entry_info;
pub mod entry_set;
pub mod fsck;
pub mod health_check;
pub mod health_df;
pub mod health_net;
pub mod man;
mod meta_slot_args;
mod meta_slot_tables;
pub mod meta_slots;
pub mod mgmt_add;
pub mod mgmt_list;
pub mod mgmt_remove;
pub mod mirror_check;
pub mod mirror_create;
pub mod mirror_delete;
pub mod mirror_list;
pub mod mirror_members;
pub mod mirror_resync;
pub mod mirror_switch;
pub mod node_list;
pub mod node_remove;
pub mod plan;
pub mod scrub;
pub mod secret;
pub mod setup;
pub mod setup_check;
pub mod start;
pub mod stats;
mod stats_counts;
pub mod status;
pub mod stop;
pub mod target_add;
pub mod target_list;
pub mod target_remove;
pub mod target_set_state;
pub mod top;
pub mod tune;
pub mod umount;
pub mod up;
pub mod version;
pub mod words;
