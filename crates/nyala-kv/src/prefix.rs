// SPDX-License-Identifier: Apache-2.0

//! Ranges of keys that begin alike.

/// The end of a prefix: the smallest key that is larger than all keys that begin with it. Empty if there is none, which
/// is so only for a prefix of nothing but 255s.
pub fn prefix_end(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            break;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends() {
        assert_eq!(prefix_end(b"ab"), b"ac");
        assert_eq!(prefix_end(&[1, 0xff]), [2]);
        assert!(prefix_end(&[0xff, 0xff]).is_empty());
    }
}
