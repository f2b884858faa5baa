//! Reads durations as the Go bridge does: `300ms`, `1.5h`, `1m30s`. Existing host configurations keep working.

use std::time::Duration;

/// The longest duration: a thousand years, which can be added to any time.
const LONGEST: Duration = Duration::from_secs(1000 * 366 * 24 * 3600);

/// Reads Go's form. `None` for anything else; negative and longer durations are not accepted.
pub(super) fn parse(text: &str) -> Option<Duration> {
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
    Some(total).filter(|total| *total <= LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("8784000h", 31_622_400_000_000),
        ] {
            assert_eq!(parse(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for text in
            ["", "5", "s", "5x", "-1s", ".s", "1.2.3s", "1s2", "99999999999999999999h", "5000000000000000h", " 1s"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
