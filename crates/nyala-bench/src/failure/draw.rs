// SPDX-License-Identifier: Apache-2.0

//! Throughput and latency over time as a picture (SVG). Pure.

use super::figures::{Run, Sample, State};
use std::fmt::Write;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const PLOT: f64 = 150.0;
const GAP: f64 = 45.0;
/// Width of a step of the curves, seconds.
const STEP_S: f64 = 0.5;
const MIB: f64 = 1_048_576.0;

/// A curve: its colour, and a value for each step.
struct Curve {
    colour: &'static str,
    values: Vec<f64>,
}

/// For each run two plots, one below the other: MiB/s of writes and reads, and the longest operation, ms.
pub fn svg(runs: &[&Run]) -> String {
    let height = GAP + runs.len() as f64 * 2.0 * (PLOT + GAP);
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let mut top = GAP;
    for run in runs {
        for (title, curves) in [
            (format!("{}: MiB/s (write blue, read green)", run.directory), throughput(run)),
            (format!("{}: longest operation, ms (write blue, read green)", run.directory), latency(run)),
        ] {
            plot(&mut out, run, top, &title, &curves);
            top += PLOT + GAP;
        }
    }
    out + "</svg>\n"
}

fn curves(run: &Run, value: impl Fn(&[&Sample]) -> f64) -> Vec<Curve> {
    let steps = (run.end_s / STEP_S).ceil() as usize;
    let kinds = [(true, "#1f5fbf"), (false, "#2f9e44")];
    let curve = |(write, colour): (bool, &'static str)| {
        let mut by_step: Vec<Vec<&Sample>> = vec![Vec::new(); steps];
        for sample in run.samples.iter().filter(|s| s.write == write) {
            if let Some(step) = by_step.get_mut((sample.end_s / STEP_S) as usize) {
                step.push(sample);
            }
        }
        Curve { colour, values: by_step.iter().map(|samples| value(samples)).collect() }
    };
    kinds.map(curve).into()
}

fn throughput(run: &Run) -> Vec<Curve> {
    curves(run, |samples| samples.iter().map(|s| s.bytes as f64).sum::<f64>() / MIB / STEP_S)
}

fn latency(run: &Run) -> Vec<Curve> {
    curves(run, |samples| samples.iter().map(|s| (s.end_s - s.start_s) * 1000.0).fold(0.0, f64::max))
}

/// Colour and name of a state.
fn shade(state: State) -> (&'static str, &'static str) {
    match state {
        State::Normal => ("#ffffff", "all servers"),
        State::Away => ("#ffe3e3", "one away"),
        State::Returned => ("#fff3bf", "it is back"),
        State::Whole => ("#ebfbee", "whole again"),
    }
}

fn plot(out: &mut String, run: &Run, top: f64, title: &str, curves: &[Curve]) {
    let most = curves.iter().flat_map(|c| c.values.iter().copied()).fold(1.0, f64::max);
    let x = |seconds: f64| LEFT + (WIDTH - LEFT - RIGHT) * seconds / run.end_s.max(STEP_S);
    let y = |value: f64| top + PLOT * (1.0 - value / most);
    for (state, from, to) in run.spans() {
        let (colour, word) = shade(state);
        let _ = write!(
            out,
            "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{PLOT}\" fill=\"{colour}\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"#868e96\">{word}</text>\n",
            x(from),
            x(to) - x(from),
            x(from) + 4.0,
            top + 14.0
        );
    }
    let bottom = top + PLOT;
    let _ = write!(
        out,
        "<text x=\"{LEFT}\" y=\"{:.1}\" font-weight=\"bold\">{title}</text>\n\
         <path d=\"M{LEFT} {top:.1}V{bottom:.1}H{:.1}\" stroke=\"#495057\" fill=\"none\"/>\n\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{most:.0}</text>\n\
         <text x=\"{:.1}\" y=\"{bottom:.1}\" text-anchor=\"end\">0</text>\n\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{:.0} s</text>\n",
        top - 8.0,
        WIDTH - RIGHT,
        LEFT - 6.0,
        top + 10.0,
        LEFT - 6.0,
        WIDTH - RIGHT,
        bottom + 15.0,
        run.end_s
    );
    for curve in curves {
        let points = curve.values.iter().enumerate();
        let points: Vec<String> = points
            .map(|(step, value)| format!("{:.1},{:.1}", x((step as f64 + 0.5) * STEP_S).min(WIDTH - RIGHT), y(*value)))
            .collect();
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>",
            points.join(" "),
            curve.colour
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::tests::run;
    use super::*;

    #[test]
    fn every_directory_and_state_is_drawn() {
        let (mirrored, plain) = (run("mirrored"), run("unmirrored"));
        let text = svg(&[&mirrored, &plain]);
        assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"));
        assert_eq!((text.matches("<polyline").count(), text.matches("one away").count()), (8, 4));
        assert!(text.contains("unmirrored: MiB/s"));
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }

    #[test]
    fn curves_show_rates_and_pauses() {
        let curves = throughput(&run("mirrored"));
        assert!((curves[0].values[4] - 10.0).abs() < 0.01 && curves[0].values[22] == 0.0);
        assert!((latency(&run("mirrored"))[1].values[24] - 1550.0).abs() < 1.0);
    }
}
