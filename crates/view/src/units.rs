//! Durations and sizes in a few characters.

use std::time::Duration;

/// A duration that has ended: `12 ms`, `1.2 s`, `2 min 05 s`.
pub(crate) fn took(time: Duration) -> String {
    match time.as_millis() {
        ms @ 0..1_000 => format!("{ms} ms"),
        ms @ 1_000..10_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => seconds(time),
    }
}

/// A duration that goes on, in whole seconds: `4 s`, `2 min 05 s`.
pub(crate) fn seconds(time: Duration) -> String {
    match time.as_secs() {
        s @ 0..60 => format!("{s} s"),
        s => format!("{} min {:02} s", s / 60, s % 60),
    }
}

/// A number of bytes: `17 B`, `1.2 kB`, `34 MB`.
pub(crate) fn bytes(count: u64) -> String {
    let mut unit = 1_u64;
    for name in ["B", "kB", "MB", "GB"] {
        let whole = count / unit;
        if whole < 1_000 || name == "GB" {
            return if whole < 10 && unit > 1 {
                format!("{whole}.{} {name}", count % unit * 10 / unit)
            } else {
                format!("{whole} {name}")
            };
        }
        unit *= 1_000;
    }
    unreachable!("the last unit takes every number")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_short() {
        for (ms, text) in [(0, "0 ms"), (999, "999 ms"), (1_290, "1.2 s"), (12_900, "12 s"), (125_000, "2 min 05 s")] {
            assert_eq!(took(Duration::from_millis(ms)), text);
        }
        assert_eq!(seconds(Duration::from_millis(1_290)), "1 s");
        for (count, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (9_990, "9.9 kB"),
            (12_345, "12 kB"),
            (5_600_000, "5.6 MB"),
            (7_000_000_000_000, "7000 GB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }
}
