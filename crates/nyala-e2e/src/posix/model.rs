// SPDX-License-Identifier: Apache-2.0

//! Random operations on one file against a vector of bytes; the seeds are fixed, so that a failure comes again.

use super::{Check, pattern, same};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

pub(super) const CHECKS: &[Check] =
    &[("model_small_file", small), ("model_medium_file", medium), ("model_large_file", large)];

fn small(dir: &Path) {
    // Crosses the border between inline and striped content often.
    run(dir, 1, 9000, 400);
}

fn medium(dir: &Path) {
    run(dir, 2, 200_000, 300);
}

fn large(dir: &Path) {
    run(dir, 3, 5_000_000, 120);
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }
}

fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap()
}

fn run(dir: &Path, seed: u64, most: usize, steps: u64) {
    let mut random = Random(seed);
    for round in 0..6 {
        let path = dir.join(format!("f{round}"));
        let mut file = open(&path);
        let mut want: Vec<u8> = Vec::new();
        for step in 0..steps {
            match random.below(20) {
                0..8 => {
                    let (at, len) = (random.below(most), 1 + random.below(most / 8));
                    let piece = pattern(step, len);
                    file.write_all_at(&piece, at as u64).unwrap();
                    want.resize(want.len().max(at + len), 0);
                    want[at..at + len].copy_from_slice(&piece);
                }
                8..14 => {
                    let at = random.below(want.len() + 10);
                    let mut got = vec![0; random.below(most / 4)];
                    let len = file.read_at(&mut got, at as u64).unwrap();
                    let end = (at + got.len()).min(want.len());
                    same(&got[..len], want.get(at..end).unwrap_or(&[]));
                }
                14..16 => {
                    let len = random.below(most);
                    file.set_len(len as u64).unwrap();
                    want.resize(len, 0);
                }
                16 => file.sync_all().unwrap(),
                17 => {
                    drop(file);
                    file = open(&path);
                }
                18 => assert_eq!(fs::metadata(&path).unwrap().len(), want.len() as u64, "seed {seed} step {step}"),
                _ => same(&fs::read(&path).unwrap(), &want),
            }
        }
        drop(file);
        same(&fs::read(&path).unwrap(), &want);
    }
}
