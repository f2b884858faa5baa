//! Cuts lines out of a stream of bytes.

use std::fmt;
use std::sync::Arc;

use bytes::{Buf, BytesMut};
use memchr::memchr;
use protomcp_types::{BYTE_ORDER_MARK, Incoming, Malformed, code, without_byte_order_mark};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::lines::long_line::LongLine;
use crate::transport::{Received, Source, TransportError};

/// The least that is read in one read. Lines share the buffer they were read into, so a slow call keeps this much.
const CHUNK: usize = 16 * 1024;

/// The most bytes of a line of other text that are passed on.
const MAX_OTHER_TEXT: usize = 16 * 1024;

/// A line of this size is worth a copy of what was read behind it.
const LONG: usize = 64 * 1024;

/// The reading half of [`super::Lines`].
#[derive(Debug)]
pub struct LinesSource<R> {
    reader: R,
    buffer: BytesMut,
    /// The bytes of the buffer that are known to hold no line feed.
    searched: usize,
    max_line: usize,
    /// The setting of `max_line`.
    max_line_name: Option<&'static str>,
    /// Gets lines that are not messages, and not meant to be.
    other_text: Option<OtherText>,
    /// The length of the last line that was returned.
    line_len: usize,
    /// The line that is too long, inside of which the next byte is.
    long: Option<Long>,
    /// Behind the header of a frame as editors send them. Only hosts do: with a handler for other text it is `None`.
    frame: Option<Frame>,
    ended: bool,
    /// True once the beginning of the stream is read, where a byte order mark may be.
    begun: bool,
}

/// A line that is too long.
#[derive(Debug)]
enum Long {
    /// The request that it is about is not known yet.
    Unknown(LongLine),
    Refused,
}

/// The place in a frame with headers. MCP has lines; some hosts try such frames if a server is slow to answer.
#[derive(Debug, Clone, Copy)]
enum Frame {
    /// Among the headers before a body of this many bytes.
    Headers(usize),
    /// Before the body.
    Body(usize),
}

impl<R> LinesSource<R> {
    pub(super) fn new(reader: R, max_line: usize) -> Self {
        Self {
            reader,
            buffer: BytesMut::new(),
            searched: 0,
            max_line,
            max_line_name: None,
            other_text: None,
            line_len: 0,
            long: None,
            frame: None,
            ended: false,
            begun: false,
        }
    }

    pub(super) fn set_max_line(&mut self, max_line: usize) {
        self.max_line = max_line;
    }

    pub(super) fn set_max_line_name(&mut self, name: &'static str) {
        self.max_line_name = Some(name);
    }

    pub(super) fn set_other_text(&mut self, handler: OtherText) {
        self.other_text = Some(handler);
    }

    /// Skips a byte order mark at the beginning of the stream. `None` if the rest of it may still arrive.
    fn begin(&mut self) -> Option<()> {
        let has_part = self.buffer.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(&self.buffer);
        if has_part && !self.ended {
            return None;
        }
        let mark = self.buffer.len() - without_byte_order_mark(&self.buffer).len();
        self.buffer.advance(mark);
        self.begun = true;
        Some(())
    }

