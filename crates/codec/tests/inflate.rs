//! Compressed payloads: honest ones, lies and bombs.

use bytes::Bytes;
use protomcp_codec::{Field, InflateError, Limits, Raw};
use protomcp_envelope::RawHeader;

const LIMIT: u64 = 1 << 20;

/// Inflates a payload under a limit of one MiB.
fn inflate(compression: &str, payload: impl Into<Bytes>, uncompressed_size: u64) -> Result<Bytes, InflateError> {
    let header = RawHeader { compression: compression.into(), uncompressed_size, ..RawHeader::default() };
    let limits = Limits { max_payload: LIMIT, ..Limits::default() };
    Raw { header, payload: payload.into() }.inflate(&limits)
}

/// The form of the published Rust SDK: streamed, so that the zstd frame does not say how large it is.
fn streamed(text: &[u8]) -> Vec<u8> {
    let frame = zstd::stream::encode_all(text, 3).unwrap();
    assert!(text.is_empty() || matches!(zstd::zstd_safe::get_frame_content_size(&frame), Ok(None)));
    frame
}

/// The form of the published Python SDK.
fn sized(text: &[u8]) -> Vec<u8> {
    let frame = zstd::bulk::compress(text, 3).unwrap();
    assert!(matches!(zstd::zstd_safe::get_frame_content_size(&frame), Ok(Some(size)) if size == text.len() as u64));
    frame
}

/// Text that compresses, but not into nothing.
fn text(size: usize) -> Vec<u8> {
    (0_u64..).flat_map(|n| (n * n % 9973).to_string().into_bytes()).take(size).collect()
}

#[test]
fn an_uncompressed_payload_is_itself() {
    assert_eq!(inflate("", "text", 0), Ok(Bytes::from("text")));
}

#[test]
fn text_inflates_with_and_without_a_declared_size() {
    for size in [1, 2, 100, 65_537, 262_143, 262_144, 262_145, 524_288, LIMIT as usize - 1, LIMIT as usize] {
        let text = text(size);
        for frame in [streamed(&text), sized(&text)] {
            for declared in [0, size as u64] {
                let inflated = inflate("zstd", frame.clone(), declared);
                assert!(inflated == Ok(text.clone().into()), "{size} bytes, {declared} declared: {inflated:?}");
            }
        }
    }
}

#[test]
fn no_text_inflates_to_no_text() {
    for frame in [streamed(b""), sized(b"")] {
        assert_eq!(inflate("zstd", frame, 0), Ok(Bytes::new()));
    }
}

#[test]
fn several_zstd_frames_are_one_text() {
    let both = [streamed(b"one "), sized(b"two")].concat();
    assert_eq!(inflate("zstd", both.clone(), 0), Ok(Bytes::from("one two")));
    assert_eq!(inflate("zstd", both, 7), Ok(Bytes::from("one two")));
}

#[test]
fn a_wrong_size_fails_the_payload() {
    let text = text(10_000);
    for frame in [streamed(&text), sized(&text)] {
        for declared in [1, 9_999, 10_001, 100_000, LIMIT] {
            let inflated = inflate("zstd", frame.clone(), declared);
            assert_eq!(inflated, Err(InflateError::WrongSize { declared }), "{declared} declared");
        }
    }
}

#[test]
fn a_claim_beyond_the_limit_fails_before_anything_is_inflated() {
    for declared in [LIMIT + 1, 1 << 40, u64::MAX] {
        let inflated = inflate("zstd", "not even zstd", declared);
        assert_eq!(inflated, Err(InflateError::TooLarge { limit: LIMIT }), "{declared} declared");
    }
}

#[test]
fn an_impossible_size_fails_before_memory_is_taken() {
    // 20 bytes of zstd make at most 640 KiB.
    assert_eq!(inflate("zstd", vec![0; 20], LIMIT), Err(InflateError::WrongSize { declared: LIMIT }));
}

#[test]
fn a_bomb_stops_at_the_limit_or_at_its_claim() {
    for size in [LIMIT as usize + 1, 300 << 20] {
        let zeros = vec![0; size];
        for bomb in [streamed(&zeros), sized(&zeros)] {
            assert!(bomb.len() < 32 << 10);
            assert_eq!(inflate("zstd", bomb.clone(), 0), Err(InflateError::TooLarge { limit: LIMIT }));
            assert_eq!(inflate("zstd", bomb, 1000), Err(InflateError::WrongSize { declared: 1000 }));
        }
    }
}

#[test]
fn what_compresses_best_is_within_the_ratio_that_is_believed() {
    let zeros = vec![0; LIMIT as usize];
    for frame in [streamed(&zeros), sized(&zeros)] {
        assert_eq!(inflate("zstd", frame, LIMIT), Ok(Bytes::from(zeros.clone())));
    }
}

#[test]
fn damage_is_noticed() {
    let text = text(10_000);
    let good = streamed(&text);
    let corrupt = |payload: &[u8], what: &str| {
        for declared in [0, 10_000] {
            let inflated = inflate("zstd", payload.to_vec(), declared);
            assert!(inflated.is_err(), "{what}, {declared} declared");
        }
    };
    corrupt(b"", "nothing");
    corrupt(b"plain text", "no zstd");
    corrupt(&good[..good.len() - 1], "the last byte is missing");
    corrupt(&good[..good.len() / 2], "half of it");
    corrupt(&[&good[..], b"garbage"].concat(), "something behind it");
}

#[test]
fn an_unknown_compression_is_named() {
    assert_eq!(inflate("br", "x", 0), Err(InflateError::UnknownCompression("br".into())));
    let error = inflate("br", "x", 0).unwrap_err();
    assert_eq!(error.to_string(), "unknown compression \"br\"");
}

#[test]
fn compression_and_inflation_undo_each_other() {
    let text = Bytes::from(text(100_000));
    let raw = Raw::new("c1", Field::ResultJson, text.clone());
    let small = raw.clone().compress();
    assert!(small.payload.len() < text.len() / 2);
    assert_eq!(small.header.compression, "zstd");
    assert_eq!((small.header.size, small.header.uncompressed_size), (small.payload.len() as u64, 100_000));
    assert_eq!(small.clone().compress(), small, "once is enough");
    assert_eq!(small.inflate(&Limits::default()), Ok(text));
}

#[test]
fn what_does_not_shrink_stays_as_it_is() {
    for payload in [&b""[..], b"x", &[7, 99, 3, 250, 13, 8]] {
        let raw = Raw::new("c1", Field::ResultJson, payload);
        assert_eq!(raw.clone().compress(), raw);
    }
}
