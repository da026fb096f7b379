// SPDX-License-Identifier: Apache-2.0

//! What all pages of benchmarks have around them. Pure.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use nyala_web::BASE_STYLE;

/// What these pages have beside what they share with those of a cluster.
const STYLE: &str = "\
.boxes { display: block; width: 100%; min-width: 46rem; height: auto; margin: 0.4rem 0 0.8rem; font-size: 12px; }
.boxes text { fill: var(--ink); } .boxes .label { fill: var(--soft); font-variant-numeric: tabular-nums; } .boxes .name { text-anchor: end; }
.boxes .box { fill: var(--one); fill-opacity: 0.25; stroke: var(--one); } .boxes .median { stroke: var(--one); stroke-width: 2.5; }
.boxes .whisker { stroke: var(--one); } .boxes .dot { fill: var(--one); } .boxes .newest, .boxes .mean { fill: var(--two); }
.boxes .aim { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 4 3; }
.worse { color: var(--critical); font-weight: 600; } .better { color: var(--good); font-weight: 600; }
.quiet { color: var(--soft); } summary { cursor: pointer; margin: 0.5rem 0; font-weight: 600; }
footer { max-width: 82rem; margin: 0 auto; padding: 0 1.25rem 2rem; color: var(--soft); font-size: 0.88rem; }
@media print { details { display: block; } .scroll { overflow: visible; } }
";

/// A page that needs nothing else.
pub fn frame(title: &str, body: Markup, footer: &str) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Nyala" }
                style { (PreEscaped(BASE_STYLE)) (PreEscaped(STYLE)) }
            }
            body {
                main { (body) }
                footer { (footer) }
            }
        }
    };
    document.into_string()
}
