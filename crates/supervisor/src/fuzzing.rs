//! Doors for the fuzzer into what is private; only there when it compiles.

use std::ffi::OsString;

use crate::guardian::protocol::{Order, Report, Task};

/// The arguments of a guardian after its marker, read and written again; `None` when they are refused.
pub fn args_again(args: Vec<OsString>) -> Option<Vec<OsString>> {
    Task::from_args(args.into_iter()).map(|task| task.to_args().split_off(1))
}

/// A report, read and written again; `None` when it is refused.
pub fn report_again(bytes: [u8; 6]) -> Option<[u8; 6]> {
    Report::from_bytes(bytes).ok().map(Report::to_bytes)
}

/// An order, read and written again.
pub fn order_again(byte: u8) -> u8 {
    Order::from_byte(byte).to_byte()
}
