// SPDX-License-Identifier: Apache-2.0

//! Every code against arithmetic byte by byte, every way to compute against every other, every loss that can be recovered.

use nyala_parity::{Code, Isa, Mismatch, ParityError, Recovery, gf, verify};
use proptest::prelude::*;

/// Bytes that look random, from a number.
fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(|_| next()).collect()
}

fn strips(seed: u64, count: usize, len: usize) -> Vec<Vec<u8>> {
    (0..count).map(|strip| bytes(seed * 1000 + strip as u64, len)).collect()
}

fn shared(strips: &[Vec<u8>]) -> Vec<&[u8]> {
    strips.iter().map(Vec::as_slice).collect()
}

fn encoded(code: &Code, data: &[Vec<u8>]) -> Vec<Vec<u8>> {
    // Filled, so that whatever is not written shows.
    let mut parity = vec![vec![0xa5; data[0].len()]; code.parity()];
    let mut outputs: Vec<&mut [u8]> = parity.iter_mut().map(Vec::as_mut_slice).collect();
    code.encode(&shared(data), &mut outputs);
    parity
}

/// The definition.
fn expected(code: &Code, data: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let sum = |row: usize, at: usize| {
        (0..data.len()).fold(0, |sum, strip| sum ^ gf::mul(code.coefficient(row, strip), data[strip][at]))
    };
    (0..code.parity()).map(|row| (0..data[0].len()).map(|at| sum(row, at)).collect()).collect()
}

fn codes(data: usize) -> Vec<Code> {
    let mut codes = vec![Code::xor(data), Code::p_q(data), Code::three(data)];
    codes.extend((1..=5).map(|parity| Code::reed_solomon(data, parity)));
    codes.into_iter().map(Result::unwrap).collect()
}

fn isas() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|isa| isa.is_available())
}

/// All sets of at most `most` of `count` numbers.
fn losses(count: usize, most: usize) -> Vec<Vec<usize>> {
    let chosen = |bits: u32| (0..count).filter(|strip| bits >> strip & 1 == 1).collect::<Vec<_>>();
    (0..1_u32 << count).map(chosen).filter(|lost| lost.len() <= most).collect()
}

