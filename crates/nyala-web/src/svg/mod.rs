// SPDX-License-Identifier: Apache-2.0

//! Drawings, with what they show in words for those who do not see them.

pub mod bar;
pub mod chart;
pub mod topology;
