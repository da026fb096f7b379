// SPDX-License-Identifier: Apache-2.0

//! What is written can be read, what is not OpenMetrics is refused, and the document says what is exported.

use nyala_metrics::catalog::Source;
use nyala_metrics::parse::{Malformed, parse};
use nyala_metrics::{Histograms, Kind, Metric, Page};
use proptest::prelude::*;
use std::collections::BTreeSet;

const GAUGE: Metric = Metric { name: "g_bytes", kind: Kind::Gauge, labels: &["one", "two"], help: "a \\ \"b\"\nc" };

fn refusal(text: &str) -> Malformed {
    parse(text).expect_err(text)
}

#[test]
fn a_whole_catalogue_is_a_page() {
    for source in Source::ALL {
        let histograms = Histograms::new(1);
        [3, 30, 300_000_000].into_iter().for_each(|us| histograms.add(0, us));
        let mut page = Page::new();
        for metric in source.metrics() {
            let labels: Vec<&dyn std::fmt::Display> = metric.labels.iter().map(|label| label as _).collect();
            let mut family = page.family(metric);
            match metric.kind {
                Kind::Histogram => family.histogram(&labels, &histograms.get(0)),
                Kind::Info => family.value(&labels, 1),
                Kind::Counter | Kind::Gauge => family.value(&labels, 7),
            };
        }
        let families = parse(&page.finish()).unwrap_or_else(|error| panic!("{source:?}: {error}"));
        assert_eq!(families.len(), source.metrics().len());
    }
}

#[test]
fn what_a_scraper_would_trip_over_is_refused() {
    let head = "# HELP a x\n# TYPE a counter\n";
    parse(&format!("{head}a_total 1\n# EOF\n")).expect("a page");
    for (wrong, why) in [
        ("a_total 1\n", "EOF"),
        ("a 1\n# EOF\n", "no sample"),
        ("b_total 1\n# EOF\n", "not of a"),
        ("a_total{x=\"1} 1\n# EOF\n", "no end"),
        ("a_total{x=\"\\q\"} 1\n# EOF\n", "no escape"),
        ("a_total{x=\"1\",x=\"2\"} 1\n# EOF\n", "twice"),
        ("a_total 1\na_total 2\n# EOF\n", "twice"),
        ("a_total -1\n# EOF\n", "less than"),
        ("a_total inf\n# EOF\n", "no number"),
        ("a_total  1\n# EOF\n", "no number"),
        ("a_total 1\n# UNIT a bytes\n# EOF\n", "after its samples"),
        ("# UNIT a bytes\na_total 1\n# EOF\n", "does not end with its unit"),
        ("a_total 1\n# HELP b x\n# TYPE b gauge\nb 1\n# HELP a y\n# EOF\n", "twice"),
    ] {
        let refused = refusal(&format!("{head}{wrong}"));
        assert!(refused.what.contains(why), "{wrong:?}: {refused}");
    }
    let histogram = |lines: &str| format!("# HELP h x\n# TYPE h histogram\n{lines}# EOF\n");
    let good = "h_bucket{le=\"0.5\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_count 2\nh_sum 3.5\n";
    parse(&histogram(good)).expect("a histogram");
    for (from, to) in [("} 1", "} 3"), ("+Inf", "9.0"), ("_count 2", "_count 1"), ("h_sum 3.5\n", ""), ("0.5", "5")] {
        refusal(&histogram(&good.replacen(from, to, 1)));
    }
}

proptest! {
    #[test]
    fn any_text_in_a_label_comes_back(one in ".*", two in "[\\\\\"\n{},= a]*", value: u32) {
        let mut page = Page::new();
        page.family(&GAUGE).value(&[&one, &two], value.into());
        let families = parse(&page.finish()).unwrap();
        let (family, sample) = (&families["g_bytes"], &families["g_bytes"].samples[0]);
        prop_assert_eq!((family.help.as_str(), family.unit.as_str(), sample.value), (GAUGE.help, "bytes", value.into()));
        prop_assert_eq!((&sample.labels["one"], &sample.labels["two"]), (&one, &two));
    }

    #[test]
    fn the_parser_panics_at_nothing(text in ".*", lines in "([#a-c]{0,2}[ {}=\"\\\\+.,_0-9a-z]{0,20}\n){0,6}") {
        let _ = (parse(&text), parse(&format!("# HELP a b\n# TYPE a gauge\n{lines}# EOF\n")));
    }
}

/// The row of a metric in the document.
fn row(metric: &Metric, sources: &[&str]) -> String {
    let labels = if metric.labels.is_empty() { "–".to_owned() } else { metric.labels.join(", ") };
    let (kind, unit) = (metric.kind.word(), metric.unit().unwrap_or("–"));
    format!("| `{}` | {kind} | {unit} | {labels} | {} | {} |", metric.name, sources.join(", "), metric.help)
}

#[test]
fn the_document_has_every_metric_and_no_other() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
    let document = std::fs::read_to_string(path).expect("docs/metrics.md is there");
    let said: BTreeSet<&str> = document.lines().filter(|line| line.starts_with("| `")).collect();
    let all: Vec<&Metric> = Source::ALL.iter().flat_map(|source| source.metrics()).collect();
    let rows: BTreeSet<String> = all
        .iter()
        .map(|metric| {
            let has = |source: &&Source| source.metrics().iter().any(|other| other.name == metric.name);
            let sources: Vec<&str> = Source::ALL.iter().filter(has).map(|source| source.word()).collect();
            row(metric, &sources)
        })
        .collect();
    if std::env::var_os("UPDATE_METRICS").is_some() {
        let at = document.find("| `").unwrap_or(document.len());
        let after =
            document.rfind("| `").map_or("", |last| document[last..].split_once('\n').map_or("", |(_, after)| after));
        let table: String = rows.iter().map(|row| format!("{row}\n")).collect();
        std::fs::write(path, format!("{}{table}{after}", &document[..at])).expect("the document can be written");
        return;
    }
    let rows: BTreeSet<&str> = rows.iter().map(String::as_str).collect();
    let missing: Vec<&&str> = rows.difference(&said).collect();
    let stale: Vec<&&str> = said.difference(&rows).collect();
    assert!(
        missing.is_empty() && stale.is_empty(),
        "UPDATE_METRICS=1 writes the table.\nNot in docs/metrics.md: {missing:#?}\nOnly there: {stale:#?}"
    );
}
