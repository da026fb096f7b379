// SPDX-License-Identifier: Apache-2.0

//! From the page of a process to values of series. Of a histogram: the number of events, the sum of their times, and percentiles of those
//! since the page before.

use super::series::{Field, Key, Kind, LARGEST};
use nyala_metrics::catalog::Source;
use nyala_metrics::parse::{Families, Family, Sample};
use std::collections::BTreeMap;

/// Longest text of a label, bytes; longer ones are cut.
const LONGEST_LABEL: usize = 256;
/// Most labels of a sample that are kept.
const MOST_LABELS: usize = 8;

type Labels = Vec<(String, String)>;
/// Upper bounds in microseconds, and how many events are in or below each.
type Buckets = Vec<(u64, u64)>;

/// The histograms of the pages before.
#[derive(Debug, Default)]
pub struct Before(BTreeMap<(String, Labels), Buckets>);

/// The values of a page.
pub fn pick(service: Source, instance: &str, page: &Families, before: &mut Before) -> Vec<(Key, i64)> {
    let (mut values, mut now) = (Vec::new(), Before::default());
    let key = |metric: &str, labels: &Labels, field, kind, micros| Key {
        metric: metric.to_owned(),
        service,
        instance: instance.to_owned(),
        labels: labels.clone(),
        field,
        kind,
        micros,
    };
    for (metric, family) in page {
        let micros = family.unit == "seconds";
        match family.kind.as_str() {
            "counter" | "gauge" => {
                let kind = if family.kind == "counter" { Kind::Counter } else { Kind::Gauge };
                for sample in &family.samples {
                    let labels = labels_of(sample, None);
                    values.extend(
                        number(sample.value, micros)
                            .map(|value| (key(metric, &labels, Field::Value, kind, micros), value)),
                    );
                }
            }
            "histogram" => {
                for (labels, Histogram { count, sum, buckets }) in histograms(family) {
                    let mut put =
                        |field, kind, micros, value| values.push((key(metric, &labels, field, kind, micros), value));
                    put(Field::Count, Kind::Counter, false, count);
                    put(Field::Sum, Kind::Counter, true, sum);
                    let id = (metric.clone(), labels.clone());
                    let grown = grown(before.0.get(&id), &buckets);
                    for (field, share) in [(Field::P50, 0.5), (Field::P99, 0.99)] {
                        quantile(&grown, share).into_iter().for_each(|us| put(field, Kind::Peak, true, us));
                    }
                    now.0.insert(id, buckets);
                }
            }
            _ => {}
        }
    }
    *before = now;
    values
}

fn number(value: f64, micros: bool) -> Option<i64> {
    let value = if micros { value * 1e6 } else { value };
    value.is_finite().then(|| (value.round() as i64).clamp(-LARGEST, LARGEST))
}

fn labels_of(sample: &Sample, without: Option<&str>) -> Labels {
    let short = |text: &String| {
        text.chars()
            .scan(0, |bytes, c| {
                *bytes += c.len_utf8();
                (*bytes <= LONGEST_LABEL).then_some(c)
            })
            .collect()
    };
    let kept = sample.labels.iter().filter(|(name, _)| Some(name.as_str()) != without).take(MOST_LABELS);
    kept.map(|(name, value)| (name.clone(), short(value))).collect()
}

#[derive(Default)]
struct Histogram {
    count: i64,
    sum: i64,
    buckets: Buckets,
}

fn histograms(family: &Family) -> BTreeMap<Labels, Histogram> {
    let mut all: BTreeMap<Labels, Histogram> = BTreeMap::new();
    for sample in &family.samples {
        let one = all.entry(labels_of(sample, Some("le"))).or_default();
        match sample.suffix.as_str() {
            "_count" => one.count = number(sample.value, false).unwrap_or(0),
            "_sum" => one.sum = number(sample.value, true).unwrap_or(0),
            _ => {
                let bound = sample.labels.get("le").and_then(|le| number(le.parse().ok()?, true));
                // The last one has no bound: its events took longer than the one before.
                let bound = bound.map_or(u64::MAX, i64::unsigned_abs);
                one.buckets.push((bound, sample.value as u64));
            }
        }
    }
    all
}

