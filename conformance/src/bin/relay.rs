//! A tool process without logic.
//!
//! The bridge starts it in place of a tool process. It connects to the test's control socket, reports its identity in
//! one line of JSON, connects to the bridge, and from then on carries every byte between the two. When either side
//! closes, it ends with status 0.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::{env, fs, process, thread};

use serde_json::json;

fn main() {
    let (Some(control), Some(socket)) = (env::var_os("PMCP_TEST_CONTROL"), env::var_os("PROTOMCP_SOCKET")) else {
        process::exit(2);
    };
    let Ok(mut test) = UnixStream::connect(control) else { process::exit(3) };
    let path = Path::new(&socket);
    let mode = |path: &Path| fs::metadata(path).map_or(0, |found| found.permissions().mode() & 0o7777);
    let hello = json!({
        "pid": process::id(),
        "socket": path,
        "socket_mode": mode(path),
        "folder_mode": path.parent().map_or(0, mode),
        "cwd": env::current_dir().unwrap_or_default(),
        "args": env::args().collect::<Vec<_>>(),
    });
    if writeln!(test, "{hello}").is_err() {
        process::exit(3);
    }
    let Ok(bridge) = UnixStream::connect(path) else { process::exit(4) };
    let (Ok(from_test), Ok(to_bridge)) = (test.try_clone(), bridge.try_clone()) else { process::exit(5) };
    thread::spawn(move || carry(from_test, to_bridge));
    carry(bridge, test);
}

/// Carries bytes until there are none, then ends the process.
fn carry(mut from: UnixStream, mut to: UnixStream) -> ! {
    let mut buffer = [0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    // Written bytes are still delivered; a reader sees the end after them.
    let _ = to.shutdown(Shutdown::Both);
    process::exit(0)
}
