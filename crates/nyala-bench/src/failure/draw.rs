// SPDX-License-Identifier: Apache-2.0

//! Throughput and latency over time as a picture (SVG). Pure.

use super::figures::{Kind, Run, Sample, State};
use crate::error::BenchError;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::FontStyle;
use std::error::Error;

const WIDTH: u32 = 900;
/// Height of a plot with its title and axis.
const PLOT: u32 = 200;
/// Width of a step of the curves, seconds.
const STEP_S: f64 = 0.5;
const MIB: f64 = 1_048_576.0;
/// plotters writes sizes of letters divided by 1.24.
const LETTERS: u32 = 15;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A curve: what it is of, its colour, and a value for each step.
struct Curve {
    name: &'static str,
    colour: RGBColor,
    values: Vec<f64>,
}

/// For each run two plots, one below the other: the rate of what changes and of what reads, and the longest operation, ms.
pub fn svg(runs: &[Run]) -> Result<String, BenchError> {
    let mut text = String::new();
    let drawn = draw(&mut text, runs);
    drawn.map_err(|error| BenchError::failed(format!("cannot draw the study: {error}")))?;
    Ok(text)
}

fn draw(text: &mut String, runs: &[Run]) -> Result<(), Box<dyn Error>> {
    let count = 2 * runs.len();
    let root = SVGBackend::with_string(text, (WIDTH, PLOT * count as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    let areas = root.split_evenly((count, 1));
    for (run, areas) in runs.iter().zip(areas.chunks(2)) {
        let unit = if run.kind == Kind::Names { "names/s" } else { "MiB/s" };
        plot(&areas[0], run, &format!("{}: {unit}", run.directory), &throughput(run))?;
        plot(&areas[1], run, &format!("{}: longest operation, ms", run.directory), &latency(run))?;
    }
    root.present()?;
    Ok(())
}

fn curves(run: &Run, value: impl Fn(&[&Sample]) -> f64) -> Vec<Curve> {
    let steps = (run.end_s / STEP_S).ceil() as usize;
    let [write, read] = if run.kind == Kind::Names { ["change", "lookup"] } else { ["write", "read"] };
    let kinds = [(true, write, RGBColor(0x1f, 0x5f, 0xbf)), (false, read, RGBColor(0x2f, 0x9e, 0x44))];
    let curve = |(write, name, colour)| {
        let mut by_step: Vec<Vec<&Sample>> = vec![Vec::new(); steps];
        for sample in run.samples.iter().filter(|s| s.write == write) {
            if let Some(step) = by_step.get_mut((sample.end_s / STEP_S) as usize) {
                step.push(sample);
            }
        }
        Curve { name, colour, values: by_step.iter().map(|samples| value(samples)).collect() }
    };
    kinds.map(curve).into()
}

fn throughput(run: &Run) -> Vec<Curve> {
    curves(run, |samples| match run.kind {
        Kind::Content => samples.iter().map(|s| s.bytes as f64).sum::<f64>() / MIB / STEP_S,
        Kind::Names => samples.len() as f64 / STEP_S,
    })
}

fn latency(run: &Run) -> Vec<Curve> {
    curves(run, |samples| samples.iter().map(|s| (s.end_s - s.start_s) * 1000.0).fold(0.0, f64::max))
}

/// Colour and name of a state.
fn shade(state: State) -> (RGBColor, &'static str) {
    match state {
        State::Normal => (RGBColor(0xff, 0xff, 0xff), "all servers"),
        State::Away => (RGBColor(0xff, 0xe3, 0xe3), "one away"),
        State::Returned => (RGBColor(0xff, 0xf3, 0xbf), "it is back"),
        State::Whole => (RGBColor(0xeb, 0xfb, 0xee), "whole again"),
    }
}

fn plot(area: &Area<'_>, run: &Run, title: &str, curves: &[Curve]) -> Result<(), Box<dyn Error>> {
    let letters = ("sans-serif", LETTERS).into_font();
    let most = curves.iter().flat_map(|c| c.values.iter().copied()).fold(1.0, f64::max);
    let end = run.end_s.max(STEP_S);
    let mut chart = ChartBuilder::on(area)
        .caption(title, letters.clone().style(FontStyle::Bold))
        .margin_right(20)
        .x_label_area_size(28)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..end, 0.0..most)?;
    let states =
        run.spans().map(|(state, from, to)| Rectangle::new([(from, 0.0), (to, most)], shade(state).0.filled()));
    chart.draw_series(states)?;
    let seconds = |at: &f64| format!("{at:.0} s");
    let value = |at: &f64| format!("{at:.0}");
    let mut mesh = chart.configure_mesh();
    mesh.disable_mesh().y_labels(4).x_label_formatter(&seconds).y_label_formatter(&value).label_style(letters.clone());
    mesh.draw()?;
    let grey = letters.clone().color(&RGBColor(0x86, 0x8e, 0x96));
    let name = |(state, from, _)| EmptyElement::at((from, most)) + Text::new(shade(state).1, (4, 4), grey.clone());
    chart.draw_series(run.spans().map(name))?;
    for curve in curves {
        let points = curve.values.iter().enumerate();
        let points = points.map(|(step, value)| (((step as f64 + 0.5) * STEP_S).min(end), *value));
        let colour = curve.colour;
        let series = chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
        series.label(curve.name).legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour));
    }
    let mut legend = chart.configure_series_labels();
    legend.position(SeriesLabelPosition::MiddleRight).label_font(letters).background_style(WHITE.mix(0.8)).draw()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::figures::tests::run;
    use super::*;

    #[test]
    fn every_directory_and_state_is_drawn() {
        let text = svg(&[run("mirrored"), run("unmirrored"), run("metadata")]).unwrap();
        assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"));
        for (directory, times) in
            [("\nmirrored: ", 2), ("\nunmirrored: ", 2), ("\nmetadata: names/s", 1), ("one away", 6), ("it is back", 6)]
        {
            assert_eq!(text.matches(directory).count(), times, "{directory}: {text}");
        }
        for curve in ["#1F5FBF", "#2F9E44"] {
            let lines = text.lines().filter(|line| line.starts_with("<polyline") && line.contains(curve));
            assert_eq!(lines.count(), 12, "a curve and its legend in each of six plots: {text}");
        }
        assert!(text.contains("30 s") && !text.contains("NaN") && !text.contains("inf"), "{text}");
    }

    #[test]
    fn curves_show_rates_and_pauses() {
        let curves = throughput(&run("mirrored"));
        assert!((curves[0].values[4] - 10.0).abs() < 0.01 && curves[0].values[22] == 0.0);
        assert!((latency(&run("mirrored"))[1].values[24] - 1550.0).abs() < 1.0);
    }
}
