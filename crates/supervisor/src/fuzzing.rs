//! Access for the fuzzer to private functions; compiled only for it.

use std::ffi::OsString;

use crate::guardian::assignment::{Assignment, HEAD};
use crate::guardian::protocol::{Order, Report, Task};

/// Reads and writes again the arguments of a guardian after its marker; `None` if they are refused.
pub fn args_again(args: Vec<OsString>) -> Option<Vec<OsString>> {
    Task::from_args(args.into_iter()).map(|task| task.to_args().split_off(1))
}

/// Reads and writes again the assignment of a forked guardian after its head; `None` if it is refused.
pub fn assignment_again(bytes: &[u8]) -> Option<Vec<u8>> {
    Assignment::from_bytes(bytes)?.to_bytes().map(|mut message| message.split_off(HEAD))
}

/// Reads and writes again a report; `None` if it is refused.
pub fn report_again(bytes: [u8; 6]) -> Option<[u8; 6]> {
    Report::from_bytes(bytes).ok().map(Report::to_bytes)
}

/// Reads and writes again an order.
pub fn order_again(byte: u8) -> u8 {
    Order::from_byte(byte).to_byte()
}
