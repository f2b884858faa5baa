//! A server over HTTP with one reply.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

/// Replies to each request with this head, without its end, and this body. Returns the port on this machine.
pub(super) fn serve(head: &str, body: &str) -> u16 {
    let reply = format!("{head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            read_request(&mut reader);
            // The client may be gone.
            let _sent = reader.get_mut().write_all(reply.as_bytes());
        }
    });
    port
}

/// Reads a request to its end: a connection that is closed earlier would be reset.
fn read_request(reader: &mut BufReader<TcpStream>) {
    let (mut length, mut line) = (0, String::new());
    while reader.read_line(&mut line).is_ok_and(|read| read > "\r\n".len()) {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    let mut body = vec![0; length];
    let _read = reader.read_exact(&mut body);
}
