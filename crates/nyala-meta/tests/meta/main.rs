// SPDX-License-Identifier: Apache-2.0

//! The metadata service as shipped, with the services around it, on real directories and real connections; and its tables under crashes.
//! One program: each of its own would contain all that is tested once more, and take its time to build.

mod cluster;
mod crash;
mod fences;
