//! The time that a client gives to its call: the header `grpc-timeout`.

use std::time::Duration;

use http::HeaderMap;
use tokio::time::Instant;
use tonic::Status;

/// The header of the time.
const TIMEOUT: &str = "grpc-timeout";

/// The time of a call; `None`: the client waits for ever.
///
/// # Errors
/// If the header is not a number of at most eight digits with a unit.
pub(crate) fn of(headers: &HeaderMap) -> Result<Option<Duration>, Status> {
    let Some(value) = headers.get(TIMEOUT) else { return Ok(None) };
    let text = value.to_str().ok();
    let time = text.and_then(parse).ok_or_else(|| Status::invalid_argument("grpc-timeout is malformed"))?;
    Ok(Some(time))
}

/// The status of a call whose time is over.
pub(crate) fn passed() -> Status {
    Status::deadline_exceeded("the deadline of the call has passed")
}

/// Waits until this moment; `None`: for ever.
pub(crate) async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Up to eight digits and a unit (gRPC over HTTP/2, Timeout).
fn parse(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(count * 3600),
        "M" => Duration::from_secs(count * 60),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        "n" => Duration::from_nanos(count),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_digits_and_a_unit() {
        for (text, time) in [
            ("1H", Some(Duration::from_secs(3600))),
            ("2M", Some(Duration::from_secs(120))),
            ("3S", Some(Duration::from_secs(3))),
            ("99999999m", Some(Duration::from_millis(99_999_999))),
            ("5u", Some(Duration::from_micros(5))),
            ("0n", Some(Duration::ZERO)),
            ("100000000m", None),
            ("S", None),
            ("", None),
            ("+1S", None),
            ("1", None),
            ("1s", None),
            ("1 S", None),
            ("1é", None),
        ] {
            assert_eq!(parse(text), time, "{text:?}");
        }
    }
}