    /// The next line that the buffer holds whole, and is not blank.
    fn line(&mut self) -> Option<Received> {
        if !self.begun {
            self.begin()?;
        }
        loop {
            if let Some(Frame::Body(length)) = self.frame {
                if self.buffer.len() < length && !self.ended {
                    return None;
                }
                self.frame = None;
                let body = self.buffer.split_to(length.min(self.buffer.len())).freeze();
                self.line_len = body.len();
                return Some(Incoming::parse(&body.slice_ref(without_byte_order_mark(&body))));
            }
            let end = memchr(b'\n', &self.buffer[self.searched..]).map(|at| self.searched + at);
            let line = match end {
                Some(end) => {
                    let line = self.buffer.split_to(end);
                    self.buffer.advance(1);
                    line
                }
                None if self.ended => self.buffer.split(),
                None => {
                    self.searched = self.buffer.len();
                    return self.too_long();
                }
            };
            self.searched = 0;
            let long = match self.long.take() {
                Some(Long::Refused) => continue,
                Some(Long::Unknown(long)) => Some(long),
                None => (line.len() > self.max_line).then(LongLine::default),
            };
            if let Some(mut long) = long {
                long.read(&line);
                return Some(Err(self.refusal(&long)));
            }
            if line.len() >= LONG && self.buffer.len() <= line.len() {
                // Otherwise the rest would keep the memory of the long line for as long as the client is silent.
                self.buffer = BytesMut::from(&self.buffer[..]);
            }
            self.line_len = line.len();
            let blank = line.iter().all(u8::is_ascii_whitespace);
            // A server sends no frames, but its tool may print the head of a response.
            let framed = content_length(&line).filter(|length| self.other_text.is_none() && *length <= self.max_line);
            match (self.frame, framed) {
                (_, Some(length)) => self.frame = Some(Frame::Headers(length)),
                (Some(Frame::Headers(length)), _) if blank => self.frame = Some(Frame::Body(length)),
                // Another header.
                (Some(_), _) if !is_meant_as_message(&line) => {}
                (None, _) if blank => {}
                (_, _) => {
                    self.frame = None;
                    let line = line.freeze();
                    let received = Incoming::parse(&line);
                    match &self.other_text {
                        Some(other_text) if received.is_err() && !is_meant_as_message(&line) => other_text.line(&line),
                        _ => return Some(received.map_err(|malformed| with_answered(malformed, &line))),
                    }
                }
            }
            end?;
        }
    }

    /// Gives up a line that is already too long, with bounded memory: what was read of it is dropped immediately. It is
    /// refused when its request is known.
    fn too_long(&mut self) -> Option<Received> {
        let mut long = match self.long.take() {
            None if self.buffer.len() <= self.max_line => return None,
            None => LongLine::default(),
            Some(Long::Unknown(long)) => long,
            Some(Long::Refused) => {
                self.long = Some(Long::Refused);
                self.forget();
                return None;
            }
        };
        long.read(&self.buffer);
        self.forget();
        let refusal = long.is_known().then(|| Err(self.refusal(&long)));
        self.long = Some(if refusal.is_some() { Long::Refused } else { Long::Unknown(long) });
        refusal
    }

    fn forget(&mut self) {
        // A new buffer, as the old one may be as big as a line can be.
        self.buffer = BytesMut::new();
        self.searched = 0;
    }

    fn refusal(&self, long: &LongLine) -> Malformed {
        let name = self.max_line_name.map(|name| format!("; raise {name}")).unwrap_or_default();
        let (id, answers) = long.ids();
        let why = format!("a line is longer than {} bytes{name}", self.max_line);
        Malformed { id, answers, ..Malformed::invalid(None, why) }
    }
}

/// The same with the request that the line answers, if it is not JSON: some programs write `NaN`, tabs inside of texts, or
/// another encoding. The request fails instead of waiting for another answer.
fn with_answered(malformed: Malformed, line: &[u8]) -> Malformed {
    if malformed.error.code != code::PARSE_ERROR {
        return malformed;
    }
    let mut unreadable = LongLine::default();
    unreadable.read(line);
    Malformed { answers: unreadable.answers(), ..malformed }
}

/// Gets lines of text between messages.
#[derive(Clone)]
pub(super) struct OtherText(Arc<dyn Fn(&str) + Send + Sync>);

impl OtherText {
    pub(super) fn new(handler: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(handler))
    }

    fn line(&self, line: &[u8]) {
        let line = String::from_utf8_lossy(&line[..line.len().min(MAX_OTHER_TEXT)]);
        (self.0)(line.trim_end());
    }
}

impl fmt::Debug for OtherText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtherText").finish_non_exhaustive()
    }
}

/// True for a line that begins as a message or a batch does. Lines of logs may begin with a bracket, too.
fn is_meant_as_message(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    line.starts_with(b"{") || line.strip_prefix(b"[").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"{"))
}

/// The length in a header `Content-Length`, in any spelling.
fn content_length(line: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"content-length:";
    let value = line.get(NAME.len()..).filter(|_| line[..NAME.len()].eq_ignore_ascii_case(NAME))?;
    std::str::from_utf8(value).ok()?.trim().parse().ok()
}

