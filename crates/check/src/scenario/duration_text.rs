//! Durations such as `300ms`, `90s` and `1m30s`.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

/// Reads a duration. One that is null counts as absent.
pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    let wrong = || serde::de::Error::custom(format!("invalid duration {text:?}: use 300ms, 90s or 1m30s"));
    parse(&text).map(Some).ok_or_else(wrong)
}

fn parse(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|end| *end > 0)?;
        let (number, unit) = rest.split_at(digits);
        let length = unit.find(|c: char| c.is_ascii_digit()).unwrap_or(unit.len());
        let (unit, next) = unit.split_at(length);
        let seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        let part = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?;
        total = total.checked_add(part)?;
        rest = next;
    }
    Some(total).filter(|total| !total.is_zero() && *total <= Duration::from_secs(24 * 3600))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_their_units() {
        for (text, millis) in
            [("300ms", Some(300)), ("1.5s", Some(1500)), ("1m30s", Some(90_000)), ("2h", Some(7_200_000))]
        {
            assert_eq!(parse(text), millis.map(Duration::from_millis), "{text}");
        }
        for text in ["", "5", "s", "0s", "1d", "-1s", "25h", "1e99s", "5000000000000000h5000000000000000h"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
