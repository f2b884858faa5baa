//! The memory that a peer can occupy never exceeds the limits.

use bytes::{BufMut, Bytes, BytesMut};
use protomcp_codec::{DecodeError, Decoder, EncodeError, Encoder, Field, Frame, Limits, Raw, TooLarge, TooLargeKind};
use protomcp_envelope::{CallToolResponse, Envelope, ListToolsRequest};

const PIECE: usize = 4 << 10;

fn limits() -> Limits {
    Limits { max_frame: 16 << 10, max_payload: 32 << 10, max_skip: 1 << 30, ..Limits::default() }
}

/// Reads a stream as a driver would: makes room for what the decoder wants, then reads what there is, in pieces.
struct Reader {
    decoder: Decoder,
    src: BytesMut,
    most: usize,
    frames: Vec<Result<Frame, DecodeError>>,
}

impl Reader {
    fn new() -> Self {
        Self { decoder: Decoder::new(limits()), src: BytesMut::new(), most: 0, frames: Vec::new() }
    }

    fn read(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(PIECE) {
            self.src.reserve(self.decoder.want());
            self.src.put_slice(piece);
            self.most = self.most.max(self.src.capacity());
            while let Some(frame) = self.decoder.decode(&mut self.src).transpose() {
                self.frames.push(frame);
            }
        }
    }

    /// The same bytes again and again.
    fn read_many(&mut self, bytes: u8, count: usize) {
        let piece = [bytes; PIECE];
        for at in (0..count).step_by(PIECE) {
            self.read(&piece[..PIECE.min(count - at)]);
        }
    }
}

fn frame(envelope: &Envelope) -> Vec<u8> {
    let mut bytes = Vec::new();
    let generous = Limits { max_frame: usize::MAX, max_payload: u64::MAX, ..Limits::default() };
    Encoder::new(generous).encode_envelope(envelope, &mut bytes).unwrap();
    bytes
}

fn question() -> Envelope {
    Envelope::new("next", ListToolsRequest {})
}

#[test]
fn a_frame_of_200_mib_is_skipped_in_little_memory() {
    let size = 200 << 20;
    let mut reader = Reader::new();
    // Field 6, `call_result`, of the whole size but the six bytes of the id behind it and the six of its head.
    reader.read(&u32::try_from(size).unwrap().to_be_bytes());
    let mut head = vec![0x32];
    prost::encoding::encode_varint(size as u64 - 11, &mut head);
    assert_eq!(head.len(), 5);
    reader.read(&head);
    reader.read_many(b'x', size - 11);
    reader.read(&[0x72, 4, b'c', b'a', b'l', b'l']);
    reader.read(&frame(&question()));
    let skipped =
        TooLarge { size: size as u64, request_id: "call".into(), message: "call_result", kind: TooLargeKind::Envelope };
    assert_eq!(reader.frames, [Ok(Frame::TooLarge(skipped)), Ok(Frame::Envelope(question()))]);
    assert!(reader.most <= 256 << 10, "{} bytes", reader.most);
}

#[test]
fn a_payload_of_200_mib_is_skipped_in_little_memory() {
    let size = 200 << 20;
    let mut header = Raw::new("call", Field::ResultJson, Bytes::new()).header;
    header.size = size;
    let mut reader = Reader::new();
    reader.read(&frame(&Envelope::new("", header)));
    reader.read_many(b'x', usize::try_from(size).unwrap());
    reader.read(&frame(&question()));
    let skipped = TooLarge { size, request_id: "call".into(), message: "empty", kind: TooLargeKind::Payload };
    assert_eq!(reader.frames, [Ok(Frame::TooLarge(skipped)), Ok(Frame::Envelope(question()))]);
    assert!(reader.most <= 256 << 10, "{} bytes", reader.most);
}

#[test]
fn an_announcement_alone_takes_no_more_memory_than_the_limits() {
    let mut header = Raw::new("call", Field::ResultJson, Bytes::new()).header;
    let announcements = [limits().max_payload, limits().max_payload + 1, limits().max_skip].map(|size| {
        header.size = size;
        frame(&Envelope::new("", header.clone()))
    });
    let prefixes =
        [limits().max_frame, limits().max_frame + 1, 1 << 30].map(|size| (size as u32).to_be_bytes().to_vec());
    for announcement in announcements.into_iter().chain(prefixes) {
        let mut reader = Reader::new();
        reader.read(&announcement);
        reader.read(b"x");
        assert!(reader.frames.is_empty());
        assert!(reader.most <= 128 << 10, "{} bytes for {announcement:?}", reader.most);
    }
}

