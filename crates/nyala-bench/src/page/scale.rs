// SPDX-License-Identifier: Apache-2.0

//! Scales of drawings. Pure.

/// Figures that differ by less have a linear scale, where it may fit them.
const LINEAR: f64 = 10.0;
/// Most steps of a linear scale.
const STEPS: f64 = 6.0;

/// A scale with its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// Logarithmic, over whole powers of ten.
    Powers {
        /// The least.
        from: i32,
        /// The most.
        to: i32,
    },
    /// Linear, over whole steps.
    Steps {
        /// The least.
        from: f64,
        /// The most.
        to: f64,
        /// Each.
        step: f64,
    },
}

fn ends(values: &[f64]) -> Option<(f64, f64)> {
    let positive = || values.iter().copied().filter(|value| *value > 0.0 && value.is_finite());
    Some((positive().reduce(f64::min)?, positive().reduce(f64::max)?))
}

impl Scale {
    /// Over whole powers of ten.
    pub fn powers(values: &[f64]) -> Option<Scale> {
        let (least, most) = ends(values)?;
        let (from, to) = (least.log10().floor() as i32, most.log10().ceil() as i32);
        Some(Scale::Powers { from, to: to.max(from + 1) })
    }

    /// As close as steps of 1, 2 or 5 (by a power of ten) let it; over whole powers of ten where figures differ by much.
    pub fn fitting(values: &[f64]) -> Option<Scale> {
        let (least, most) = ends(values)?;
        if most > LINEAR * least {
            return Scale::powers(values);
        }
        // Figures that are all the same have some room around them.
        let wanted = (most - least).max(most / 10.0) / STEPS;
        let power = 10_f64.powf(wanted.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power).into_iter().find(|step| *step >= wanted);
        let step = step.unwrap_or(10.0 * power);
        let (from, to) = ((least / step).floor() * step, (most / step).ceil() * step);
        Some(Scale::Steps { from, to: to.max(from + step), step })
    }

    /// Where a value stands, from 0 to 1; one beyond an end stands there.
    pub fn part(&self, value: f64) -> f64 {
        match *self {
            Scale::Powers { from, to } => {
                let power = value.max(10_f64.powi(from)).log10().min(f64::from(to));
                (power - f64::from(from)) / f64::from(to - from)
            }
            Scale::Steps { from, to, .. } => ((value - from) / (to - from)).clamp(0.0, 1.0),
        }
    }

    /// Values with a line and their labels.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        match *self {
            Scale::Powers { from, to } => (from..=to).map(|power| (10_f64.powi(power), tick(power))).collect(),
            Scale::Steps { from, to, step } => {
                let digits = (-step.log10().floor()).max(0.0) as usize;
                let count = ((to - from) / step).round() as u32;
                let value = |number: u32| from + f64::from(number) * step;
                (0..=count).map(value).map(|value| (value, format!("{value:.digits$}"))).collect()
            }
        }
    }
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
    fn powers_are_whole_powers_of_ten() {
        let scale = Scale::powers(&[0.0, 2.0, 50.0]).unwrap();
        assert_eq!(scale, Scale::Powers { from: 0, to: 2 });
        assert!((scale.part(10.0) - 0.5).abs() < 1e-9 && scale.part(0.0) == 0.0 && scale.part(1e9) == 1.0);
        assert!(Scale::powers(&[0.0]).is_none() && Scale::fitting(&[]).is_none());
        assert_eq!([-2, 0, 4, 7].map(tick), ["0.01", "1", "10000", "1e7"]);
        assert_eq!(Scale::powers(&[10.0]), Some(Scale::Powers { from: 1, to: 2 }));
    }

    #[test]
    fn a_fitting_scale_is_close_and_has_round_steps() {
        let labels = |values: &[f64]| -> Vec<String> {
            Scale::fitting(values).unwrap().ticks().into_iter().map(|(_, label)| label).collect()
        };
        assert_eq!(labels(&[105.0, 118.0]), ["105", "110", "115", "120"]);
        assert_eq!(labels(&[0.2, 0.9]), ["0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&[500.0]), ["500", "510"]);
        assert_eq!(labels(&[1.0, 5000.0]), ["1", "10", "100", "1000", "10000"]);
        let scale = Scale::fitting(&[105.0, 118.0]).unwrap();
        assert!((scale.part(112.5) - 0.5).abs() < 1e-9 && scale.part(0.0) == 0.0 && scale.part(1e9) == 1.0);
    }
}
