// SPDX-License-Identifier: Apache-2.0

//! How one figure compares with another over several rounds. Pure.

use serde::Serialize;

/// One by another: the median of the rounds, the least and the most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The middle one, or between the two in the middle.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl Ratio {
    /// Of rounds' ratios; those that are no numbers are left out. `None`: none is left.
    pub fn of(ratios: impl IntoIterator<Item = f64>) -> Option<Ratio> {
        let mut all: Vec<f64> = ratios.into_iter().filter(|ratio| ratio.is_finite()).collect();
        all.sort_by(f64::total_cmp);
        let (least, most) = (*all.first()?, *all.last()?);
        Some(Ratio { median: (all[(all.len() - 1) / 2] + all[all.len() / 2]) / 2.0, least, most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_between_two() {
        assert_eq!(Ratio::of([3.0, f64::NAN, 1.0, 2.0]), Some(Ratio { median: 2.0, least: 1.0, most: 3.0 }));
        assert_eq!(Ratio::of([1.0, 4.0]).map(|ratio| ratio.median), Some(2.5));
        assert_eq!(Ratio::of([f64::INFINITY]), None);
    }
}
