// SPDX-License-Identifier: Apache-2.0

//! The client with servers in memory: the machines of the metadata service, and storage that can be told to fail.
//! One program: each of its own would contain all that is tested once more, and take its time to build.

mod basics;
mod behind;
mod coherence;
mod commits;
mod content;
mod deferred_close;
mod delegations;
mod durable;
mod emptied;
mod encode_meets;
mod encoded;
mod ended;
mod fake;
mod faults;
mod healed;
mod late_answers;
mod locks;
mod moves_meet;
mod network;
mod replay;
mod waits;
mod whole_stripes;