/// Events since the page before, in or below each bound; all of them if the process was started anew.
fn grown(before: Option<&Buckets>, now: &Buckets) -> Buckets {
    let Some(before) = before.filter(|before| before.len() == now.len()) else { return now.clone() };
    let fewer = before.iter().zip(now).any(|((bound, then), (same, count))| bound != same || count < then);
    if fewer {
        return now.clone();
    }
    now.iter().zip(before).map(|((bound, count), (_, then))| (*bound, count - then)).collect()
}

/// The time that this share of the events did not exceed, within a bucket in proportion; none if there were no events.
fn quantile(buckets: &Buckets, share: f64) -> Option<i64> {
    let total = buckets.last().map(|(_, count)| *count).filter(|total| *total > 0)?;
    let rank = share * total as f64;
    let (mut floor, mut below) = (0, 0);
    for (bound, count) in buckets {
        if *count as f64 >= rank && *count > below {
            if *bound == u64::MAX {
                return Some(floor as i64);
            }
            let part = (rank - below as f64) / (count - below) as f64;
            return Some(floor as i64 + ((bound - floor) as f64 * part.clamp(0.0, 1.0)) as i64);
        }
        (floor, below) = (*bound, *count);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_metrics::catalog::{meta, process};
    use nyala_metrics::parse::parse;
    use nyala_metrics::{Histograms, Page};

    fn page(times: &[u64]) -> Families {
        let all = Histograms::new(1);
        times.iter().for_each(|us| all.add(0, *us));
        let mut page = Page::new();
        page.family(&meta::REQUESTS).histogram(&[&"create"], &all.get(0));
        page.family(&meta::CLIENTS).value(&[&"10.0.0.1"], 7);
        page.family(&process::CPU).micros(&[], 1_500_001);
        page.family(&process::BUILD).value(&[&"1", &"meta"], 1);
        parse(&page.finish()).unwrap()
    }

    #[test]
    fn a_page_becomes_values() {
        let mut before = Before::default();
        let values = pick(Source::Meta, "meta1", &page(&[100, 100, 100, 3000]), &mut before);
        let of = |values: &[(Key, i64)], metric: &str, field| {
            values.iter().find(|(key, _)| key.metric == metric && key.field == field).map(|(_, value)| *value)
        };
        let requests = meta::REQUESTS.name;
        assert_eq!(of(&values, requests, Field::Count), Some(4));
        assert_eq!(of(&values, requests, Field::Sum), Some(3300));
        assert_eq!(of(&values, meta::CLIENTS.name, Field::Value), Some(7));
        assert_eq!(of(&values, process::CPU.name, Field::Value), Some(1_500_001));
        assert_eq!(values.len(), 6, "an info is no number: {values:?}");
        let (p50, p99) = (of(&values, requests, Field::P50).unwrap(), of(&values, requests, Field::P99).unwrap());
        assert!((64..=128).contains(&p50) && (2048..=4096).contains(&p99), "{p50} {p99}");
        let label = &values.iter().find(|(key, _)| key.metric == requests).unwrap().0.labels;
        assert_eq!(label, &[("op".to_owned(), "create".to_owned())]);
        // The next one has percentiles of what came since.
        let values = pick(Source::Meta, "meta1", &page(&[100, 100, 100, 3000, 20_000]), &mut before);
        assert!((16_384..=32_768).contains(&of(&values, requests, Field::P50).unwrap()));
        let values = pick(Source::Meta, "meta1", &page(&[100, 100, 100, 3000, 20_000]), &mut before);
        assert_eq!(of(&values, requests, Field::P99), None, "nothing came since");
        let values = pick(Source::Meta, "meta1", &page(&[10]), &mut before);
        assert!((8..=16).contains(&of(&values, requests, Field::P99).unwrap()), "it was started anew");
    }

    #[test]
    fn what_took_longer_than_all_bounds_counts_as_the_last() {
        let buckets = vec![(8, 0), (16, 1), (u64::MAX, 4)];
        assert_eq!((quantile(&buckets, 0.99), quantile(&vec![(8, 0), (u64::MAX, 0)], 0.5)), (Some(16), None));
        assert_eq!(quantile(&buckets, 0.25), Some(16));
    }
}
