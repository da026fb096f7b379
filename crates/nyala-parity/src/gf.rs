// SPDX-License-Identifier: Apache-2.0

//! The field of 256 elements, modulo x^8+x^4+x^3+x^2+1 (0x11d); 2 generates all but zero. The one of Linux md (H. P. Anvin, "The
//! mathematics of RAID-6") and of ISA-L.

/// The polynomial without its highest bit.
const POLYNOMIAL: u8 = 0x1d;

/// Powers of two (twice, so that sums of logarithms need no modulus) and logarithms.
const TABLES: ([u8; 510], [u8; 256]) = {
    let (mut powers, mut logarithms) = ([0; 510], [0; 256]);
    let (mut power, mut exponent) = (1_u8, 0);
    while exponent < 255 {
        powers[exponent] = power;
        powers[exponent + 255] = power;
        logarithms[power as usize] = exponent as u8;
        power = double(power);
        exponent += 1;
    }
    (powers, logarithms)
};
static POWERS: [u8; 510] = TABLES.0;
static LOGARITHMS: [u8; 256] = TABLES.1;

/// Twice `a`.
const fn double(a: u8) -> u8 {
    (a << 1) ^ (if a & 0x80 == 0 { 0 } else { POLYNOMIAL })
}

/// The product.
pub fn mul(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    POWERS[usize::from(LOGARITHMS[usize::from(a)]) + usize::from(LOGARITHMS[usize::from(b)])]
}

/// Two to the power of `exponent`.
pub fn power_of_two(exponent: usize) -> u8 {
    POWERS[exponent % 255]
}

/// One divided by `a`; `None` for zero.
pub fn inverse(a: u8) -> Option<u8> {
    (a != 0).then(|| POWERS[255 - usize::from(LOGARITHMS[usize::from(a)])])
}

/// The products of `c` with 0 to 15, and with 0, 16, … 240: the product with a byte is the sum of one of each, which is how
/// byte shuffles multiply (J. S. Plank and others, "Screaming Fast Galois Field Arithmetic Using Intel SIMD Instructions").
pub(crate) fn nibble_products(c: u8) -> [u8; 32] {
    std::array::from_fn(|at| {
        let at = at as u8;
        if at < 16 { mul(c, at) } else { mul(c, (at - 16) << 4) }
    })
}

/// Multiplication by `c` as a matrix of bits, as `GF2P8AFFINEQB` takes it: byte `7 - i` of the number (the lowest is byte 0) says which
/// bits of the factor make up bit `i` of the product.
pub(crate) fn bit_matrix(c: u8) -> u64 {
    let mut rows = [0_u8; 8];
    for bit in 0..8 {
        let product = mul(c, 1 << bit);
        for (row, mask) in rows.iter_mut().enumerate() {
            *mask |= (product >> row & 1) << bit;
        }
    }
    rows.reverse();
    u64::from_le_bytes(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: shift and add.
    fn slow(mut a: u8, mut b: u8) -> u8 {
        let mut product = 0;
        while b != 0 {
            product ^= if b & 1 == 1 { a } else { 0 };
            (a, b) = (double(a), b >> 1);
        }
        product
    }

    #[test]
    fn products_are_those_of_the_definition_and_have_inverses() {
        assert_eq!((mul(0x80, 2), mul(0x8e, 2), power_of_two(8)), (0x1d, 1, 0x1d), "Anvin's examples");
        for a in 0..=255 {
            assert!((0..=255).all(|b| mul(a, b) == slow(a, b)), "{a}");
            assert_eq!(inverse(a).map(|one| mul(a, one)), (a != 0).then_some(1));
        }
    }

    #[test]
    fn nibbles_and_bits_multiply_too() {
        for c in 0..=255 {
            let (nibbles, matrix) = (nibble_products(c), bit_matrix(c).to_le_bytes());
            for b in 0..=255_u8 {
                assert_eq!(nibbles[usize::from(b & 15)] ^ nibbles[16 + usize::from(b >> 4)], mul(c, b));
                let bit = |row: usize| u8::from((matrix[7 - row] & b).count_ones() % 2 == 1) << row;
                assert_eq!((0..8).map(bit).fold(0, |sum, bit| sum | bit), mul(c, b));
            }
        }
    }
}
