// SPDX-License-Identifier: Apache-2.0

//! Lines over time.

use crate::history::{POINTS, Span};
use crate::units;
use maud::{Markup, PreEscaped, html};
use std::fmt::Write;

const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 170.0;
/// Room for the labels of the left side, and below.
const LEFT_MARGIN: f64 = 78.0;
const BELOW: f64 = 24.0;
const ABOVE: f64 = 10.0;
const RIGHT: f64 = 8.0;

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart<'a> {
    /// Its title.
    pub title: &'a str,
    /// Name and points of each line.
    pub lines: Vec<(&'a str, Vec<Option<f64>>)>,
    /// How a value is written.
    pub unit: fn(f64) -> String,
    /// Steps of 1024 rather than of 10.
    pub binary: bool,
    /// The smallest value of its upper edge.
    pub at_least: f64,
    /// The time it shows.
    pub span: Span,
    /// Its right edge, milliseconds since 1970.
    pub now_ms: u64,
}

impl Chart<'_> {
    /// Draws it.
    pub fn draw(&self) -> Markup {
        let known = self.lines.iter().flat_map(|(_, points)| points.iter().flatten());
        let top = nice(known.copied().fold(self.at_least, f64::max), self.binary);
        let last = |points: &[Option<f64>]| points.iter().rev().flatten().next().copied();
        let said: Vec<String> = self
            .lines
            .iter()
            .map(|(name, points)| {
                let most = points.iter().flatten().copied().fold(0.0, f64::max);
                let now = last(points).map_or_else(|| "unknown".to_owned(), self.unit);
                format!("{name} {now} now, at most {}", (self.unit)(most))
            })
            .collect();
        html! {
            figure class="chart" {
                figcaption {
                    h3 { (self.title) }
                    ul class="legend" {
                        @for (at, (name, points)) in self.lines.iter().enumerate() {
                            li { span class={ "key line" (at) } {} (name) " " strong { (last(points).map_or_else(|| "–".to_owned(), self.unit)) } }
                        }
                    }
                }
                svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label={ (self.title) ": " (said.join("; ")) } {
                    (self.grid(top))
                    @for (at, (_, points)) in self.lines.iter().enumerate() {
                        @let (line, area) = paths(points, top);
                        path class={ "area line" (at) } d=(PreEscaped(area)) {}
                        path class={ "stroke line" (at) } d=(PreEscaped(line)) {}
                    }
                }
            }
        }
    }

    fn grid(&self, top: f64) -> Markup {
        let times = 4;
        html! {
            @for step in 0..=2 {
                @let value = top * f64::from(step) / 2.0;
                @let at = format!("{:.1}", y(value, top));
                line class="grid" x1=(LEFT_MARGIN) x2=(WIDTH - RIGHT) y1=(at) y2=(at) {}
                text class="label end" x=(LEFT_MARGIN - 8.0) y=(at) dy="4" { ((self.unit)(value)) }
            }
            @for step in 0..=times {
                @let back = self.span.millis() * (times - step) / times;
                @let at = x((POINTS - 1) as f64 * step as f64 / times as f64);
                @let moment = units::moment(self.now_ms.saturating_sub(back));
                text class={ "label " @if step == 0 { "start" } @else if step == times { "end" } @else { "middle" } }
                    x=(format!("{at:.1}")) y=(HEIGHT - 6.0) { (moment.get(11..16).unwrap_or_default()) }
            }
        }
    }
}

fn x(point: f64) -> f64 {
    LEFT_MARGIN + point * (WIDTH - LEFT_MARGIN - RIGHT) / (POINTS - 1) as f64
}

fn y(value: f64, top: f64) -> f64 {
    ABOVE + (1.0 - value / top) * (HEIGHT - ABOVE - BELOW)
}

/// The line, in pieces where something is missing, and the areas below it. A point alone is a short line.
fn paths(points: &[Option<f64>], top: f64) -> (String, String) {
    let (mut line, mut area) = (String::new(), String::new());
    let mut begun: Option<f64> = None;
    let zero = y(0.0, top);
    for (at, value) in points.iter().enumerate() {
        let (px, Some(value)) = (x(at as f64), value) else {
            if begun.take().is_some() {
                let _ = write!(area, "V{zero:.1}Z");
            }
            continue;
        };
        let py = y(value.min(top), top);
        // Writing to a string cannot fail.
        let _ = match begun {
            Some(_) => write!(line, "L{px:.1} {py:.1}").and_then(|()| write!(area, "L{px:.1} {py:.1}")),
            None => write!(line, "M{px:.1} {py:.1}h0.1").and_then(|()| write!(area, "M{px:.1} {zero:.1}V{py:.1}")),
        };
        begun = Some(px);
    }
    if begun.is_some() {
        let _ = write!(area, "V{zero:.1}Z");
    }
    (line, area)
}

/// The next number that is easy to read: 1, 2 or 5 times a power.
fn nice(value: f64, binary: bool) -> f64 {
    let mut unit = 1.0;
    if binary {
        while value >= unit * 1024.0 {
            unit *= 1024.0;
        }
    }
    let power = 10_f64.powf((value / unit).max(1e-9).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * power * unit >= value);
    step.unwrap_or(10.0) * power * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_easy_to_read() {
        let all = [
            nice(0.0031, false),
            nice(7.0, false),
            nice(120.0, false),
            nice(1500.0, true),
            nice(700.0 * 1048576.0, true),
        ];
        for (value, expected) in all.into_iter().zip([0.005, 10.0, 200.0, 2048.0, 1000.0 * 1048576.0]) {
            assert!((value - expected).abs() < expected * 1e-9, "{value} {expected}");
        }
    }

    #[test]
    fn a_gap_breaks_the_line() {
        let points = [None, Some(1.0), Some(2.0), None, Some(3.0)];
        let (line, area) = paths(&points, 4.0);
        assert_eq!((line.matches('M').count(), area.matches('Z').count()), (2, 2));
        assert_eq!(paths(&[None; 5], 1.0), (String::new(), String::new()));
    }
}
