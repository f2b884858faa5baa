//! The memory that decoding takes, counted by the allocator: at most the size of the frame again and 1 KiB for each
//! allowed entry, for any frame.

#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use bytes::BytesMut;
use prost::Message;
use protomcp_codec::{DecodeError, Decoder, Encoder, Frame, Limits};
use protomcp_envelope::*;

const MIB: usize = 1 << 20;
const ENTRY: usize = 1 << 10;

thread_local! {
    /// Bytes of this thread that are in use, and the most that were.
    static IN_USE: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

struct Counting;

fn count(bytes: isize) {
    // A thread that ends frees memory when its counter is gone.
    let _ended = IN_USE.try_with(|counter| {
        let (now, most) = counter.get();
        counter.set((now + bytes, most.max(now + bytes)));
    });
}

/// The true size of an allocation: glibc's blocks have at least 32 bytes, and are multiples of 16.
fn block(layout: Layout) -> isize {
    ((layout.size() + 8).max(32).next_multiple_of(16)).cast_signed()
}

// SAFETY: everything is left to the system's allocator; growing is allocating, copying and freeing, as counted.
#[expect(unsafe_code, reason = "an allocator is unsafe")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(block(layout));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-block(layout));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most memory that `act` takes at any time beyond what was in use before, and the memory that its result takes.
fn taken<T>(act: impl FnOnce() -> T) -> (T, usize, usize) {
    let (before, _) = IN_USE.get();
    IN_USE.set((before, before));
    let outcome = act();
    let (after, most) = IN_USE.get();
    (outcome, (most - before).cast_unsigned(), (after - before).max(0).cast_unsigned())
}

/// The same entry a number of times in field `number` of a member of the envelope.
fn list(member: u32, number: u32, entry: &[u8], count: usize) -> Vec<u8> {
    inside(member, &inside(number, entry).repeat(count))
}

/// A message whose only field has this value.
fn inside(member: u32, message: &[u8]) -> Vec<u8> {
    let mut envelope = Vec::new();
    prost::encoding::encode_key(member, prost::encoding::WireType::LengthDelimited, &mut envelope);
    prost::encoding::encode_varint(message.len() as u64, &mut envelope);
    envelope.extend_from_slice(message);
    envelope
}

fn framed(envelope: &[u8]) -> BytesMut {
    let mut bytes = BytesMut::with_capacity(4 + envelope.len());
    bytes.extend_from_slice(&u32::try_from(envelope.len()).unwrap().to_be_bytes());
    bytes.extend_from_slice(envelope);
    bytes
}

/// All lists: the member of the envelope, the field in it, an entry with one character in each text, and for how many that
/// counts.
fn lists() -> Vec<(u32, u32, Vec<u8>, usize)> {
    let text = || "x".to_owned();
    let tool = ToolDefinition {
        name: text(),
        description: text(),
        input_schema_json: "x".into(),
        output_schema_json: "x".into(),
        title: text(),
        annotations_json: "x".into(),
        icons_json: "x".into(),
        metadata_json: "x".into(),
        ..Default::default()
    };
    let resource = ResourceDefinition {
        uri: text(),
        name: text(),
        description: text(),
        mime_type: text(),
        title: text(),
        icons_json: "x".into(),
        metadata_json: "x".into(),
        annotations_json: "x".into(),
        ..Default::default()
    };
    let template = ResourceTemplateDefinition {
        uri_template: text(),
        name: text(),
        description: text(),
        mime_type: text(),
        title: text(),
        icons_json: "x".into(),
        metadata_json: "x".into(),
        annotations_json: "x".into(),
    };
    let content =
        ResourceContent { uri: text(), mime_type: text(), text: text(), blob: "x".into(), metadata_json: "x".into() };
    let argument = PromptArgument { name: text(), description: text(), title: text(), required: true };
    let prompt = PromptDefinition {
        name: text(),
        description: text(),
        title: text(),
        icons_json: "x".into(),
        metadata_json: "x".into(),
        ..Default::default()
    };
    let message = PromptMessage { role: text(), content_json: "x".into() };
    let root = RootDef { uri: text(), name: text() };
    let mut lists = vec![
        (5, 1, tool.encode_to_vec(), 1),
        (32, 1, resource.encode_to_vec(), 1),
        (34, 1, template.encode_to_vec(), 1),
        (36, 1, content.encode_to_vec(), 1),
        (41, 1, prompt.encode_to_vec(), 1),
        (41, 1, PromptDefinition { arguments: vec![argument], ..prompt }.encode_to_vec(), 2),
        (43, 2, message.encode_to_vec(), 1),
        (63, 1, root.encode_to_vec(), 1),
    ];
    let names =
        [(6, 3), (6, 4), (7, 1), (8, 1), (9, 1), (10, 1), (12, 1), (12, 4), (13, 1), (51, 1), (200, 5), (201, 3)];
    lists.extend(names.map(|(member, number)| (member, number, b"x".to_vec(), 1)));
    lists
}

#[track_caller]
fn check(envelope: &[u8], limits: &Limits) -> Option<DecodeError> {
    let mut src = framed(envelope);
    let mut decoder = Decoder::new(limits.clone());
    let (outcome, most, _kept) = taken(|| decoder.decode(&mut src));
    let bound = envelope.len() + ENTRY * limits.max_entries + 4 * ENTRY;
    assert!(most <= bound, "{most} bytes for a frame of {}, {bound} may be", envelope.len());
    match outcome {
        Ok(frame) => {
            assert!(frame.is_some());
            None
        }
        Err(error) => Some(error),
    }
}

#[test]
fn the_memory_of_every_list_is_bounded() {
    for limits in [Limits::default(), Limits { max_entries: 100, ..Limits::default() }] {
        for (member, number, entry, weight) in lists() {
            for (entry, weight) in [(&entry[..], weight), (b"", 1)] {
                // The number that fits, one more, and the number that makes 2 MiB.
                let most = limits.max_entries / weight;
                for count in [most, most + 1, 2 * MIB / (2 + entry.len())] {
                    let refused = check(&list(member, number, entry, count), &limits);
                    assert_eq!(refused.is_some(), count > most, "{count} entries of {member}: {refused:?}");
                }
            }
        }
    }
}

#[test]
fn what_is_refused_is_named_and_the_next_frame_is_read() {
    let limits = Limits::default();
    for (member, number, ..) in lists() {
        let mut envelope = list(member, number, b"", MIB);
        Envelope { request_id: "req-7".into(), ..Envelope::default() }.encode(&mut envelope).unwrap();
        let mut src = framed(&envelope);
        let next = Envelope::new("next", ListToolsRequest {});
        let mut bytes = Vec::new();
        Encoder::new(limits.clone()).encode_envelope(&next, &mut bytes).unwrap();
        src.extend_from_slice(&bytes);
        let mut decoder = Decoder::new(limits.clone());
        let error = decoder.decode(&mut src).unwrap_err();
        assert_eq!(error.request_id(), "req-7");
        let DecodeError::TooManyEntries { size, message, limit, .. } = error else { panic!("{error}") };
        assert_eq!((size, limit), (envelope.len(), limits.max_entries));
        let member = Envelope::decode(&inside(member, b"")[..]).unwrap();
        assert_eq!(message, member.name());
        assert_eq!(decoder.decode(&mut src), Ok(Some(Frame::Envelope(next))));
    }
}

#[test]
fn a_repeated_message_takes_memory_once() {
    let half = list(5, 1, b"", 100_000);
    for other in [list(5, 1, b"", 100_000), inside(6, b""), list(6, 3, b"", 100)] {
        check(&[&half[..], &other].concat().repeat(5), &Limits::default());
    }
    let fields = inside(18, &b"\x0a\x01x".repeat(MIB));
    assert!(matches!(check(&fields, &Limits::default()), Some(DecodeError::TooManyEntries { .. })));
}

#[test]
fn a_small_field_does_not_keep_a_large_frame_in_memory() {
    // A log message of a few bytes, and a megabyte that nothing is known about.
    let log = LogMessage { data_json: vec![b'1'; 2000].into(), ..Default::default() };
    let envelope = [Envelope::new("", log).encode_to_vec(), inside(299, &vec![0; MIB])].concat();
    let (frame, _, kept) = taken(|| {
        let mut src = framed(&envelope);
        Decoder::new(Limits::default()).decode(&mut src).unwrap()
    });
    assert!(matches!(&frame, Some(Frame::Envelope(envelope)) if envelope.name() == "log"));
    assert!(kept < 8 << 10, "{kept} bytes stay");
}
