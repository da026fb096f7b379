// SPDX-License-Identifier: Apache-2.0

//! Numbers in as few bytes as they need: seven bits a byte, the lowest first. What is read may be anything.

/// Appends a number.
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a number from the front; none if there is no whole one.
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(first & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// A signed number as one whose small magnitudes are small.
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The signed number again.
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(value: u64, signed: i64, rest: Vec<u8>) {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            put(&mut bytes, zigzag(signed));
            bytes.extend(&rest);
            let mut read = bytes.as_slice();
            prop_assert_eq!((take(&mut read), take(&mut read).map(unzigzag)), (Some(value), Some(signed)));
            prop_assert_eq!(read, rest.as_slice());
        }

        #[test]
        fn anything_is_read_without_a_panic(bytes: Vec<u8>) {
            let mut read = bytes.as_slice();
            while take(&mut read).is_some() {}
        }
    }

    #[test]
    fn what_is_too_long_is_no_number() {
        assert_eq!(take(&mut [0xff; 9].as_slice()), None);
        assert_eq!(take(&mut [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2].as_slice()), None);
    }
}
