//! Server-sent events out of bytes, as they arrive (WHATWG HTML, section 9.2.6). A value: no I/O.
//!
//! Nothing is kept of a line that means nothing, and an event is bounded, so a stream without an end costs no memory.

use std::time::Duration;

use bytes::Bytes;
use memchr::memchr2;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The longest value of a field other than `data`. An event with a longer id cannot be resumed from.
const MAX_VALUE: usize = 4096;

/// The length of the longest field name that means something, with its colon.
const MAX_NAME: usize = 6;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) kind: EventKind,
    /// Lines joined with line feeds. Empty for an event that only moves the position.
    pub(crate) data: Bytes,
    /// The position in the stream after this event, if the event sets one. Empty: the stream cannot be resumed.
    pub(crate) id: Option<Box<str>>,
    /// The delay before the client reconnects.
    pub(crate) retry: Option<Duration>,
}

/// The meaning of an event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// A JSON-RPC message.
    #[default]
    Message,
    /// The address for POSTs (the transport of MCP 2024-11-05).
    Endpoint,
    /// MCP has no such event.
    Other,
}

/// An event is longer than events may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {limit} bytes")]
pub(crate) struct EventTooLong {
    pub(crate) limit: usize,
}

/// Reads events from a stream.
#[derive(Debug)]
pub(crate) struct SseParser {
    /// The most bytes of data in an event.
    limit: usize,
    /// The bytes of a byte order mark at the beginning of the stream that have arrived; `None` after the beginning.
    mark: Option<usize>,
    /// The last line ended with a carriage return, so a line feed belongs to it.
    after_return: bool,
    line: Line,
    data: Vec<u8>,
    /// There was a line of data in the event.
    has_data: bool,
    /// Everything of the event but its data.
    event: Event,
    /// The event has no fields that mean something.
    is_empty: bool,
}

/// The part of a line that has arrived.
#[derive(Debug)]
enum Line {
    /// Too little to know the field.
    Name(Vec<u8>),
    /// The value goes to the data of the event.
    Data { is_at_start: bool },
    /// A field that is short.
    Value { field: Field, value: Vec<u8> },
    /// A comment, or a field without a meaning.
    Ignored,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Event,
    Id,
    Retry,
}

