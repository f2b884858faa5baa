//! Lives the random lives of the crate's property test, with an eye on which code they reach.
//!
//! Every four bytes are one operation; a first bit chooses whether the process starts well.

#![no_main]

#[path = "../../crates/link/tests/machine/end.rs"]
mod end;
#[path = "../../crates/link/tests/machine/operations.rs"]
mod operations;
#[path = "../../crates/link/tests/machine/world.rs"]
mod world;

use libfuzzer_sys::fuzz_target;

use crate::operations::Operation;

/// Longer lives find nothing that short ones do not.
const OPERATIONS: usize = 500;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let started =
        [Operation::List, Operation::Done { success: true }, Operation::Carry { to_tool: false, bytes: 1000 }];
    let beginning = if first % 2 == 0 { &started[..] } else { &[] };
    let (steps, _) = rest.as_chunks::<4>();
    let steps = steps.iter().take(OPERATIONS).map(|step| Operation::from(*step));
    world::live(beginning.iter().copied().chain(steps));
});
