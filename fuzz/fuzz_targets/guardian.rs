//! The protocol of bridge and guardian: what one writes the other reads, and anything else is refused or ends the tool.
//!
//! The input is a report and an order, and then a command line, cut at zero bytes as the system does it, which is an assignment
//! as well.

#![no_main]

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use libfuzzer_sys::fuzz_target;
use protomcp_supervisor::fuzzing::{args_again, assignment_again, order_again, report_again};

fuzz_target!(|input: &[u8]| {
    let Some((report, rest)) = input.split_first_chunk::<6>() else { return };
    if let Some(again) = report_again(*report) {
        // The number of a guardian that is ready, and of an unknown end, means nothing.
        let has_number = !report.starts_with(b"R") && !report.starts_with(b"Eu");
        assert!(again == *report || !has_number, "{report:?} became {again:?}");
        assert_eq!(report_again(again), Some(again));
    }
    let Some((order, rest)) = rest.split_first() else { return };
    assert_eq!(order_again(*order), if b"AST".contains(order) { *order } else { b'K' });

    if let Some(again) = assignment_again(rest) {
        assert_eq!(assignment_again(&again), Some(again));
    }
    let args: Vec<OsString> = rest.split(|byte| *byte == 0).map(|arg| OsString::from_vec(arg.to_vec())).collect();
    if let Some(again) = args_again(args.clone()) {
        assert_eq!(args_again(again.clone()).as_ref(), Some(&again));
        let is_number = |arg: &OsString| arg.to_str().is_some_and(|arg| arg.parse::<u64>().is_ok());
        assert!(again.len() == args.len());
        // A number may have been written in another way.
        assert!(again.iter().zip(&args).all(|(after, before)| after == before || is_number(before)), "{args:?}");
    }
    // Any command line arrives as it is.
    let task = [OsString::from("--")].into_iter().chain(args).collect::<Vec<_>>();
    assert_eq!(args_again(task.clone()), Some(task));
});
