// SPDX-License-Identifier: Apache-2.0

//! Box plots: how a figure is spread over runs, a row for each, on one scale.

use super::quartiles::quartiles;
use super::scale::Scale;
use super::series::Series;
use crate::report::table::figure;
use maud::{Markup, html};

/// Geometry, in units of the drawing.
const WIDTH: f64 = 960.0;
const LEFT_MARGIN: f64 = 380.0;
const RIGHT: f64 = 110.0;
const ROW: f64 = 24.0;
const AXIS: f64 = 26.0;
/// Fewer figures than this are shown as they are, without a box.
const FOR_A_BOX: usize = 3;

/// What figures are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Runs of a history: the newest is marked, and scales are logarithmic, so that drawings of one kind compare.
    History,
    /// The same done again: the mean is marked, and scales fit the figures.
    Repeated,
}

/// A drawing of all series; `mark`: a line at a value, and what it is.
pub fn draw(title: &str, unit: &str, series: &[Series], mark: Option<(f64, &str)>, kind: Kind) -> Markup {
    let all = series.iter().flat_map(Series::known).chain(mark.map(|(at, _)| at)).collect::<Vec<_>>();
    let scale = if kind == Kind::History { Scale::powers(&all) } else { Scale::fitting(&all) };
    let Some(scale) = scale else { return html! {} };
    let bottom = ROW * series.len() as f64;
    html! {
        svg class="boxes" viewBox={ "0 0 " (WIDTH) " " (bottom + AXIS) } role="img" aria-label={ (title) ", " (unit) ": the spread over runs; the table says the same" } {
            @for (value, label) in scale.ticks() {
                @let x = round(at(&scale, value));
                line class="grid" x1=(x) x2=(x) y1="0" y2=(bottom) {}
                text class="label middle" x=(x) y=(bottom + 18.0) { (label) }
            }
            @if let Some((value, what)) = mark {
                @let x = round(at(&scale, value));
                line class="aim" x1=(x) x2=(x) y1="0" y2=(bottom) { title { (what) } }
            }
            @for (row, one) in series.iter().enumerate() { (draw_row(&scale, ROW * (row as f64 + 0.5), one, kind)) }
        }
    }
}

/// Where a value stands.
fn at(scale: &Scale, value: f64) -> f64 {
    LEFT_MARGIN + scale.part(value) * (WIDTH - LEFT_MARGIN - RIGHT)
}

fn draw_row(scale: &Scale, y: f64, series: &Series, kind: Kind) -> Markup {
    let known = series.known();
    let Some(spread) = quartiles(&known) else { return html! {} };
    let x = |value: f64| round(at(scale, value));
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let (class, marked, label) = match kind {
        Kind::History => ("newest", series.newest(), series.newest()),
        Kind::Repeated => ("mean", Some(mean), Some(spread.median)),
    };
    let said = format!(
        "{}: median {}, from {} to {}, of {} runs",
        series.what,
        figure(Some(spread.median)),
        figure(Some(spread.least)),
        figure(Some(spread.most)),
        known.len()
    );
    html! {
        g {
            title { (said) }
            text class="name" x=(LEFT_MARGIN - 12.0) y=(y + 4.0) { (series.what) }
            @if known.len() >= FOR_A_BOX {
                line class="whisker" x1=(x(spread.least)) x2=(x(spread.most)) y1=(y) y2=(y) {}
                rect class="box" x=(x(spread.low)) y=(y - 7.0) width=(round(at(scale, spread.high) - at(scale, spread.low))) height="14" {}
                line class="median" x1=(x(spread.median)) x2=(x(spread.median)) y1=(y - 7.0) y2=(y + 7.0) {}
            } @else {
                @for value in &known { circle class="dot" cx=(x(*value)) cy=(y) r="3" {} }
            }
            @if let Some(marked) = marked {
                path class=(class) d={ "M" (x(marked)) " " (y - 5.0) "l5 5l-5 5l-5 -5Z" } {}
                text class="label" x=(WIDTH - RIGHT + 12.0) y=(y + 4.0) { (figure(label)) }
            }
        }
    }
}

/// One digit behind the point: enough for a drawing, and the same everywhere.
fn round(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_takes_three_runs() {
        let of =
            |values: &[f64]| draw("t", "s", &[Series::of("a<b".into(), values)], None, Kind::History).into_string();
        let two = of(&[1.0, 2.0]);
        assert_eq!((two.matches("class=\"box\"").count(), two.matches("circle").count() / 2), (0, 2), "{two}");
        let three = of(&[1.0, 2.0, 3.0]);
        assert_eq!((three.matches("class=\"box\"").count(), three.matches("circle").count()), (1, 0));
        assert!(three.contains("a&lt;b") && three.contains("class=\"newest\""));
    }

    #[test]
    fn repetitions_have_their_mean_marked_on_a_scale_that_fits() {
        let one = Series::of("a".into(), &[10.0, 30.0, 30.0, 60.0, 45.0]);
        let drawn = draw("t", "s", &[one], None, Kind::Repeated).into_string();
        let mean = format!("class=\"mean\" d=\"M{:.1} ", LEFT_MARGIN + 0.5 * (WIDTH - LEFT_MARGIN - RIGHT));
        assert!(drawn.contains(&mean) && drawn.contains(">60</text>") && !drawn.contains("newest"), "{drawn}");
        assert!(drawn.contains(">30.0</text>"), "its median is what is written: {drawn}");
    }
}
