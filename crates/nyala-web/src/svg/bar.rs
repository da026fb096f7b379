// SPDX-License-Identifier: Apache-2.0

//! A bar that is filled in part.

use maud::{Markup, html};

/// A bar; `class` says in which colour.
pub fn bar(part: f64, class: &str, said: &str) -> Markup {
    let width = format!("{:.1}", part.clamp(0.0, 1.0) * 100.0);
    html! {
        svg class={ "bar " (class) } viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label=(said) {
            rect class="track" width="100" height="8" {}
            rect class="fill" width=(width) height="8" {}
        }
    }
}
