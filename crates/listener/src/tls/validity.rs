//! The validity of a certificate, which rustls checks in clients only (RFC 5280, section 4.1.2.5).

use super::der::{SEQUENCE, element};

/// Tags of DER (X.690).
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

const DAY: u64 = 24 * 60 * 60;

/// The first and the last valid second, since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Validity {
    pub(super) from: u64,
    pub(super) until: u64,
}

impl Validity {
    /// Reads the validity of a DER certificate. `None`: malformed, or valid before 1970.
    pub(super) fn of(certificate: &[u8]) -> Option<Self> {
        let (_, certificate, _) = element(certificate)?;
        let (_, body, _) = element(certificate)?;
        // The version may be left out; then come number, algorithm and issuer.
        let (tag, _, after) = element(body)?;
        let mut rest = if tag == VERSION { after } else { body };
        for _ in 0..3 {
            (_, _, rest) = element(rest)?;
        }
        let (SEQUENCE, times, _) = element(rest)? else { return None };
        let (from_tag, from, rest) = element(times)?;
        let (until_tag, until, _) = element(rest)?;
        Some(Self { from: seconds(from_tag, from)?, until: seconds(until_tag, until)? })
    }

    /// The reason why the certificate is not valid at this time.
    pub(super) fn error_at(self, now: u64) -> Option<String> {
        if now > self.until {
            Some(format!("the certificate has expired, {} days ago", (now - self.until) / DAY))
        } else if now < self.from {
            Some(format!("the certificate is not valid yet, for {} days", (self.from - now).div_ceil(DAY)))
        } else {
            None
        }
    }
}

/// Parses `YYMMDDHHMMSSZ`, or the form with a year of four digits.
fn seconds(tag: u8, text: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (year, rest) = digits.split_at_checked(match tag {
        UTC_TIME => 2,
        GENERALIZED_TIME => 4,
        _ => return None,
    })?;
    let year: u64 = year.parse().ok()?;
    let year = match (tag, year) {
        (UTC_TIME, 50..) => year + 1900,
        (UTC_TIME, _) => year + 2000,
        _ => year,
    };
    if rest.len() != 10 || year < 1970 {
        return None;
    }
    let part = |at: usize| rest.get(at..at + 2)?.parse::<u64>().ok();
    let (month, day) = (part(0).filter(|month| (1..=12).contains(month))?, part(2).filter(|day| *day >= 1)?);
    let days = days_before(year, month) + day - 1;
    Some(days * DAY + part(4)? * 3600 + part(6)? * 60 + part(8)?)
}

/// The days from 1970 to the first day of a month.
fn days_before(year: u64, month: u64) -> u64 {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let of_years = (1970..year).map(|year| if is_leap(year) { 366 } else { 365 }).sum::<u64>();
    let of_months = (1..month).map(|month| match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    });
    of_years + of_months.sum::<u64>()
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    #[test]
    fn the_times_of_a_certificate_are_read() {
        for (from, until, expected) in [
            // Values of `date -u +%s`.
            ((2024, 2, 29), (2025, 3, 1), (1_709_164_800, 1_740_787_200)),
            ((1970, 1, 1), (2049, 12, 31), (0, 2_524_521_600)),
            ((2050, 1, 1), (2100, 3, 1), (2_524_608_000, 4_107_542_400)),
        ] {
            let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
            params.not_before = date_time_ymd(from.0, from.1, from.2);
            params.not_after = date_time_ymd(until.0, until.1, until.2);
            let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
            let (from, until) = expected;
            assert_eq!(Validity::of(certificate.der()), Some(Validity { from, until }));
        }
    }

    #[test]
    fn a_time_is_digits_and_a_z() {
        let read = |text: &str| seconds(UTC_TIME, text.as_bytes());
        assert_eq!(read("700101000001Z"), Some(1));
        assert_eq!(seconds(GENERALIZED_TIME, b"19700102000000Z"), Some(DAY));
        for text in [
            "700101000001",
            "700101000001z",
            "+70101000001Z",
            "7001010000+1Z",
            "7001010000Z",
            "701301000001Z",
            "700001000001Z",
            "700100000001Z",
            "7001010000011Z",
            "",
            "Z",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(seconds(GENERALIZED_TIME, b"19691231235959Z"), None);
        assert_eq!(seconds(SEQUENCE, b"700101000001Z"), None);
    }

    #[test]
    fn malformed_certificates_have_no_validity() {
        for der in [&b""[..], b"0", b"0\x84\xff\xff\xff\xff", b"0\x89", &[0x30; 64]] {
            assert_eq!(Validity::of(der), None, "{der:?}");
        }
    }

    #[test]
    fn an_expired_or_future_certificate_is_reported() {
        let validity = Validity { from: 10 * DAY, until: 20 * DAY };
        assert_eq!((validity.error_at(10 * DAY), validity.error_at(20 * DAY)), (None, None));
        assert!(validity.error_at(10 * DAY - 1).unwrap().contains("not valid yet, for 1 days"));
        assert!(validity.error_at(23 * DAY + 1).unwrap().contains("expired, 3 days ago"));
    }
}
