//! Any certificate: its times are read as they were written, and malformed input is an error without a panic.
//!
//! The first byte selects the form of the rest: a certificate, two PEM files cut at 0xff, or the parts of a well-formed
//! certificate: two times, and the fields before them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use protomcp_listener::Tls;
use protomcp_listener::fuzzing::validity_of;

/// The last second of the year 9999, which is the last that a certificate can name.
const LAST: u64 = 253_402_300_799;

fuzz_target!(|input: &[u8]| {
    let Some((kind, rest)) = input.split_first() else { return };
    match kind % 3 {
        0 => {
            // A day beyond the end of its month counts into the next month.
            let within = |time: u64| time <= LAST + 100 * 86_400;
            assert!(validity_of(rest).is_none_or(|(from, until)| within(from) && within(until)));
        }
        1 => {
            let (certificate, key) = rest.split_at(rest.iter().position(|byte| *byte == 0xff).unwrap_or(rest.len()));
            let _read = Tls::from_pem(certificate, key);
        }
        _ => {
            let Some((flags, rest)) = rest.split_first_chunk::<2>() else { return };
            let Some((times, rest)) = rest.split_first_chunk::<16>() else { return };
            let (from, until) = times.split_at(8);
            let time = |bytes: &[u8]| bytes.iter().fold(0, |time: u64, byte| time << 8 | u64::from(*byte)) % (LAST + 1);
            let (from, until) = (time(from), time(until));
            let certificate = certificate(flags[0], from, until, rest);
            assert_eq!(validity_of(&certificate), Some((from, until)));
            // A truncated certificate is invalid.
            let end = certificate.len() * usize::from(flags[1]) / 256;
            assert_eq!(validity_of(&certificate[..end]), None);
        }
    }
});

/// A certificate with these times. The other fields are arbitrary.
fn certificate(flags: u8, from: u64, until: u64, rest: &[u8]) -> Vec<u8> {
    let (fields, tail) = rest.split_at(rest.len() / 2);
    let mut fields = fields.chunks(fields.len().div_ceil(4).max(1)).chain(std::iter::repeat(&[][..]));
    let mut field = |tag| element(tag, fields.next().unwrap_or_default());
    let version = if flags & 1 == 0 { Vec::new() } else { field(0xa0) };
    let (number, algorithm, issuer) = (field(0x02), field(0x30), field(0x30));
    let validity = element(0x30, &[time(from, flags & 2 != 0), time(until, flags & 4 != 0)].concat());
    let body = element(0x30, &[version, number, algorithm, issuer, validity, tail.to_vec()].concat());
    element(0x30, &[body, tail.to_vec()].concat())
}

/// Tag, length and content (X.690).
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let mut element = vec![tag];
    if length < 0x80 {
        element.push(length as u8);
    } else {
        let bytes: Vec<u8> = length.to_be_bytes().into_iter().skip_while(|byte| *byte == 0).collect();
        element.push(0x80 | bytes.len() as u8);
        element.extend(bytes);
    }
    element.extend(content);
    element
}

/// Seconds since 1970 in the form of a certificate: with two digits of the year if possible and requested.
fn time(seconds: u64, short: bool) -> Vec<u8> {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let rest = format!("{month:02}{day:02}{:02}{:02}{:02}Z", second / 3600, second / 60 % 60, second % 60);
    if short && year < 2050 {
        element(0x17, format!("{:02}{rest}", year % 100).as_bytes())
    } else {
        element(0x18, format!("{year:04}{rest}").as_bytes())
    }
}

/// Year, month and day, by counting them.
fn date(mut days: u64) -> (u64, u64, u64) {
    let (mut year, mut month) = (1970, 1);
    loop {
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let length = if is_leap { 366 } else { 365 };
        if days < length {
            let lengths = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
            for length in lengths {
                if days < length {
                    break;
                }
                (days, month) = (days - length, month + 1);
            }
            return (year, month, days + 1);
        }
        (days, year) = (days - length, year + 1);
    }
}
