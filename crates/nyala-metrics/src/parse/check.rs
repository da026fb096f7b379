// SPDX-License-Identifier: Apache-2.0

//! What the types of metrics ask of their samples.

use super::families::{Family, Sample};
use std::collections::BTreeMap;

/// What the type asks of the samples.
pub(super) fn check(name: &str, family: &Family) -> Result<(), String> {
    let suffixes: &[&str] = match family.kind.as_str() {
        "counter" => &["_total"],
        "gauge" => &[""],
        "histogram" => &["_bucket", "_count", "_sum"],
        "info" => &["_info"],
        other => return Err(format!("the type {other:?} is not known")),
    };
    if family.help.is_empty() {
        return Err("it has no HELP".to_owned());
    }
    if !family.unit.is_empty() && !name.ends_with(&format!("_{}", family.unit)) {
        return Err(format!("its name does not end with its unit {}", family.unit));
    }
    for sample in &family.samples {
        if !suffixes.contains(&sample.suffix.as_str()) {
            return Err(format!("a {} has no sample {:?}", family.kind, sample.suffix));
        }
        if family.kind != "gauge" && !(sample.value >= 0.0 && sample.value.is_finite()) {
            return Err(format!("{} is less than nothing", sample.value));
        }
        if family.kind == "info" && sample.value != 1.0 {
            return Err("an info is 1".to_owned());
        }
    }
    if family.kind == "histogram" { check_histograms(family) } else { Ok(()) }
}

fn check_histograms(family: &Family) -> Result<(), String> {
    let mut series: BTreeMap<BTreeMap<String, String>, Vec<&Sample>> = BTreeMap::new();
    for sample in &family.samples {
        let mut labels = sample.labels.clone();
        labels.remove("le");
        series.entry(labels).or_default().push(sample);
    }
    for (labels, samples) in series {
        let (mut bound, mut below) = (f64::NEG_INFINITY, 0.0);
        for bucket in samples.iter().filter(|sample| sample.suffix == "_bucket") {
            let le = bucket.labels.get("le").ok_or("a bucket has no bound")?;
            let next =
                if le == "+Inf" { f64::INFINITY } else { le.parse().map_err(|_| format!("{le} is no bound"))? };
            if next <= bound || bucket.value < below || !(le == "+Inf" || le.contains('.')) {
                return Err(format!("the bucket {le} of {labels:?} is out of order"));
            }
            (bound, below) = (next, bucket.value);
        }
        let one = |suffix: &str| samples.iter().find(|sample| sample.suffix == suffix).map(|sample| sample.value);
        if bound != f64::INFINITY || one("_count") != Some(below) || one("_sum").is_none() {
            return Err(format!("{labels:?}: the last bucket is not +Inf, or not the count, or there is no sum"));
        }
    }
    Ok(())
}
