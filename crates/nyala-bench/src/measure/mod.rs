// SPDX-License-Identifier: Apache-2.0

//! Time and CPU: of operations, of this process, of services, and of bare loopback TCP.

pub mod cpu;
pub mod latency;
pub mod loopback;
pub mod rest;
pub mod services;
