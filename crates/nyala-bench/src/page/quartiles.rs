// SPDX-License-Identifier: Apache-2.0

//! How figures are spread.

/// Least, quartiles and most of some figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quartiles {
    pub least: f64,
    pub low: f64,
    pub median: f64,
    pub high: f64,
    pub most: f64,
}

/// The spread of some figures; quartiles lie between the figures next to them, in proportion.
pub fn quartiles(values: &[f64]) -> Option<Quartiles> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let at = |part: f64| {
        let place = part * last as f64;
        let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
        below + (above - below) * place.fract()
    };
    Some(Quartiles { least: sorted[0], low: at(0.25), median: at(0.5), high: at(0.75), most: sorted[last] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_those_of_the_figures() {
        let found = quartiles(&[4.0, 1.0, 3.0, 2.0, 5.0]).unwrap();
        assert_eq!(found, Quartiles { least: 1.0, low: 2.0, median: 3.0, high: 4.0, most: 5.0 });
        let found = quartiles(&[1.0, 2.0, f64::NAN]).unwrap();
        assert_eq!((found.low, found.median, found.high), (1.25, 1.5, 1.75));
        assert_eq!(quartiles(&[]), None);
    }
}