#[test]
fn what_the_decoder_wants_is_what_is_missing() {
    let (mut decoder, mut src) = (Decoder::new(limits()), BytesMut::new());
    assert_eq!(decoder.want(), 4, "a length");
    let mut bytes = Vec::new();
    Encoder::new(limits()).encode_raw(&Raw::new("c", Field::ResultJson, "0123456789"), &mut bytes).unwrap();
    let header = bytes.len() - 10;
    let mut wanted = Vec::new();
    for byte in &bytes[..bytes.len() - 1] {
        src.put_u8(*byte);
        assert_eq!(decoder.decode(&mut src), Ok(None));
        wanted.push(decoder.want());
    }
    let missing = (1..4).rev().chain((1..header - 3).rev()).chain((1..=10).rev());
    assert_eq!(wanted, missing.collect::<Vec<_>>());
}

#[test]
fn small_frames_do_not_keep_the_read_buffer_alive() {
    let envelope = Envelope::new("1", CallToolResponse { result_json: "[]".into(), ..Default::default() });
    let (mut decoder, mut src) = (Decoder::new(limits()), BytesMut::with_capacity(64 << 10));
    let start = src.as_ptr();
    src.extend_from_slice(&frame(&envelope));
    let kept = decoder.decode(&mut src).unwrap().unwrap();
    // Were the frame a slice of the buffer, the buffer could not be used again while the frame lives.
    src.reserve(64 << 10);
    assert_eq!(src.as_ptr(), start);
    assert_eq!(kept, Frame::Envelope(envelope));
}

#[test]
fn large_fields_are_slices_of_the_read_buffer() {
    let text = Bytes::from(vec![b'x'; 10_000]);
    let envelope = Envelope::new("1", CallToolResponse { result_json: text.clone(), ..Default::default() });
    let mut bytes = frame(&envelope);
    Encoder::new(limits()).encode_raw(&Raw::new("2", Field::ResultJson, text), &mut bytes).unwrap();
    let mut src = BytesMut::from(&bytes[..]);
    let buffer = src.as_ptr_range();
    let mut decoder = Decoder::new(limits());
    let Some(Frame::Envelope(envelope)) = decoder.decode(&mut src).unwrap() else { panic!("no envelope") };
    let result = CallToolResponse::try_from(envelope.msg.unwrap()).unwrap();
    let Some(Frame::Raw(raw)) = decoder.decode(&mut src).unwrap() else { panic!("no payload") };
    for field in [result.result_json, raw.payload] {
        assert!(buffer.contains(&field.as_ptr()));
    }
}

#[test]
fn an_oversized_frame_is_not_written() {
    let result = CallToolResponse { result_json: vec![b'x'; 20_000].into(), ..Default::default() };
    let envelope = Frame::Envelope(Envelope::new("1", result));
    let raw = Frame::Raw(Raw::new("1", Field::ResultJson, vec![b'x'; 40_000]));
    let header = Frame::Raw(Raw::new("x".repeat(20_000), Field::ResultJson, "x"));
    let skipped =
        Frame::TooLarge(TooLarge { size: 7, request_id: String::new(), message: "empty", kind: TooLargeKind::Payload });
    let mut dst = b"before".to_vec();
    let mut encoder = Encoder::new(limits());
    let errors = [envelope, raw, header, skipped].map(|frame| encoder.encode(&frame, &mut dst).unwrap_err());
    assert_eq!(errors[1], EncodeError::TooLarge { size: 40_000, limit: 32 << 10 });
    assert_eq!(errors[3], EncodeError::Skipped { size: 7 });
    assert!(matches!(errors[0], EncodeError::TooLarge { size: 20_000.., limit: 16_384 }), "{}", errors[0]);
    assert!(matches!(errors[2], EncodeError::TooLarge { size: 20_000.., limit: 16_384 }), "{}", errors[2]);
    assert_eq!(dst, b"before");
    assert_eq!(errors.map(|error| error.size())[1], 40_000);
}

#[test]
fn skipping_asks_for_bytes_in_steps() {
    let (mut decoder, mut src) = (Decoder::new(limits()), BytesMut::new());
    src.put_slice(&200_000_u32.to_be_bytes());
    assert_eq!((decoder.decode(&mut src), decoder.want()), (Ok(None), 64 << 10));
    src.put_bytes(b'x', 199_990);
    assert_eq!((decoder.decode(&mut src), decoder.want(), src.len()), (Ok(None), 10, 0));
    src.put_bytes(b'x', 10);
    assert!(matches!(decoder.decode(&mut src), Ok(Some(Frame::TooLarge(TooLarge { size: 200_000, .. })))));
    src.put_slice(&frame(&question()));
    assert_eq!(decoder.decode(&mut src), Ok(Some(Frame::Envelope(question()))));
}