fn check_recovery(code: &Code, all: &[Vec<u8>], lost: &[usize]) {
    let plan = Recovery::plan(code, lost, 0..code.strips()).unwrap();
    assert!(plan.from().iter().all(|strip| !lost.contains(strip)) && plan.lost() == lost);
    let from: Vec<&[u8]> = plan.from().iter().map(|strip| all[*strip].as_slice()).collect();
    let mut found = vec![vec![0x5a; all[0].len()]; lost.len()];
    plan.recover(&from, &mut found.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
    for (strip, found) in lost.iter().zip(&found) {
        assert_eq!(found, &all[*strip], "strip {strip} of {lost:?}, {}+{}", code.data(), code.parity());
    }
}

#[test]
fn parity_is_what_linux_and_isa_l_compute() {
    let data = [vec![0x01, 0xff], vec![0x02, 0x80], vec![0x04, 0x10]];
    let [p, q] = <[Vec<u8>; 2]>::try_from(encoded(&Code::p_q(3).unwrap(), &data)).unwrap();
    assert_eq!(p, [0x07, 0x6f]);
    // 1 + 2*2 + 4*4, and 0xff + 2*0x80 (0x1d) + 4*0x10.
    assert_eq!(q, [0x15, 0xff ^ 0x1d ^ 0x40]);
    let cauchy = Code::reed_solomon(4, 2).unwrap();
    assert_eq!(gf::mul(cauchy.coefficient(1, 3), 5 ^ 3), 1, "1 / ((k + p) xor i)");
}

#[test]
fn every_loss_of_small_codes_is_recovered() {
    let mut recovered = 0;
    for data in 1..=6 {
        for code in codes(data) {
            let data = strips(data as u64, data, 75);
            let all = [data.clone(), encoded(&code, &data)].concat();
            for lost in losses(code.strips(), code.parity()) {
                check_recovery(&code, &all, &lost);
                recovered += 1;
            }
        }
    }
    println!("{recovered} losses recovered");
}

#[test]
fn what_cannot_be_is_an_error() {
    assert_eq!(Code::xor(0).unwrap_err(), ParityError::Empty { data: 0, parity: 1 });
    assert_eq!(Code::reed_solomon(3, 0).unwrap_err(), ParityError::Empty { data: 3, parity: 0 });
    assert_eq!(Code::p_q(255).unwrap_err(), ParityError::TooMany { data: 255, parity: 2, most: 256 });
    assert!(Code::reed_solomon(usize::MAX, 2).is_err() && Code::reed_solomon(2, usize::MAX).is_err());
    let code = Code::p_q(4).unwrap();
    let few = ParityError::TooFew { available: 3, needed: 4 };
    assert_eq!(Recovery::plan(&code, &[0, 1, 2], 0..6).unwrap_err(), few, "more losses than parity");
    assert_eq!(Recovery::plan(&code, &[0], [1, 1, 2, 3]).unwrap_err(), few, "one of them counts once");
    assert_eq!(Recovery::plan(&code, &[6], 0..6).unwrap_err(), ParityError::NoStrip { strip: 6, strips: 6 });
    assert_eq!(Recovery::plan(&code, &[0], 1..8).unwrap_err(), ParityError::NoStrip { strip: 6, strips: 6 });
}

#[test]
fn the_widest_codes_recover() {
    for code in [Code::three(253).unwrap(), Code::reed_solomon(250, 6).unwrap(), Code::xor(255).unwrap()] {
        let data = strips(9, code.data(), 130);
        let all = [data.clone(), encoded(&code, &data)].concat();
        let last = code.strips() - 1;
        let lost: Vec<usize> = [0, 251, last, 97, 180, 3].into_iter().filter(|strip| *strip <= last).collect();
        check_recovery(&code, &all, &lost[..code.parity().min(lost.len())]);
    }
}

#[test]
fn every_flipped_bit_is_a_mismatch() {
    let code = Code::three(3).unwrap();
    let data = strips(5, 3, 5000);
    let parity = encoded(&code, &data);
    assert_eq!(verify(&code, &shared(&data), &shared(&parity)), Ok(()));
    for (strip, at) in [(0, 0), (1, 4095), (2, 4096), (0, 4999)] {
        let mut wrong = data.clone();
        wrong[strip][at] ^= 0x10;
        assert_eq!(verify(&code, &shared(&wrong), &shared(&parity)), Err(Mismatch { parity: 0, offset: at }));
        let mut wrong = parity.clone();
        wrong[strip][at] ^= 1;
        assert_eq!(verify(&code, &shared(&data), &shared(&wrong)), Err(Mismatch { parity: strip, offset: at }));
    }
}

#[test]
#[should_panic(expected = "strips of different lengths")]
fn strips_of_different_lengths_are_a_mistake() {
    let mut parity = [0; 4];
    Code::xor(2).unwrap().encode(&[&[1, 2, 3, 4], &[1, 2, 3]], &mut [&mut parity]);
}

proptest! {
    /// Any length and alignment, every code, every way to compute.
    #[test]
    fn every_way_computes_the_definition(data in 1_usize..20, len in 0_usize..700, offset in 0_usize..64, seed in 0_u64..1000) {
        let long = strips(seed, data, offset + len);
        let data: Vec<Vec<u8>> = long.iter().map(|strip| strip[offset..].to_vec()).collect();
        for code in codes(data.len()) {
            let right = expected(&code, &data);
            for isa in isas() {
                let code = code.clone().with_isa(isa).unwrap();
                // From and to addresses of any alignment.
                let mut parity = vec![vec![0xa5; offset + len]; code.parity()];
                let from: Vec<&[u8]> = long.iter().map(|strip| &strip[offset..]).collect();
                code.encode(&from, &mut parity.iter_mut().map(|strip| &mut strip[offset..]).collect::<Vec<_>>());
                for (row, strip) in parity.iter().enumerate() {
                    prop_assert!(strip[..offset].iter().all(|byte| *byte == 0xa5), "written before the strip");
                    prop_assert_eq!(&strip[offset..], &right[row], "{:?} row {}", isa, row);
                }
                prop_assert_eq!(verify(&code, &shared(&data), &shared(&right)), Ok(()));
            }
        }
    }

    /// A change of one strip, and of a part of it.
    #[test]
    fn an_update_is_what_encoding_anew_gives(data in 1_usize..12, len in 1_usize..400, seed in 0_u64..1000, at in 0_usize..400, strip in 0_usize..12) {
        let (strip, at) = (strip % data, at % len);
        let old = strips(seed, data, len);
        let mut new = old.clone();
        new[strip][at..].copy_from_slice(&bytes(seed + 77, len - at));
        let delta: Vec<u8> = old[strip][at..].iter().zip(&new[strip][at..]).map(|(old, new)| old ^ new).collect();
        for code in codes(data) {
            for isa in isas() {
                let code = code.clone().with_isa(isa).unwrap();
                let mut parity = encoded(&code, &old);
                code.update(strip, &delta, &mut parity.iter_mut().map(|strip| &mut strip[at..]).collect::<Vec<_>>());
                prop_assert_eq!(&parity, &expected(&code, &new), "{:?}", isa);
            }
        }
    }

    /// Losses of wider codes, from whichever strips are preferred.
    #[test]
    fn what_is_lost_is_recovered_from_any_others(data in 1_usize..40, parity in 1_usize..8, seed in 0_u64..10_000, len in 1_usize..300) {
        let code = Code::reed_solomon(data, parity).unwrap();
        let data = strips(seed, data, len);
        let all = [data.clone(), encoded(&code, &data)].concat();
        let mut order: Vec<usize> = (0..code.strips()).collect();
        let chance = bytes(seed + 1, order.len());
        order.sort_by_key(|strip| chance[*strip]);
        let (lost, there) = order.split_at(1 + usize::from(chance[0]) % parity);
        for isa in isas() {
            let code = code.clone().with_isa(isa).unwrap();
            let plan = Recovery::plan(&code, lost, there.iter().copied()).unwrap();
            prop_assert_eq!(plan.from(), &there[..code.data()]);
            let from: Vec<&[u8]> = plan.from().iter().map(|strip| all[*strip].as_slice()).collect();
            let mut found = vec![vec![0; len]; lost.len()];
            plan.recover(&from, &mut found.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
            for (strip, found) in lost.iter().zip(&found) {
                prop_assert_eq!(found, &all[*strip], "{:?}", isa);
            }
        }
    }
}
