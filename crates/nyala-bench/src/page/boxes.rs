// SPDX-License-Identifier: Apache-2.0

//! Box plots: how a figure is spread over runs, a row for each, on one logarithmic scale.

use super::quartiles::quartiles;
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

/// A logarithmic scale over whole powers of ten.
struct Scale {
    from: i32,
    to: i32,
}

impl Scale {
    fn over(values: impl Iterator<Item = f64>) -> Option<Scale> {
        let powers: Vec<f64> = values.filter(|value| *value > 0.0).map(f64::log10).collect();
        let least = powers.iter().copied().reduce(f64::min)?.floor() as i32;
        let most = powers.iter().copied().reduce(f64::max)?.ceil() as i32;
        Some(Scale { from: least, to: most.max(least + 1) })
    }

    /// Where a value stands; one that is not positive stands at the edge.
    fn x(&self, value: f64) -> f64 {
        let power = value.max(10_f64.powi(self.from)).log10().min(f64::from(self.to));
        LEFT_MARGIN + (power - f64::from(self.from)) / f64::from(self.to - self.from) * (WIDTH - LEFT_MARGIN - RIGHT)
    }
}

/// A drawing of all series; `mark`: a line at a value, and what it is.
pub fn draw(title: &str, unit: &str, series: &[Series], mark: Option<(f64, &str)>) -> Markup {
    let all = series.iter().flat_map(Series::known).chain(mark.map(|(at, _)| at));
    let Some(scale) = Scale::over(all) else { return html! {} };
    let bottom = ROW * series.len() as f64;
    html! {
        svg class="boxes" viewBox={ "0 0 " (WIDTH) " " (bottom + AXIS) } role="img" aria-label={ (title) ", " (unit) ": the spread over runs; the table says the same" } {
            @for power in scale.from..=scale.to {
                @let x = round(scale.x(10_f64.powi(power)));
                line class="grid" x1=(x) x2=(x) y1="0" y2=(bottom) {}
                text class="label middle" x=(x) y=(bottom + 18.0) { (tick(power)) }
            }
            @if let Some((at, what)) = mark {
                @let x = round(scale.x(at));
                line class="aim" x1=(x) x2=(x) y1="0" y2=(bottom) { title { (what) } }
            }
            @for (row, one) in series.iter().enumerate() { (draw_row(&scale, ROW * (row as f64 + 0.5), one)) }
        }
    }
}

fn draw_row(scale: &Scale, y: f64, series: &Series) -> Markup {
    let known = series.known();
    let Some(spread) = quartiles(&known) else { return html! {} };
    let x = |value: f64| round(scale.x(value));
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
                rect class="box" x=(x(spread.low)) y=(y - 7.0) width=(round(scale.x(spread.high) - scale.x(spread.low))) height="14" {}
                line class="median" x1=(x(spread.median)) x2=(x(spread.median)) y1=(y - 7.0) y2=(y + 7.0) {}
            } @else {
                @for value in &known { circle class="dot" cx=(x(*value)) cy=(y) r="3" {} }
            }
            @if let Some(newest) = series.newest() {
                path class="newest" d={ "M" (x(newest)) " " (y - 5.0) "l5 5l-5 5l-5 -5Z" } {}
                text class="label" x=(WIDTH - RIGHT + 12.0) y=(y + 4.0) { (figure(Some(newest))) }
            }
        }
    }
}

/// One digit behind the point: enough for a drawing, and the same everywhere.
fn round(value: f64) -> String {
    format!("{value:.1}")
}

fn tick(power: i32) -> String {
    match power {
        -3..=-1 => format!("{:.*}", power.unsigned_abs() as usize, 10_f64.powi(power)),
        0..=5 => 10_i64.pow(power.unsigned_abs()).to_string(),
        _ => format!("1e{power}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_take_whole_powers_of_ten() {
        let scale = Scale::over([0.0, 2.0, 50.0].into_iter()).unwrap();
        assert_eq!((scale.from, scale.to), (0, 2));
        let ten = scale.x(10.0);
        assert!(
            (ten - (LEFT_MARGIN + (WIDTH - LEFT_MARGIN - RIGHT) / 2.0)).abs() < 1e-9 && scale.x(0.0) == LEFT_MARGIN,
            "{ten}"
        );
        assert!(Scale::over([0.0].into_iter()).is_none());
        assert_eq!([-2, 0, 4, 7].map(tick), ["0.01", "1", "10000", "1e7"]);
    }

    #[test]
    fn a_box_takes_three_runs() {
        let of = |values: &[f64]| {
            let values = values.iter().map(|value| Some(*value)).collect();
            draw("t", "s", &[Series { what: "a<b".into(), values }], None).into_string()
        };
        let two = of(&[1.0, 2.0]);
        assert_eq!((two.matches("class=\"box\"").count(), two.matches("circle").count() / 2), (0, 2), "{two}");
        let three = of(&[1.0, 2.0, 3.0]);
        assert_eq!((three.matches("class=\"box\"").count(), three.matches("circle").count()), (1, 0));
        assert!(three.contains("a&lt;b") && three.contains("class=\"newest\""));
    }
}
