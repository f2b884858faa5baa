//! Durations as the Go bridge writes and reads them: `300ms`, `1.5h`, `1m30s`.
//!
//! Flags and messages keep that grammar, so that existing host configurations and scripts go on working.

use std::fmt;
use std::time::Duration;

/// Writes a duration in Go's form: `5m0s`, `1.5s`, `300ms`, `0s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Go(pub Duration);

impl fmt::Display for Go {
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

/// `.5` for half of a unit that has `digits` decimal places; nothing for zero.
fn fraction(rest: u128, digits: usize) -> String {
    if rest == 0 {
        return String::new();
    }
    format!(".{rest:0digits$}").trim_end_matches('0').to_owned()
}

/// Reads Go's form. `None` for anything else; negative durations are not accepted.
pub fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|&at| at > 0)?;
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, next) = after.split_at(letters);
        let nanos: f64 = match unit {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 60e9,
            "h" => 3600e9,
            _ => return None,
        };
        if number == "." {
            return None;
        }
        let part = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * nanos / 1e9).ok()?;
        total = total.checked_add(part)?;
        rest = next;
    }
    Some(total)
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
            assert_eq!(Go(Duration::from_nanos(nanos)).to_string(), text);
        }
    }

    #[test]
    fn durations_are_read_as_go_does() {
        for (text, millis) in [
            ("300ms", 300),
            ("1.5h", 5_400_000),
            ("1m30s", 90_000),
            ("0", 0),
            ("+2s", 2_000),
            (".5s", 500),
            ("1h0m0.5s", 3_600_500),
        ] {
            assert_eq!(parse(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "5", "s", "5x", "-1s", ".s", "1.2.3s", "1s2", "99999999999999999999h", " 1s"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
