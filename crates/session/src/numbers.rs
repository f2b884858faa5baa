//! Maps from numbers that we chose ourselves. A peer cannot pick them so that they collide, so a multiplication is hash
//! enough.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map from request numbers.
pub type ByNumber<T> = HashMap<u64, T, BuildHasherDefault<Multiply>>;

#[derive(Debug, Default)]
pub struct Multiply(u64);

impl Hasher for Multiply {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        // 2^64 divided by the golden ratio spreads numbers in a row over the whole range.
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