impl<R: AsyncRead + Unpin + Send + 'static> Source for LinesSource<R> {
    async fn next(&mut self) -> Result<Option<Received>, TransportError> {
        loop {
            if let Some(received) = self.line() {
                return Ok(Some(received));
            }
            if self.ended {
                return Ok(None);
            }
            if self.buffer.capacity() - self.buffer.len() < CHUNK / 4 {
                // A long line doubles its buffer each time, so that it is copied once on average.
                self.buffer.reserve(self.buffer.len().max(CHUNK));
            }
            // `read_buf` is cancel safe: either it has read and returns, or it has done nothing.
            self.ended = self.reader.read_buf(&mut self.buffer).await? == 0;
        }
    }

    fn text_len(&self) -> usize {
        self.line_len
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    #[tokio::test]
    async fn headers_of_other_frames_are_skipped() {
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let framed = format!("Content-Length: {}\r\n\r\n{ping}", ping.len());
        let typed = format!("content-length:{}\r\nContent-Type: application/json\r\n\r\n{ping}\n", ping.len());
        let long = "Content-Length: 2000\r\n\r\n";
        let mut source = LinesSource::new(std::io::Cursor::new(format!("{framed}{typed}{ping}\n{framed}{long}")), 1000);
        for _ in 0..4 {
            assert!(matches!(source.next().await, Ok(Some(Ok(Incoming::One(_))))));
        }
        assert!(matches!(source.next().await, Ok(Some(Err(_)))), "a body above the limit is not waited for");
        assert!(matches!(source.next().await, Ok(None)));
        let mut cut = LinesSource::new(std::io::Cursor::new(framed.as_bytes()[..framed.len() - 1].to_vec()), 1000);
        assert!(matches!(cut.next().await, Ok(Some(Err(_)))));
        assert!(matches!(cut.next().await, Ok(None)));
        let text = format!("Content-Length: 9\r\nX-Other: 1\r\n{ping}\n{ping}\n");
        let mut source = LinesSource::new(std::io::Cursor::new(text), 1000);
        for _ in 0..2 {
            assert!(matches!(source.next().await, Ok(Some(Ok(Incoming::One(_))))), "a message ends the headers");
        }
        assert!(matches!(source.next().await, Ok(None)));
    }

    #[tokio::test]
    async fn a_byte_order_mark_is_skipped_where_a_text_begins() {
        const MARK: &str = "\u{feff}";
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let body = format!("{MARK}Content-Length: {}\r\n\r\n{MARK}{ping}{ping}\n", ping.len() + MARK.len());
        for (text, expected) in [
            (format!("{MARK}{ping}\n{ping}\n"), vec![true, true]),
            (format!("{MARK}\n{ping}"), vec![true]),
            (body, vec![true, true]),
            (format!("{MARK}{MARK}{ping}\n{MARK}{ping}\n"), vec![false, false]),
            (MARK.to_owned(), vec![]),
            ("\u{f000}\n".to_owned(), vec![false]),
        ] {
            // Byte by byte, and all together.
            for size in [1, text.len()] {
                let (mut sender, receiver) = tokio::io::duplex(size);
                let bytes = text.clone().into_bytes();
                let sending = tokio::spawn(async move { sender.write_all(&bytes).await });
                let mut source = LinesSource::new(receiver, 1000);
                let mut seen = Vec::new();
                while let Some(received) = source.next().await.expect("the text can be read") {
                    seen.push(received.is_ok());
                }
                assert_eq!(seen, expected, "{text:?} in pieces of {size}");
                sending.await.expect("it does not panic").expect("all is read");
            }
        }
        let mut cut = LinesSource::new(&b"\xef\xbb"[..], 1000);
        assert!(matches!(cut.next().await, Ok(Some(Err(_)))));
    }

    #[tokio::test]
    async fn a_long_line_does_not_keep_its_memory() {
        let text = format!("\"{}\"\n\"behind", "x".repeat(1_000_000));
        let mut source = LinesSource::new(std::io::Cursor::new(text), 2_000_000);
        assert!(matches!(source.next().await, Ok(Some(Err(_)))));
        assert_eq!(&source.buffer[..], b"\"behind");
        assert!(source.buffer.capacity() < LONG);
        assert!(matches!(source.next().await, Ok(Some(Err(_)))));
        assert!(matches!(source.next().await, Ok(None)));
    }

    #[tokio::test]
    async fn text_between_messages_goes_to_its_handler() {
        let text = "Loading\r\n[INFO] ready\n{\"a\":\n[ {\n\n5\n{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\nno \u{ff} end";
        let mut source = LinesSource::new(text.as_bytes(), 100);
        let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
        let hears = Arc::clone(&heard);
        source.set_other_text(OtherText::new(move |line| hears.lock().unwrap().push(line.to_owned())));
        let mut messages = Vec::new();
        while let Some(received) = source.next().await.unwrap() {
            messages.push(received.is_ok());
        }
        assert_eq!(messages, [false, false, true], "broken messages are errors");
        assert_eq!(*heard.lock().unwrap(), ["Loading", "[INFO] ready", "5", "no \u{ff} end"]);
        heard.lock().unwrap().clear();
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let framed = format!("Content-Length: 40\r\n\r\n{ping}\nContent-Length: 9\n{ping}\n");
        let mut source = LinesSource::new(std::io::Cursor::new(framed), 100);
        let hears = Arc::clone(&heard);
        source.set_other_text(OtherText::new(move |line| hears.lock().unwrap().push(line.to_owned())));
        for _ in 0..2 {
            assert!(matches!(source.next().await, Ok(Some(Ok(Incoming::One(_))))), "headers are other text");
        }
        assert!(matches!(source.next().await, Ok(None)));
        assert_eq!(*heard.lock().unwrap(), ["Content-Length: 40", "Content-Length: 9"]);
        let long = format!("{}\n", "x".repeat(101));
        let mut source = LinesSource::new(std::io::Cursor::new(long), 100);
        source.set_max_line_name("--long");
        let Some(Err(malformed)) = source.next().await.unwrap() else { panic!("it is too long") };
        assert!(malformed.error.message.ends_with("longer than 100 bytes; raise --long"));
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_has_the_id_of_its_request() {
        let long = "x".repeat(100);
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        for (line, request, answer) in [
            (format!(r#"{{"jsonrpc":"2.0","id":5,"method":"{long}"}}"#), Some("5"), None),
            (format!(r#"{{"result":{{"a":"{long}"}},"jsonrpc":"2.0","id":"a"}}"#), None, Some("\"a\"")),
            (long.clone(), None, None),
        ] {
            let id = |text: Option<&str>| text.and_then(protomcp_types::RequestId::parse);
            let text = format!("{line}\n{ping}\n{line}");
            for size in [1, 90, text.len()] {
                let (mut sender, receiver) = tokio::io::duplex(size);
                let bytes = text.clone().into_bytes();
                let sending = tokio::spawn(async move { sender.write_all(&bytes).await });
                let mut source = LinesSource::new(receiver, 90);
                for is_long in [true, false, true] {
                    match source.next().await.unwrap().expect("a message") {
                        Ok(_) => assert!(!is_long),
                        Err(refused) => assert_eq!((refused.id, refused.answers), (id(request), id(answer)), "{line}"),
                    }
                }
                assert!(source.next().await.unwrap().is_none());
                sending.await.unwrap().unwrap();
            }
        }
    }

    #[tokio::test]
    async fn an_answer_that_is_not_json_has_the_id_of_its_request() {
        let text = "{\"id\":5,\"result\":{\"a\":NaN}}\n{\"result\":\"a\tb\",\"id\":\"c\"}\n{\"id\":5,\"method\":\"a\tb\"}\n\
                    {\"id\":5,\"level\":\"info\n{\"id\":5,\"error\":\"\u{ff}\"}\n";
        let text: Vec<u8> = text.chars().map(|letter| letter as u8).collect();
        let mut source = LinesSource::new(std::io::Cursor::new(text), 1000);
        for answers in [Some("5"), Some("\"c\""), None, None, Some("5")] {
            let Some(Err(malformed)) = source.next().await.unwrap() else { panic!("it is not JSON") };
            assert_eq!((malformed.error.code, malformed.id), (code::PARSE_ERROR, None));
            assert_eq!(malformed.answers, answers.and_then(protomcp_types::RequestId::parse), "{answers:?}");
        }
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_not_kept() {
        let mut source = LinesSource::new(tokio::io::repeat(b'x'), 100_000);
        assert!(matches!(source.next().await, Ok(Some(Err(_)))));
        let skipping = tokio::time::timeout(std::time::Duration::from_millis(20), source.next());
        assert!(skipping.await.is_err(), "the line has no end");
        assert!(source.buffer.capacity() <= 4 * CHUNK);
    }
}