impl SseParser {
    /// Reads events of at most `limit` bytes of data.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            mark: Some(0),
            after_return: false,
            line: Line::Name(Vec::new()),
            data: Vec::new(),
            has_data: false,
            event: Event::default(),
            is_empty: true,
        }
    }

    /// Reads up to the end of the next event, and advances `input`. `None`: all input is used.
    pub(crate) fn next(&mut self, input: &mut &[u8]) -> Result<Option<Event>, EventTooLong> {
        self.skip_mark(input)?;
        while let Some(first) = input.first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                *input = &input[1..];
                continue;
            }
            let Some(end) = memchr2(b'\r', b'\n', input) else {
                self.extend(input)?;
                *input = &[];
                break;
            };
            self.extend(&input[..end])?;
            self.after_return = input[end] == b'\r';
            *input = &input[end + 1..];
            if let Some(event) = self.end_line()? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// The bytes of data of the unfinished event.
    pub(crate) fn held(&self) -> usize {
        self.data.len()
    }

    /// True if the end of the stream would cut an event.
    pub(crate) fn is_inside(&self) -> bool {
        !self.is_empty
    }

    fn skip_mark(&mut self, input: &mut &[u8]) -> Result<(), EventTooLong> {
        while let (Some(seen), Some(byte)) = (self.mark, input.first()) {
            if BYTE_ORDER_MARK.get(seen) == Some(byte) {
                *input = &input[1..];
                self.mark = Some(seen + 1).filter(|seen| *seen < BYTE_ORDER_MARK.len());
            } else {
                self.mark = None;
                self.extend(&BYTE_ORDER_MARK[..seen])?;
            }
        }
        Ok(())
    }

    /// Adds a piece of a line, without its end.
    fn extend(&mut self, mut piece: &[u8]) -> Result<(), EventTooLong> {
        if let Line::Name(name) = &mut self.line {
            while let Some((byte, rest)) = piece.split_first() {
                name.push(*byte);
                piece = rest;
                if *byte == b':' || name.len() >= MAX_NAME {
                    self.line = Line::of(name);
                    self.begin_data()?;
                    break;
                }
            }
        }
        match &mut self.line {
            Line::Name(_) | Line::Ignored => {}
            Line::Data { is_at_start } => {
                if !piece.is_empty() && std::mem::take(is_at_start) && piece[0] == b' ' {
                    piece = &piece[1..];
                }
                if self.data.len() + piece.len() > self.limit {
                    return Err(EventTooLong { limit: self.limit });
                }
                self.data.extend_from_slice(piece);
            }
            // The value can follow a blank. One byte more than the most shows that it is too long.
            Line::Value { value, .. } => {
                let room = (MAX_VALUE + 2).saturating_sub(value.len());
                value.extend_from_slice(&piece[..piece.len().min(room)]);
            }
        }
        Ok(())
    }

    /// Joins a line of data with the one before.
    fn begin_data(&mut self) -> Result<(), EventTooLong> {
        if !matches!(self.line, Line::Data { .. }) {
            return Ok(());
        }
        if std::mem::replace(&mut self.has_data, true) {
            if self.data.len() >= self.limit {
                return Err(EventTooLong { limit: self.limit });
            }
            self.data.push(b'\n');
        }
        self.is_empty = false;
        Ok(())
    }

    /// Ends a line. An empty line ends the event.
    fn end_line(&mut self) -> Result<Option<Event>, EventTooLong> {
        if let Line::Name(name) = &mut self.line {
            if name.is_empty() {
                return Ok(self.end_event());
            }
            // A field without a colon has an empty value.
            name.push(b':');
            self.line = Line::of(name);
            self.begin_data()?;
        }
        if let Line::Value { field, value } = std::mem::replace(&mut self.line, Line::Name(Vec::new())) {
            self.set(field, value.strip_prefix(b" ").unwrap_or(&value));
        }
        Ok(None)
    }

    fn set(&mut self, field: Field, value: &[u8]) {
        match field {
            Field::Event => {
                self.event.kind = match value {
                    b"" | b"message" => EventKind::Message,
                    b"endpoint" => EventKind::Endpoint,
                    _ => EventKind::Other,
                };
            }
            Field::Id if value.contains(&0) => return,
            Field::Id => {
                let id = std::str::from_utf8(value).ok().filter(|id| id.len() <= MAX_VALUE);
                self.event.id = Some(id.unwrap_or_default().into());
            }
            Field::Retry => {
                let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
                let number = std::str::from_utf8(value).ok().filter(|_| is_number);
                // A number that is too large means a delay beyond every limit.
                let Some(number) = number else { return };
                self.event.retry = Some(Duration::from_millis(number.parse().unwrap_or(u64::MAX)));
            }
        }
        self.is_empty = false;
    }

    fn end_event(&mut self) -> Option<Event> {
        if std::mem::replace(&mut self.is_empty, true) {
            return None;
        }
        let data = std::mem::take(&mut self.data).into();
        self.has_data = false;
        Some(Event { data, ..std::mem::take(&mut self.event) })
    }
}

