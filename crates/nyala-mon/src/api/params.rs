// SPDX-License-Identifier: Apache-2.0

//! What stands behind the question mark of an address. Failure model: anything may; what is not understood is said.

use crate::logic::query::Query;
use crate::logic::series::Field;
use nyala_metrics::catalog::Source;
use std::time::Duration;

/// Shown where nothing else is asked for.
const HOUR_MS: u64 = 3_600_000;
/// Points of an answer where no step is asked for.
const POINTS: u64 = 300;

/// Names and values.
pub(super) fn pairs(query: &str) -> Result<Vec<(String, String)>, String> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Ok((decoded(name)?, decoded(value)?))
    };
    query.split('&').filter(|pair| !pair.is_empty()).map(pair).collect()
}

fn decoded(text: &str) -> Result<String, String> {
    let (mut out, mut bytes) = (Vec::new(), text.bytes());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || bytes.next().and_then(|digit| char::from(digit).to_digit(16));
                match (digit(), digit()) {
                    (Some(high), Some(low)) => (high * 16 + low) as u8,
                    _ => return Err(format!("{text:?}: two hexadecimal digits come after %")),
                }
            }
            byte => byte,
        });
    }
    String::from_utf8(out).map_err(|_| format!("{text:?} is no text"))
}

/// The kind of a process by its word.
pub(super) fn service(word: &str) -> Result<Source, String> {
    let known = Source::ALL.into_iter().find(|source| source.word() == word);
    known.ok_or_else(|| format!("service is one of mgmtd, meta, storage and mount, not {word:?}"))
}

/// A question, asked at this time (milliseconds since 1970).
pub(super) fn query(pairs: Vec<(String, String)>, now_ms: u64) -> Result<Query, String> {
    let mut query = Query {
        metric: String::new(),
        service: None,
        instance: None,
        field: None,
        labels: Vec::new(),
        from_ms: 0,
        to_ms: now_ms,
        step_ms: 0,
        rate: false,
    };
    let mut from = None;
    for (name, value) in pairs {
        match name.as_str() {
            "metric" => query.metric = value,
            "service" => query.service = Some(service(&value)?),
            "instance" => query.instance = Some(value),
            "field" => {
                let field = Field::ALL.into_iter().find(|field| field.word() == value);
                query.field = Some(
                    field.ok_or_else(|| format!("field is one of value, count, sum, p50 and p99, not {value:?}"))?,
                );
            }
            "from" => from = Some(time("from", &value, now_ms)?),
            "to" => query.to_ms = time("to", &value, now_ms)?,
            "step" => {
                query.step_ms =
                    span(&value).ok_or_else(|| format!("step is a number with ms, s, m or h, not {value:?}"))?
            }
            "rate" => query.rate = flag(&value)?,
            name => match name.strip_prefix("label.") {
                Some(label) => query.labels.push((label.to_owned(), value)),
                None => {
                    let known = "metric, service, instance, field, label.NAME, from, to, step and rate";
                    return Err(format!("{name:?} is not known; known are {known}"));
                }
            },
        }
    }
    if query.metric.is_empty() {
        return Err("metric is missing".to_owned());
    }
    query.from_ms = from.unwrap_or(query.to_ms.saturating_sub(HOUR_MS));
    if query.step_ms == 0 {
        query.step_ms = (query.to_ms.saturating_sub(query.from_ms) / POINTS).max(1000);
    }
    Ok(query)
}

fn flag(value: &str) -> Result<bool, String> {
    match value {
        "" | "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        other => Err(format!("rate is true or false, not {other:?}")),
    }
}

/// Milliseconds since 1970, or a time before now: `-15m`.
fn time(name: &str, value: &str, now_ms: u64) -> Result<u64, String> {
    let before = value.strip_prefix('-').and_then(span).map(|ms| now_ms.saturating_sub(ms));
    let time = before.or_else(|| value.parse().ok());
    time.ok_or_else(|| format!("{name} is milliseconds since 1970, or a time before now as in -15m, not {value:?}"))
}

fn span(value: &str) -> Option<u64> {
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let factor = match &value[digits..] {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    let ms = value[..digits].parse::<u64>().ok()?.checked_mul(factor)?;
    (Duration::from_millis(ms) <= Duration::from_secs(366 * 86_400)).then_some(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Query, String> {
        query(pairs(text)?, 10_000_000)
    }

    #[test]
    fn questions_are_read() {
        let asked =
            read("metric=m&service=meta&instance=c1%3A%2Fmnt+x&label.op=create&field=p99&from=-15m&step=30s&rate")
                .unwrap();
        assert_eq!((asked.from_ms, asked.to_ms, asked.step_ms, asked.rate), (9_100_000, 10_000_000, 30_000, true));
        assert_eq!((asked.instance.as_deref(), asked.field), (Some("c1:/mnt x"), Some(Field::P99)));
        assert_eq!(asked.labels, [("op".to_owned(), "create".to_owned())]);
        let all = read("metric=m").unwrap();
        assert_eq!((all.from_ms, all.step_ms), (6_400_000, 12_000));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [
            ("", "metric is missing"),
            ("metric=m&colour=red", "is not known"),
            ("metric=m&from=yesterday", "-15m"),
            ("metric=m&step=5", "ms, s, m or h"),
            ("metric=m&step=99999999999999h", "ms, s, m or h"),
            ("metric=%x", "hexadecimal"),
            ("metric=%ff", "no text"),
            ("metric=m&field=p50p", "p99"),
            ("metric=m&service=client", "mount"),
            ("metric=m&rate=maybe", "true or false"),
        ] {
            let said = read(text).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
