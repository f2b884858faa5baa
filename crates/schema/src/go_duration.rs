//! Durations as the Go bridge writes them: `300ms`, `1.5s`, `1m30s`. Messages keep that form, which scripts may read.

use std::fmt;
use std::time::Duration;

/// Writes a duration in Go's form: `5m0s`, `1.5s`, `300ms`, `0s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoDuration(pub Duration);

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        let (unit, name) = match nanos {
            0 => return f.write_str("0s"),
            1..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "µs"),
            1_000_000..1_000_000_000 => (1_000_000, "ms"),
            _ => (1_000_000_000, "s"),
        };
        let (whole, rest) = (nanos / unit, nanos % unit);
        if unit == 1_000_000_000 {
            let (hours, minutes) = (whole / 3600, whole / 60 % 60);
            if hours > 0 {
                write!(f, "{hours}h")?;
            }
            if hours > 0 || minutes > 0 {
                write!(f, "{minutes}m")?;
            }
            return write!(f, "{}{}s", whole % 60, fraction(rest, 9));
        }
        write!(f, "{whole}{}{name}", fraction(rest, unit.ilog10() as usize))
    }
}

/// The decimals of a unit that has `digits` of them, such as `.5`; empty for zero.
fn fraction(rest: u128, digits: usize) -> String {
    if rest == 0 {
        return String::new();
    }
    format!(".{rest:0digits$}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_go_does() {
        for (nanos, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_500, "1.5µs"),
            (300_000_000, "300ms"),
            (1_500_000_000, "1.5s"),
            (90_000_000_000, "1m30s"),
            (300_000_000_000, "5m0s"),
            (3_600_000_000_000, "1h0m0s"),
            (5_400_000_000_001, "1h30m0.000000001s"),
        ] {
            assert_eq!(GoDuration(Duration::from_nanos(nanos)).to_string(), text);
        }
    }
}
