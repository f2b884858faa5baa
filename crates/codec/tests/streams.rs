//! Streams, as text, and the frames they hold, however they are split.
//!
//! `vectors/streams.txt` says how to read it. What a stream decodes to must not depend on how it arrives.

use bytes::BytesMut;
use protomcp_codec::{DecodeError, Decoder, Encoder, Frame, Limits, TooLargeKind};

#[test]
fn every_stream_decodes_to_its_frames() {
    for stream in streams() {
        assert_eq!(stream.decode([&stream.bytes[..]]), stream.frames, "{}", stream.name);
    }
}

#[test]
fn every_stream_decodes_to_its_frames_byte_by_byte() {
    for stream in streams() {
        assert_eq!(stream.decode(stream.bytes.chunks(1)), stream.frames, "{}", stream.name);
    }
}

#[test]
fn every_stream_decodes_to_its_frames_split_at_every_byte() {
    for stream in streams() {
        for at in 0..=stream.bytes.len() {
            let (head, tail) = stream.bytes.split_at(at);
            assert_eq!(stream.decode([head, tail]), stream.frames, "{}, split at {at}", stream.name);
        }
    }
}

#[test]
fn streams_that_go_both_ways_are_what_their_frames_encode_to() {
    let mut both_ways = 0;
    for stream in streams().into_iter().filter(|stream| stream.both_ways) {
        let mut decoder = Decoder::new(stream.limits.clone());
        let mut encoder = Encoder::new(stream.limits.clone());
        let (mut src, mut dst) = (BytesMut::from(&stream.bytes[..]), Vec::new());
        while let Some(frame) = decoder.decode(&mut src).unwrap() {
            encoder.encode(&frame, &mut dst).unwrap();
        }
        assert_eq!(dst, stream.bytes, "{}", stream.name);
        both_ways += 1;
    }
    assert!(both_ways > 10);
}

#[test]
fn a_lost_stream_stays_lost_and_its_bytes_stay_where_they_are() {
    for stream in streams().iter().filter(|stream| stream.frames.iter().any(|frame| frame.starts_with("lost"))) {
        let (mut decoder, mut src) = (Decoder::new(stream.limits.clone()), BytesMut::from(&stream.bytes[..]));
        let first = std::iter::repeat_with(|| decoder.decode(&mut src)).find_map(Result::err).unwrap();
        assert!(first.is_fatal(), "{}", stream.name);
        let left = src.clone();
        assert_eq!(decoder.decode(&mut src), Err(first), "{}", stream.name);
        assert_eq!(src, left, "{}", stream.name);
    }
}

#[test]
fn frames_of_length_zero_are_counted() {
    let stream = streams().into_iter().find(|stream| stream.name == "frames of length zero between others").unwrap();
    let (mut decoder, mut src) = (Decoder::new(Limits::default()), BytesMut::from(&stream.bytes[..]));
    while decoder.decode(&mut src).unwrap().is_some() {}
    assert_eq!(decoder.empty_frames(), 4);
}

#[test]
fn an_empty_frame_is_written_as_four_zeros() {
    let mut bytes = vec![7];
    Encoder::new(Limits::default()).encode_empty(&mut bytes);
    assert_eq!(bytes, [7, 0, 0, 0, 0]);
}

struct Stream {
    name: String,
    limits: Limits,
    both_ways: bool,
    bytes: Vec<u8>,
    frames: Vec<String>,
}

impl Stream {
    /// The frames in the notation of the file, when the bytes arrive in these pieces.
    fn decode<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
        let (mut decoder, mut src) = (Decoder::new(self.limits.clone()), BytesMut::new());
        let mut frames = Vec::new();
        for piece in pieces {
            src.extend_from_slice(piece);
            loop {
                match decoder.decode(&mut src) {
                    Ok(Some(frame)) => frames.push(describe(&frame)),
                    Ok(None) => break,
                    Err(error) => {
                        frames.push(describe_error(&error));
                        if error.is_fatal() {
                            return frames;
                        }
                    }
                }
            }
        }
        assert!(src.is_empty(), "{}: bytes are left", self.name);
        frames
    }
}

fn describe(frame: &Frame) -> String {
    match frame {
        Frame::Envelope(envelope) => format!("{} {:?}", envelope.name(), envelope.request_id),
        Frame::Raw(raw) => {
            assert_eq!(raw.header.size, raw.payload.len() as u64);
            let sign = if raw.header.followed_by_result { "raw+" } else { "raw" };
            let payload = raw.payload.escape_ascii().to_string().replace("\\\"", "\"").replace("\\x00", "\\0");
            format!("{sign} {} {:?} {payload}", raw.field(), raw.header.request_id)
        }
        Frame::TooLarge(frame) => {
            let kind = match frame.kind {
                TooLargeKind::Envelope => "envelope",
                TooLargeKind::Payload => "payload",
            };
            format!("too large {kind} {} {} {:?}", frame.size, frame.message, frame.request_id)
        }
    }
}

fn describe_error(error: &DecodeError) -> String {
    match error {
        DecodeError::Malformed { size, request_id, message, .. } => {
            format!("malformed {size} {message} {request_id:?}")
        }
        DecodeError::TooManyEntries { size, request_id, message, limit } => {
            format!("more than {limit} entries {size} {message} {request_id:?}")
        }
        DecodeError::LostPayload { size } => format!("lost payload {size}"),
        DecodeError::TooFar { size, .. } => format!("lost too far {size}"),
        other => panic!("{other}"),
    }
}

fn streams() -> Vec<Stream> {
    let file = include_str!("vectors/streams.txt");
    let sections = file.split("\n== ").skip(1);
    let streams = sections.map(|section| {
        let mut lines = section.lines();
        let mut stream = Stream {
            name: lines.next().expect("a section has a name").to_owned(),
            limits: Limits::default(),
            both_ways: false,
            bytes: Vec::new(),
            frames: Vec::new(),
        };
        for line in lines.filter(|line| !line.is_empty()) {
            match line.split_once(' ') {
                Some((">", hex)) => stream.bytes.extend(from_hex(hex)),
                Some(("<", frame)) => stream.frames.push(frame.to_owned()),
                Some(("limits", limits)) => stream.limits = from_words(limits),
                _ if line == "both ways" => stream.both_ways = true,
                _ => panic!("{}: what is {line:?}?", stream.name),
            }
        }
        stream
    });
    streams.collect()
}

fn from_words(limits: &str) -> Limits {
    let mut words = limits.split(' ').map(|word| word.parse::<u64>().unwrap());
    let mut next = || words.next().expect("three limits, or four");
    let (max_frame, max_payload, max_skip) = (usize::try_from(next()).unwrap(), next(), next());
    let max_entries = words.next().map_or(Limits::default().max_entries, |entries| entries.try_into().unwrap());
    Limits { max_frame, max_payload, max_skip, max_entries }
}

fn from_hex(hex: &str) -> Vec<u8> {
    let digits = hex.replace(' ', "");
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}
