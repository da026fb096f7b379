// SPDX-License-Identifier: Apache-2.0

//! What a drawing is made of: boxes, lines and letters as SVG text, in colours that follow the reader's light or dark setting.

use std::fmt::Write;

/// Colours as the page has them: ink and softer ink, ground, boxes, lines, bars, and the one that stands out.
const LIGHT: [&str; 7] = ["#1b1f24", "#57606a", "#ffffff", "#f3f5f7", "#8c959f", "#0969da", "#bc4c00"];
const DARK: [&str; 7] = ["#e6edf3", "#9da7b3", "#0d1117", "#1c2330", "#6e7681", "#4493f8", "#f0883e"];
const NAMES: [&str; 7] = ["ink", "soft", "ground", "box", "line", "bar", "limit"];
const RULES: &str = "text{font:14px system-ui,sans-serif;fill:var(--ink)}\
    .soft{fill:var(--soft);font-size:13px}.head{font-size:17px;font-weight:600}.strong{font-weight:600}\
    .ground{fill:var(--ground)}.box{fill:var(--box);stroke:var(--line)}.bar{fill:var(--bar)}.limit{fill:var(--limit)}\
    .network{stroke:var(--bar);stroke-width:1.5}.drives{stroke:var(--line);stroke-width:1.5}";

/// Where a text ends or begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// It begins at the place.
    Start,
    /// Its middle is there.
    Middle,
}

/// A drawing that grows.
#[derive(Debug, Default)]
pub struct Svg(String);

impl Svg {
    /// A box with round corners.
    pub fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        // Writing to a string does not fail.
        let _ = write!(
            self.0,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"5\"/>"
        );
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let _ = write!(self.0, "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>");
    }

    /// A line of letters.
    pub fn text(&mut self, class: &str, anchor: Anchor, (x, y): (f64, f64), said: &str) {
        let anchor = if anchor == Anchor::Middle { " text-anchor=\"middle\"" } else { "" };
        let said = escaped(said);
        let _ = write!(self.0, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\"{anchor}>{said}</text>");
    }

    /// The whole document.
    pub fn document(self, (width, height): (f64, f64), title: &str) -> String {
        let colours = |values: [&str; 7]| -> String {
            NAMES.iter().zip(values).map(|(name, value)| format!("--{name}:{value};")).collect()
        };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">\
             <title>{}</title><style>svg{{{}}}@media(prefers-color-scheme:dark){{svg{{{}}}}}{RULES}</style>\
             <rect class=\"ground\" width=\"100%\" height=\"100%\"/>{}</svg>\n",
            escaped(title),
            colours(LIGHT),
            colours(DARK),
            self.0
        )
    }
}

fn escaped(said: &str) -> String {
    said.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How bright a colour looks, after the rule of the accessibility guidelines.
    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    #[test]
    fn letters_can_be_read_on_light_and_dark() {
        for colours in [LIGHT, DARK] {
            for ink in [colours[0], colours[1]] {
                for ground in [colours[2], colours[3]] {
                    let (one, other) = (luminance(ink), luminance(ground));
                    let contrast = (one.max(other) + 0.05) / (one.min(other) + 0.05);
                    assert!(contrast >= 4.5, "{ink} on {ground}: {contrast}");
                }
            }
        }
    }

    #[test]
    fn what_is_said_cannot_break_out() {
        let mut svg = Svg::default();
        svg.text("soft", Anchor::Start, (0.0, 0.0), "<a href=\"x\">&");
        let text = svg.document((10.0, 10.0), "a < b");
        assert!(text.contains("&lt;a href=&quot;x&quot;&gt;&amp;</text>") && text.contains("<title>a &lt; b</title>"));
    }
}
