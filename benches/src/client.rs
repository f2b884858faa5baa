//! A cheap client: blocking pipes, requests from a template, answers counted by their newlines. Measurements of servers
//! must not contain the work of `protomcp-client`, which parses every answer.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A running server and its session.
#[derive(Debug)]
pub struct Client {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    buffer: Vec<u8>,
    next_id: u64,
    started: Instant,
}

impl Client {
    /// Starts the server.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let started = Instant::now();
        let mut child = command.spawn()?;
        let missing = || io::Error::other("both streams are to be piped");
        let (stdin, stdout) = (child.stdin.take().ok_or_else(missing)?, child.stdout.take().ok_or_else(missing)?);
        Ok(Self { child, stdin, stdout, buffer: vec![0; 256 << 10], next_id: 1, started })
    }

    /// The process id of the server.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The moment before its start.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Initializes the session and lists the tools; returns the time since the start of the program.
    ///
    /// # Errors
    ///
    /// If the server closes its output.
    pub fn handshake(&mut self) -> io::Result<Duration> {
        let lines = concat!(
            r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
            "\n",
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":"l","method":"tools/list"}"#,
            "\n"
        );
        self.stdin.write_all(lines.as_bytes())?;
        self.answers(2)?;
        Ok(self.started.elapsed())
    }

    /// Calls `echo` this many times, one after the other, and returns the duration of each call.
    ///
    /// # Errors
    ///
    /// If the server closes its output.
    pub fn one_at_a_time(&mut self, calls: usize) -> io::Result<Vec<Duration>> {
        let mut line = String::new();
        (0..calls)
            .map(|_| {
                line.clear();
                self.push_call(&mut line);
                let start = Instant::now();
                self.stdin.write_all(line.as_bytes())?;
                self.answers(1)?;
                Ok(start.elapsed())
            })
            .collect()
    }

    /// Calls `echo` this many times with `width` calls in flight, and returns the duration of each call. Answers are
    /// not parsed: the nth one is taken for the answer to the nth call, which changes no mean.
    ///
    /// # Errors
    ///
    /// If the server closes its output.
    pub fn many_in_flight(&mut self, calls: usize, width: usize) -> io::Result<Vec<Duration>> {
        let (mut samples, mut waiting) = (Vec::with_capacity(calls), VecDeque::with_capacity(width));
        let mut lines = String::new();
        while samples.len() < calls {
            lines.clear();
            let room = (calls - samples.len()).min(width) - waiting.len();
            (0..room).for_each(|_| self.push_call(&mut lines));
            waiting.resize(waiting.len() + room, Instant::now());
            self.stdin.write_all(lines.as_bytes())?;
            let answered = self.read()?.min(waiting.len());
            let now = Instant::now();
            samples.extend(waiting.drain(..answered).map(|sent| now.saturating_duration_since(sent)));
        }
        Ok(samples)
    }

    /// Lists the tools, page after page; returns their number.
    ///
    /// # Errors
    ///
    /// If the server closes its output.
    pub fn list(&mut self) -> io::Result<usize> {
        let (mut tools, mut params) = (0, String::new());
        loop {
            let line = format!(r#"{{"jsonrpc":"2.0","id":"p","method":"tools/list","params":{{{params}}}}}"#);
            self.stdin.write_all(format!("{line}\n").as_bytes())?;
            let page = self.line()?;
            tools += page.matches(r#""inputSchema""#).count();
            let Some((_, rest)) = page.split_once(r#""nextCursor":""#) else { return Ok(tools) };
            let cursor = rest.split('"').next().unwrap_or_default();
            params = format!(r#""cursor":"{cursor}""#);
        }
    }

    /// Sends this many calls of `large` without waiting for answers.
    ///
    /// # Errors
    ///
    /// If the server closes its output.
    pub fn send_calls(&mut self, calls: usize) -> io::Result<()> {
        let line = |id| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"large","arguments":{{}}}}}}"#
            ) + "\n"
        };
        self.stdin.write_all((0..calls).map(line).collect::<String>().as_bytes())
    }

    /// Requests a result of `size` bytes; returns the duration and the number of bytes received.
    ///
    /// # Errors
    ///
    /// If the server closes its output.
    pub fn large(&mut self, size: usize) -> io::Result<(Duration, usize)> {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":"large","method":"tools/call","params":{{"name":"large","arguments":{{"size":{size}}}}}}}"#
        );
        let start = Instant::now();
        self.stdin.write_all(format!("{line}\n").as_bytes())?;
        let mut bytes = 0;
        loop {
            let count = self.stdout.read(&mut self.buffer)?;
            bytes += count;
            match count {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                _ if self.buffer[count - 1] == b'\n' => return Ok((start.elapsed(), bytes)),
                _ => {}
            }
        }
    }

    /// Waits for the next line that contains `text`.
    ///
    /// # Errors
    ///
    /// If the server closes its output.
    pub fn line_with(&mut self, text: &str) -> io::Result<()> {
        let mut seen = Vec::new();
        loop {
            let count = self.stdout.read(&mut self.buffer)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            seen.extend_from_slice(&self.buffer[..count]);
            if seen.windows(text.len()).any(|window| window == text.as_bytes()) {
                return Ok(());
            }
        }
    }

    /// Reads the only outstanding line.
    fn line(&mut self) -> io::Result<String> {
        let mut seen = Vec::new();
        while seen.last() != Some(&b'\n') {
            let count = self.stdout.read(&mut self.buffer)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            seen.extend_from_slice(&self.buffer[..count]);
        }
        String::from_utf8(seen).map_err(io::Error::other)
    }

    fn push_call(&mut self, lines: &mut String) {
        let id = self.next_id;
        self.next_id += 1;
        // Writing to a string cannot fail.
        let _ = write!(
            lines,
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"some words that make this call about as long as calls usually are, a few hundred bytes"}}}}}}"#
        );
        lines.push('\n');
    }

    fn answers(&mut self, wanted: usize) -> io::Result<()> {
        let mut seen = 0;
        while seen < wanted {
            seen += self.read()?;
        }
        Ok(())
    }

    /// Reads once, and counts the completed lines.
    fn read(&mut self) -> io::Result<usize> {
        let count = self.stdout.read(&mut self.buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(self.buffer[..count].iter().filter(|byte| **byte == b'\n').count())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Both fail if it has already ended, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
