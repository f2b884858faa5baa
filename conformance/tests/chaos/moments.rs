//! Rounds with random moments that can be run again.

use std::time::{SystemTime, UNIX_EPOCH};

use protomcp_conformance::tier;

/// A small generator of moments: the same seed yields the same moments (a linear congruential step, high bits taken).
pub(crate) struct Random(u64);

impl Random {
    /// Seeds that follow each other yield moments that have nothing in common (splitmix64).
    fn new(seed: u64) -> Self {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self(state ^ (state >> 31))
    }

    /// A number below the limit.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// The nanoseconds of the time.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    u64::try_from(since.as_nanos()).expect("it is before 2500")
}

/// Runs this many rounds, each with a seed that is printed; one with the seed in `PMCP_SEED`.
#[expect(clippy::print_stdout, reason = "a failed round is run again by its seed")]
pub(crate) fn rounds(what: &str, count: u64, mut round: impl FnMut(&mut Random)) {
    let given = std::env::var("PMCP_SEED").ok().and_then(|text| text.parse().ok());
    // The same moments in each run of the short tier, others in each of the long one.
    let seed = given.unwrap_or_else(|| tier(1, now()));
    for number in 0..count {
        let seed = seed.wrapping_add(number);
        println!("{what}: round {number}, PMCP_SEED={seed}");
        round(&mut Random::new(seed));
        if given.is_some() {
            return;
        }
    }
}
