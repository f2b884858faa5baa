//! Parsers for the values of flags: durations and sizes.

use std::time::Duration;

use crate::args::duration;

pub(super) fn time(text: &str) -> Result<Duration, String> {
    duration::parse(text)
        .ok_or_else(|| "expected a duration in h, m, s or ms, such as 90s or 1m30s, at most 8784000h".into())
}

/// The time of a call; zero stands for the default.
pub(super) fn call_time(text: &str) -> Result<Duration, String> {
    Ok(match time(text)? {
        Duration::ZERO => Duration::from_secs(300),
        time => time,
    })
}

/// A timeout of zero could never be met.
pub(super) fn patience(text: &str) -> Result<Duration, String> {
    match time(text)? {
        Duration::ZERO => Err("no process could connect in time; use a duration such as 30s".into()),
        time => Ok(time),
    }
}

/// The name in the `Host` of a request, not a URL, a list or a pattern; `*` is all names. Clients send names with other
/// letters in their ASCII form (RFC 3490).
pub(super) fn host_name(text: &str) -> Result<String, String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    if text != "*" && !(text.contains(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(is_part)) {
        return Err("expected one name such as tools.example.com, or * for all".into());
    }
    Ok(text.to_owned())
}

/// The URL of a server over HTTP, with its scheme in lower case (RFC 3986, 3.1); `None` for any other text.
#[cfg(feature = "upstream")]
pub(super) fn http_url(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    matches!(&*scheme, "http" | "https").then(|| format!("{scheme}://{rest}"))
}

pub(super) fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" | "KIB" => 1 << 10,
        "M" | "MB" | "MIB" => 1 << 20,
        "G" | "GB" | "GIB" => 1 << 30,
        _ => return Err("expected bytes, or a number with K, M or G".into()),
    };
    let number: u64 = digits.parse().map_err(|_| "expected bytes, or a number with K, M or G")?;
    number.checked_mul(unit).filter(|&bytes| bytes > 0).ok_or_else(|| "expected a size between 1 and 16E".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_does_not_name_a_host() {
        for text in [
            "tools.example.com",
            "localhost",
            "192.168.1.5",
            "[fd00::1]",
            "[::1]:8080",
            "xn--bcher-kva.example:8080",
            "*",
        ] {
            assert_eq!(host_name(text).as_deref(), Ok(text));
        }
        for text in [
            "",
            "https://tools.example.com",
            "a.example/",
            "a b",
            "a,b",
            "*.example.com",
            "a#b",
            "a?b",
            "ann@a",
            "-",
            ":",
            "bücher.example",
        ] {
            assert!(host_name(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [("1", 1), ("10K", 10 << 10), ("64M", 64 << 20), ("2GiB", 2 << 30), ("7b", 7)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "K", "1X", "-1", "1.5M", "99999999999G"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
