//! The tool process behind the relay: it answers lines of JSON on a unix socket with as little work as possible.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

const ECHO: &[u8] = br#","result":{"content":[{"type":"text","text":"some words that make this call about as long as calls usually are, a few hundred bytes"}],"isError":false}}"#;

fn main() -> io::Result<()> {
    let path = std::env::var_os("PLAIN_SOCKET").ok_or_else(|| io::Error::other("PLAIN_SOCKET is not set"))?;
    let mut socket = UnixStream::connect(path)?;
    let (mut pending, mut room, mut answers) = (Vec::new(), vec![0; 64 << 10], Vec::new());
    loop {
        let count = socket.read(&mut room)?;
        if count == 0 {
            return Ok(());
        }
        pending.extend_from_slice(&room[..count]);
        let mut start = 0;
        while let Some(length) = pending[start..].iter().position(|byte| *byte == b'\n') {
            answer(&pending[start..start + length], &mut answers);
            start += length + 1;
        }
        pending.drain(..start);
        socket.write_all(&answers)?;
        answers.clear();
    }
}

/// Answers a line that has an id. The id is copied verbatim from behind `"id":`; the rest of the line is ignored.
fn answer(line: &[u8], answers: &mut Vec<u8>) {
    let Some(id) = after(line, br#""id":"#) else { return };
    answers.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    answers.extend_from_slice(&id[..id.iter().position(|byte| *byte == b',').unwrap_or(id.len())]);
    match after(line, br#""size":"#) {
        Some(size) => {
            let digits = size.iter().take_while(|byte| byte.is_ascii_digit());
            let size = digits.fold(0, |number, digit| number * 10 + usize::from(digit - b'0'));
            answers.extend_from_slice(br#","result":{"content":[{"type":"text","text":""#);
            answers.resize(answers.len() + size, b'x');
            answers.extend_from_slice(br#""}]}}"#);
        }
        None => answers.extend_from_slice(ECHO),
    }
    answers.push(b'\n');
}

fn after<'a>(line: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let at = line.windows(key.len()).position(|window| window == key)?;
    Some(&line[at + key.len()..])
}
