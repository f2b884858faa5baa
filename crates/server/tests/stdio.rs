//! Standard input and output as hosts really hand them over: pipes, sockets, files, a terminal. The server is
//! `examples/echo_server.rs`, as a separate process.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;

use rustix::fs::{OFlags, fcntl_getfl};

const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"host"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n"
);
const COUNT: &str = concat!(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count"}}"#, "\n");
const DONE: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#;

/// The example, which `cargo test` builds along with the tests; built here when only this file is tested.
fn echo_server() -> Command {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let path = PATH.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let profile = test.parent().unwrap().parent().unwrap();
        let path = profile.join("examples/echo_server");
        if !path.exists() {
            let target = profile.parent().unwrap();
            let built = Command::new(env!("CARGO"))
                .args(["build", "--example", "echo_server", "--target-dir"])
                .arg(target)
                .current_dir(env!("CARGO_MANIFEST_DIR"))
                .status();
            assert!(built.unwrap().success());
        }
        path
    });
    Command::new(path)
}

fn spawn(stdin: impl Into<Stdio>, stdout: impl Into<Stdio>) -> Child {
    echo_server().stdin(stdin).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for a good end. Returns what was written to standard error.
#[track_caller]
fn finish(mut child: Child) -> String {
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}: {errors}");
    errors
}

/// Has a conversation, with big messages in both directions, and closes the writing end.
fn converse(mut input: impl Write + Send + 'static, output: impl Read, close: impl FnOnce() + Send + 'static) {
    let big = "x".repeat(5_000_000);
    let echo = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":\"big\",\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\",\"arguments\":{{\"x\":\"{big}\"}}}}}}\n"
    );
    let mut lines = BufReader::new(output).lines().map(Result::unwrap);
    input.write_all(HELLO.as_bytes()).unwrap();
    assert!(lines.next().unwrap().contains(r#""protocolVersion":"2025-11-25""#));
    input.write_all(COUNT.as_bytes()).unwrap();
    assert_eq!(lines.next().unwrap(), DONE);
    // The host writes from a separate thread: what it sends is more than the buffers hold.
    let writing = thread::spawn(move || {
        input.write_all(echo.as_bytes()).unwrap();
        drop(input);
        close();
    });
    let answer = lines.next().unwrap();
    assert!(answer.starts_with(r#"{"jsonrpc":"2.0","id":"big","result":{"content":"#), "{}", &answer[..100]);
    assert!(answer.contains(&big));
    assert_eq!(lines.next(), None, "nothing but answers goes to standard output");
    writing.join().unwrap();
}

fn is_nonblocking(fd: &OwnedFd) -> bool {
    fcntl_getfl(fd).unwrap().contains(OFlags::NONBLOCK)
}

#[test]
fn pipes_work_and_stay_blocking_for_others() {
    let (server_in, host_out) = std::io::pipe().unwrap();
    let (host_in, server_out) = std::io::pipe().unwrap();
    // Another process has the same descriptions, as a shell or an inherited standard error would.
    let shared = [server_in.as_fd().try_clone_to_owned().unwrap(), server_out.as_fd().try_clone_to_owned().unwrap()];
    let child = spawn(server_in, server_out);
    let [shared_in, shared_out] = shared;
    let check = move || {
        assert!(!is_nonblocking(&shared_in) && !is_nonblocking(&shared_out));
        // The last writer besides the server must go, or the end is never seen.
        drop(shared_out);
    };
    converse(host_out, host_in, check);
    assert!(finish(child).contains("counted"), "what the tool printed went to standard error");
}

#[test]
fn one_socket_for_both_works_and_stays_blocking_for_others() {
    let (host, server) = UnixStream::pair().unwrap();
    let shared = OwnedFd::from(server.try_clone().unwrap());
    let child = spawn(OwnedFd::from(server.try_clone().unwrap()), OwnedFd::from(server));
    let writer = host.try_clone().unwrap();
    let ending = host.try_clone().unwrap();
    let close = move || {
        assert!(!is_nonblocking(&shared));
        ending.shutdown(Shutdown::Write).unwrap();
        drop(shared);
    };
    converse(writer, host, close);
    assert!(finish(child).contains("counted"));
}

#[test]
fn two_sockets_work_as_node_hands_them_over() {
    let (host_out, server_in) = UnixStream::pair().unwrap();
    let (host_in, server_out) = UnixStream::pair().unwrap();
    let child = spawn(OwnedFd::from(server_in), OwnedFd::from(server_out));
    converse(host_out, host_in, || {});
    finish(child);
}

#[test]
fn a_file_is_read_to_its_end_and_another_appended_to() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    fs::write(&input, format!("{HELLO}{COUNT}")).unwrap();
    fs::write(&output, "before\n").unwrap();
    let child = spawn(File::open(&input).unwrap(), OpenOptions::new().append(true).open(&output).unwrap());
    finish(child);
    let text = fs::read_to_string(output).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert_eq!((lines[0], lines[2]), ("before", DONE));
}

#[test]
fn a_file_is_read_from_where_its_owner_left_it() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in");
    fs::write(&input, format!("not for us\n{HELLO}{COUNT}")).unwrap();
    let mut file = File::open(&input).unwrap();
    file.read_exact(&mut [0; 11]).unwrap();
    let child = spawn(file, Stdio::piped());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().last(), Some(DONE));
    assert!(!text.contains("error"), "{text}");
}

#[test]
fn nothing_in_and_nowhere_to_go_ends_immediately() {
    finish(spawn(Stdio::null(), Stdio::null()));
    let child = spawn(Stdio::null(), Stdio::piped());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty());
}

#[test]
fn a_terminal_works() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let host = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&host).unwrap();
    unlockpt(&host).unwrap();
    let path = ptsname(&host, Vec::new()).unwrap().into_string().unwrap();
    let terminal = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let child = spawn(terminal.try_clone().unwrap(), terminal.try_clone().unwrap());
    let mut host = File::from(host);
    host.write_all(format!("{HELLO}{COUNT}").as_bytes()).unwrap();
    // A terminal says again what is typed, and ends lines with a carriage return.
    let lines = BufReader::new(host.try_clone().unwrap()).lines().map(Result::unwrap);
    assert!(lines.map(|line| line.trim_end().to_owned()).any(|line| line == DONE));
    assert!(!is_nonblocking(&OwnedFd::from(terminal)));
    // Control-D is the end.
    host.write_all(&[4]).unwrap();
    finish(child);
}

#[test]
fn a_host_that_dies_ends_the_server() {
    let mut child = spawn(Stdio::piped(), Stdio::piped());
    let mut input = child.stdin.take().unwrap();
    input.write_all(HELLO.as_bytes()).unwrap();
    drop(child.stdout.take());
    // The input stays open; only the answers have nowhere to go.
    input.write_all(COUNT.as_bytes()).unwrap();
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert!(!child.wait().unwrap().success());
    assert!(errors.contains("Closed"), "{errors}");
}
