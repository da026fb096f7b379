// SPDX-License-Identifier: Apache-2.0

//! The rows as a chart: a bar for each, as long as the figure is worse than its aim, on a logarithmic scale. Pure.

use super::scores::Score;
use std::fmt::Write;

/// Geometry, pixels: a row's height, where bars begin, width of a factor of ten, the whole width.
const ROW: usize = 22;
const BARS: f64 = 520.0;
const DECADE: f64 = 140.0;
const WIDTH: usize = 960;
/// What is drawn at most: a tenth of the aim to a hundred times.
const LEAST: f64 = 0.1;
const MOST: f64 = 100.0;

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn place(miss: f64) -> f64 {
    BARS + DECADE * (miss.clamp(LEAST, MOST) / LEAST).log10()
}

/// An SVG document. Bars that reach beyond the line miss their aim.
pub fn svg(title: &str, scores: &[Score]) -> String {
    let height = ROW * (scores.len() + 3);
    let aim = place(1.0);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"8\" y=\"16\" font-weight=\"bold\">{}: how far from the aim (×; left of the line is better)</text>\n",
        escaped(title)
    );
    for (number, score) in scores.iter().enumerate() {
        let y = ROW * (number + 1) + 8;
        let (base, what) = (y + 13, escaped(&score.aim.what));
        // why ignored, here and below: writing to a String cannot fail.
        let _ = writeln!(text, "<text x=\"8\" y=\"{base}\">{what}</text>");
        let Some(miss) = score.aim.miss() else {
            let _ = writeln!(text, "<text x=\"{BARS}\" y=\"{base}\" fill=\"#888\">no figure</text>");
            continue;
        };
        let (end, colour) = (place(miss), if score.aim.ok { "#4a9" } else { "#d64" });
        let wide = end - BARS;
        let _ = writeln!(text, "<rect x=\"{BARS}\" y=\"{y}\" width=\"{wide:.1}\" height=\"16\" fill=\"{colour}\"/>");
        let label = escaped(&format!("{} ({})", score.aim.measured(), score.aim.wanted()));
        let _ = writeln!(text, "<text x=\"{:.1}\" y=\"{base}\">{label}</text>", end + 4.0);
    }
    let bottom = height - ROW;
    let _ = writeln!(text, "<line x1=\"{aim}\" x2=\"{aim}\" y1=\"{ROW}\" y2=\"{bottom}\" stroke=\"black\"/>");
    for times in [0.1, 1.0, 10.0, 100.0] {
        let x = place(times);
        let _ = writeln!(text, "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{times}</text>", bottom + 14);
    }
    text + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::aim::{at_least, at_most};

    #[test]
    fn bars_end_where_the_figures_are() {
        let aims = [
            at_most("create <x>", Some(250.0), 25.0, "µs"),
            at_least("share", Some(70.0), 70.0, "%"),
            at_most("none", None, 1.0, "s"),
        ];
        let text = svg("a & b", &aims.map(Score::new));
        assert!(text.contains("create &lt;x&gt;") && text.contains("a &amp; b"), "{text}");
        assert!(text.contains("width=\"280.0\" height=\"16\" fill=\"#d64\""), "ten times the aim: {text}");
        assert!(text.contains("width=\"140.0\" height=\"16\" fill=\"#4a9\""), "the aim: {text}");
        assert_eq!(text.matches("<rect x=").count(), 2);
        assert!(text.contains("no figure") && text.ends_with("</svg>\n"));
    }
}
