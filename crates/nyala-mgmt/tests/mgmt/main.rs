// SPDX-License-Identifier: Apache-2.0

//! A management service, asked over its own protocol, over REST and by a browser.
//! One program: each of its own would contain all that is tested once more, and take its time to build.

mod common;
mod directory;
mod kill;
mod rest;
mod rest_rules;
mod service;
mod tls;
mod web;
