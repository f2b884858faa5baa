//! Inputs that are like the inputs of a corpus, and the same in every run.

use std::fs;

/// The variants of each file.
const VARIANTS: usize = 250;

/// Checks each file of a folder, every beginning of it, and variants with a few other, missing or repeated bytes. Returns
/// the number of inputs.
pub(crate) fn of_files(folder: &str, check: impl Fn(&[u8])) -> usize {
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("a corpus").map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    let mut inputs = 0;
    for path in paths {
        let seed = fs::read(&path).expect("a readable file");
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ seed.len() as u64);
        let beginnings = (0..=seed.len()).map(|end| seed[..end].to_vec());
        let variants: Vec<_> = (0..VARIANTS).map(|_| variant(&seed, &mut dice)).collect();
        for input in beginnings.chain(variants) {
            check(&input);
            inputs += 1;
        }
    }
    inputs
}

fn variant(seed: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(bytes.len() + 1);
        let end = (at + dice.roll(8)).min(bytes.len());
        match dice.roll(5) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.roll(8),
            1 if at < bytes.len() => bytes[at] = [0x00, 0x7f, 0x80, 0xff][dice.roll(4)],
            2 => drop(bytes.drain(at..end)),
            3 => {
                let repeated = bytes[at..end].to_vec();
                bytes.splice(at..at, repeated);
            }
            _ => bytes.insert(at, dice.roll(256) as u8),
        }
    }
    bytes
}

/// Numbers that only depend on a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}