impl Line {
    /// The line that begins like this, after a colon or [`MAX_NAME`] bytes.
    fn of(start: &[u8]) -> Self {
        let value = |field| Self::Value { field, value: Vec::new() };
        match start {
            b"data:" => Self::Data { is_at_start: true },
            b"event:" => value(Field::Event),
            b"id:" => value(Field::Id),
            b"retry:" => value(Field::Retry),
            _ => Self::Ignored,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The events of a text that arrives in these pieces.
    fn events(pieces: &[&[u8]]) -> Vec<Event> {
        let mut parser = SseParser::new(1000);
        let mut events = Vec::new();
        for mut piece in pieces.iter().copied() {
            while let Some(event) = parser.next(&mut piece).unwrap() {
                events.push(event);
            }
            assert!(piece.is_empty());
        }
        events
    }

    fn data(text: &str) -> Vec<String> {
        let text_of = |event: &Event| String::from_utf8(event.data.to_vec()).unwrap();
        events(&[text.as_bytes()]).iter().map(text_of).collect()
    }

    #[test]
    fn lines_end_in_three_ways_in_any_mix() {
        for text in ["data: a\n\n", "data: a\r\r", "data: a\r\n\r\n", "data: a\r\n\n", "data: a\n\r", "data:a\r\r\n"] {
            assert_eq!(data(&format!("{text}data: b\n\n")), ["a", "b"], "{text:?}");
        }
    }

    #[test]
    fn data_is_joined_and_the_rest_is_ignored() {
        for (text, expected) in [
            ("data: a\ndata: b\n\n", &["a\nb"][..]),
            ("data: a\ndata:\ndata\ndata:  b\n\n", &["a\n\n\n b"]),
            (": note\ndata: a\n:\n: x\n\n", &["a"]),
            (": note\n\n:\n\n\n\n", &[]),
            ("other: x\ndatas: x\ndat: x\n data: x\nDATA: x\n\n", &[]),
            ("data: a\n", &[]),
            ("data\n\n", &[""]),
            ("\u{feff}data: a\n\n", &["a"]),
            ("\u{feff}\u{feff}data: a\n\ndata: b\n\n", &["b"]),
            ("\n\ndata: {\"a\":\"ü\"}\n\n", &["{\"a\":\"ü\"}"]),
        ] {
            assert_eq!(data(text), expected, "{text:?}");
        }
    }

    #[test]
    fn fields_are_read_by_their_rules() {
        let one = |text: &str| events(&[format!("{text}data: x\n\n").as_bytes()]).remove(0);
        let long = "x".repeat(MAX_VALUE + 1);
        for (text, id) in [
            ("", None),
            ("id: 7\n", Some("7")),
            ("id:7 \n", Some("7 ")),
            ("id: a\nid: b\n", Some("b")),
            ("id\n", Some("")),
            ("id: a\0b\n", None),
            (&format!("id: {}\n", &long[1..]), Some(&long[1..])),
            (&format!("id: {long}\n"), Some("")),
        ] {
            assert_eq!(one(text).id.as_deref(), id);
        }
        for (text, retry) in [
            ("retry: 500\n", Some(500)),
            ("retry:0\n", Some(0)),
            ("retry: -1\n", None),
            ("retry: 1.5\n", None),
            ("retry: +5\n", None),
            ("retry:\n", None),
            ("retry: 99999999999999999999999\n", Some(u64::MAX)),
        ] {
            assert_eq!(one(text).retry, retry.map(Duration::from_millis), "{text}");
        }
        for (text, kind) in [
            ("event: message\n", EventKind::Message),
            ("event\n", EventKind::Message),
            ("event: endpoint\n", EventKind::Endpoint),
            ("event: ping\n", EventKind::Other),
        ] {
            assert_eq!(one(text).kind, kind);
        }
    }

    #[test]
    fn an_event_without_data_moves_the_position() {
        let found = events(&[b"id: 1-0\nretry: 500\ndata: \n\nid: 1-1\n\ndata: x\n\n"]);
        let ids: Vec<_> = found.iter().map(|event| (event.id.as_deref(), event.data.is_empty())).collect();
        assert_eq!(ids, [(Some("1-0"), true), (Some("1-1"), true), (None, false)]);
    }

    #[test]
    fn an_event_is_bounded_and_other_lines_keep_nothing() {
        let endless = vec![b'x'; 100_000];
        for start in ["data: ", "data: a\ndata: b\ndata:"] {
            let mut parser = SseParser::new(1000);
            assert_eq!(parser.next(&mut start.as_bytes()), Ok(None));
            assert_eq!(parser.next(&mut &endless[..]), Err(EventTooLong { limit: 1000 }));
        }
        let mut parser = SseParser::new(1000);
        assert_eq!(parser.next(&mut &b"data\n".repeat(2000)[..]), Err(EventTooLong { limit: 1000 }));
        for start in [": ", "other: ", "id: ", "retry: ", "x"] {
            let mut parser = SseParser::new(1000);
            assert_eq!(parser.next(&mut start.as_bytes()), Ok(None));
            for _ in 0..100 {
                assert_eq!(parser.next(&mut &endless[..]), Ok(None));
            }
            let kept = match &parser.line {
                Line::Name(kept) | Line::Value { value: kept, .. } => kept.len(),
                Line::Data { .. } | Line::Ignored => 0,
            };
            assert!(kept <= MAX_VALUE + 2 && parser.held() == 0, "{start}");
        }
        let exact = format!("data: {}\n\n", "x".repeat(1000));
        assert_eq!(data(&exact)[0].len(), 1000);
    }

    proptest! {
        #[test]
        fn the_pieces_make_no_difference(
            lines in prop::collection::vec(
                prop::sample::select(vec![
                    "", "", "", "data: {\"a\":1}", "data: ü€😀", "data", "data:", "id: 1-2", "id", "retry: 50", "retry: x",
                    "event: endpoint", "event:", ": note", ":", "other: x", "dat", "eventful: x", "\u{feff}data: y",
                ]),
                0..20,
            ),
            ends in prop::collection::vec(prop::sample::select(vec!["\n", "\r", "\r\n"]), 20),
            cuts in prop::collection::vec(0usize..400, 0..12),
        ) {
            let text: String = lines.iter().zip(&ends).flat_map(|(line, end)| [*line, *end]).collect();
            let text = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
            let bytes: Vec<&[u8]> = text.chunks(1).collect();
            let whole = events(&[text]);
            prop_assert_eq!(&events(&pieces), &whole);
            prop_assert_eq!(&events(&bytes), &whole);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut parser = SseParser::new(100);
            let mut input = &bytes[..];
            while let Ok(Some(_)) = parser.next(&mut input) {}
        }
    }
}
