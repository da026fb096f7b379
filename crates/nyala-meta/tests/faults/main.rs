// SPDX-License-Identifier: Apache-2.0

//! Whole clusters under power cuts and flipped bits. A program apart from the other tests, whose time limits would not stand what runs here at once.

mod flips;
mod power;
