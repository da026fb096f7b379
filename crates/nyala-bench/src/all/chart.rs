// SPDX-License-Identifier: Apache-2.0

//! The rows as a chart: a bar for each, as long as the figure is worse than its aim, on a logarithmic scale. Pure.

use super::scores::Score;
use crate::error::BenchError;
use plotters::prelude::*;
use plotters::style::FontStyle;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::error::Error;

/// Geometry, pixels: a row's height, where bars begin, width of a factor of ten, what is left for figures behind bars.
const ROW: u32 = 22;
const BARS: u32 = 520;
const DECADE: u32 = 140;
const FIGURES: u32 = 180;
/// What is drawn at most: a tenth of the aim to a hundred times.
const LEAST: f64 = 0.1;
const MOST: f64 = 100.0;
/// plotters writes sizes of letters divided by 1.24.
const LETTERS: u32 = 15;

/// An SVG document. Bars that reach beyond the line miss their aim.
pub fn svg(title: &str, scores: &[Score]) -> Result<String, BenchError> {
    let mut text = String::new();
    let drawn = draw(&mut text, title, scores);
    drawn.map_err(|error| BenchError::failed(format!("cannot draw the chart: {error}")))?;
    Ok(text)
}

fn draw(text: &mut String, title: &str, scores: &[Score]) -> Result<(), Box<dyn Error>> {
    let rows = scores.len() as u32;
    let size = (BARS + 3 * DECADE + FIGURES, ROW * (rows + 3));
    let root = SVGBackend::with_string(text, size).into_drawing_area();
    root.fill(&WHITE)?;
    let letters = ("sans-serif", LETTERS).into_font();
    let middle = Pos::new(HPos::Left, VPos::Center);
    let words = letters.clone().color(&BLACK).pos(middle);
    let faint = letters.clone().color(&RGBColor(0x88, 0x88, 0x88)).pos(middle);
    let bold = letters.clone().style(FontStyle::Bold).color(&BLACK).pos(middle);
    let title = format!("{title}: how far from the aim (×; left of the line is better)");
    root.draw(&Text::new(title, (8, ROW as i32 / 2), bold))?;
    let mut chart = ChartBuilder::on(&root)
        .margin_top(ROW)
        .margin_right(FIGURES)
        .set_label_area_size(LabelAreaPosition::Left, BARS)
        .set_label_area_size(LabelAreaPosition::Bottom, 2 * ROW)
        .build_cartesian_2d((LEAST..MOST).log_scale(), f64::from(rows.max(1))..0.0)?;
    let times = |at: &f64| if *at < 1.0 { format!("{at:.1}") } else { format!("{at:.0}") };
    let mut mesh = chart.configure_mesh();
    mesh.disable_mesh().disable_y_axis().x_labels(4).x_label_formatter(&times).label_style(letters).draw()?;
    for (number, score) in scores.iter().enumerate() {
        let (top, centre) = (number as f64 + 0.15, number as f64 + 0.5);
        let (left, y) = chart.backend_coord(&(LEAST, centre));
        root.draw(&Text::new(score.aim.what.as_str(), (8, y), words.clone()))?;
        let Some(miss) = score.aim.miss() else {
            root.draw(&Text::new("no figure", (left + 4, y), faint.clone()))?;
            continue;
        };
        let end = miss.clamp(LEAST, MOST);
        let colour = if score.aim.ok { RGBColor(0x44, 0xaa, 0x99) } else { RGBColor(0xdd, 0x66, 0x44) };
        chart.draw_series([Rectangle::new([(LEAST, top), (end, top + 0.7)], colour.filled())])?;
        let label = format!("{} ({})", score.aim.measured(), score.aim.wanted());
        root.draw(&Text::new(label, (chart.backend_coord(&(end, centre)).0 + 4, y), words.clone()))?;
    }
    chart.draw_series([PathElement::new([(1.0, 0.0), (1.0, f64::from(rows))], BLACK)])?;
    root.present()?;
    Ok(())
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
        let text = svg("a & b", &aims.map(Score::new)).unwrap();
        assert!(text.contains("create &lt;x&gt;") && text.contains("a &amp; b"), "{text}");
        let width = |colour: &str| {
            let bars: Vec<&str> =
                text.lines().filter(|line| line.starts_with("<rect") && line.contains(colour)).collect();
            assert_eq!(bars.len(), 1, "{colour}: {text}");
            let (_, rest) = bars[0].split_once("width=\"").unwrap();
            rest.split_once('"').unwrap().0.parse::<u32>().unwrap()
        };
        let (ten_times, the_aim) = (width("#DD6644"), width("#44AA99"));
        assert!(ten_times.abs_diff(2 * DECADE) <= 2, "ten times the aim: {ten_times}");
        assert!(the_aim.abs_diff(DECADE) <= 2, "the aim: {the_aim}");
        assert_eq!(text.matches("no figure").count(), 1);
        assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"));
    }
}
