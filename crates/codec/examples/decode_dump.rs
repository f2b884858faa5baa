//! Prints what a captured link stream holds, one line per frame.
//!
//! Capture one direction of a link, for instance with `socat -r dump …`, then run
//! `cargo run -p protomcp-codec --example decode_dump -- dump`.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::{
    env,
    error::Error,
    fs::File,
    io::{self, Read, Write},
    process::ExitCode,
};

use bytes::BytesMut;
use protomcp_codec::{Decoder, Frame, Limits, TooLargeKind};

const HELP: &str = "\
Prints what a captured link stream holds, one line per frame.

Usage: decode_dump [--full] [FILE]

  FILE    the bytes that one side wrote; standard input when absent or -
  --full  print messages and payloads whole instead of their first 100 characters
  --help  print this

Each line says where the frame begins (its offset in bytes), which message it is, its request id and its content. A
frame that cannot be understood is reported and skipped. Exits with 1 when the stream breaks off or cannot be followed,
with 2 when it cannot be read.";

fn main() -> ExitCode {
    let (mut full, mut file) = (false, None);
    for argument in env::args().skip(1) {
        match argument.as_str() {
            "--help" | "-h" => {
                println!("{HELP}");
                return ExitCode::SUCCESS;
            }
            "--full" => full = true,
            flag if flag.starts_with("--") => {
                eprintln!("decode_dump: there is no {flag}; try --help");
                return ExitCode::from(2);
            }
            name => file = Some(name.to_owned()),
        }
    }
    let input: Box<dyn Read> = match file.as_deref() {
        None | Some("-") => Box::new(io::stdin().lock()),
        Some(name) => match File::open(name) {
            Ok(file) => Box::new(file),
            Err(error) => {
                eprintln!("decode_dump: {name}: {error}");
                return ExitCode::from(2);
            }
        },
    };
    match dump(input, &mut io::stdout().lock(), full) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        // The reader of our output may stop early, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("decode_dump: {error}");
            ExitCode::from(2)
        }
    }
}

/// True if the whole stream was decoded.
fn dump(mut input: impl Read, out: &mut impl Write, full: bool) -> io::Result<bool> {
    let limits = Limits::default();
    let mut decoder = Decoder::new(limits.clone());
    let (mut src, mut chunk, mut read, mut offset) = (BytesMut::new(), vec![0; 64 << 10], 0, 0);
    loop {
        match decoder.decode(&mut src) {
            Ok(Some(frame)) => {
                let line = describe(frame, &limits);
                writeln!(out, "{offset:>10}  {}", if full { line.as_str() } else { shorten(&line) })?;
                offset = read - src.len();
            }
            Ok(None) => {
                let size = input.read(&mut chunk)?;
                if size == 0 {
                    break;
                }
                read += size;
                src.reserve(size.max(decoder.want()));
                src.extend_from_slice(&chunk[..size]);
            }
            Err(error) => {
                let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
                writeln!(out, "{offset:>10}  broken: {error}{cause}")?;
                if error.is_fatal() {
                    return Ok(false);
                }
                offset = read - src.len();
            }
        }
    }
    if decoder.empty_frames() > 0 {
        writeln!(out, "{} frames of length zero", decoder.empty_frames())?;
    }
    // Between frames it wants the four bytes of a length.
    let complete = src.is_empty() && decoder.want() == 4;
    if !complete {
        writeln!(out, "the stream ends inside a frame; {} bytes of it are there", src.len())?;
    }
    Ok(complete)
}

fn describe(frame: Frame, limits: &Limits) -> String {
    match frame {
        Frame::Envelope(envelope) => {
            let content = envelope.msg.as_ref().map(|msg| format!("{msg:?}")).unwrap_or_default();
            format!("{} {:?} {content}", envelope.name(), envelope.request_id)
        }
        Frame::Raw(raw) => {
            let header = raw.header.clone();
            let head = format!("raw {} {:?} {} bytes", raw.field(), header.request_id, header.size);
            match raw.inflate(limits) {
                Ok(text) => format!("{head}, {} inflated: {}", text.len(), String::from_utf8_lossy(&text)),
                Err(error) => format!("{head}: {error}"),
            }
        }
        Frame::TooLarge(frame) => {
            let what = match frame.kind {
                TooLargeKind::Envelope => "envelope",
                TooLargeKind::Payload => "payload",
            };
            format!("{what} {:?} of {} bytes, too large to be shown", frame.request_id, frame.size)
        }
    }
}

fn shorten(line: &str) -> &str {
    line.char_indices().nth(100).map_or(line, |(at, _)| &line[..at])
}
