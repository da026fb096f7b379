// SPDX-License-Identifier: Apache-2.0

//! Numbers of the command line, with a sentence for what is none. Pure.

/// A whole number.
pub fn whole(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| match text.parse::<f64>() {
        Ok(number) if number < 0.0 => "it is below 0: write a whole number from 0 on, as 4".to_owned(),
        Ok(number) if number > f64::from(u32::MAX) => "it is too large: write a whole number, as 4".to_owned(),
        Ok(_) => "there are no parts of it: write a whole number, as 4".to_owned(),
        Err(_) => "it is no number: write a whole one in digits, without a unit, as 4".to_owned(),
    })
}

/// A number with or without a fraction.
pub fn decimal(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(_) => Err("it is no size: write a number in digits, as 12.5".to_owned()),
        Err(_) if text.contains(',') => Err("write a point before the fraction, as 12.5".to_owned()),
        Err(_) => Err("it is no number: write it in digits, without a unit, as 12.5".to_owned()),
    }
}
