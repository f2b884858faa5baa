//! The client end: an MCP client that speaks JSON lines to a `pmcp` that it has started.
//!
//! Written by hand, and not with `protomcp-client`, because tests check the lines themselves: their bytes, their order,
//! the ids, and that nothing else was written. A fault that client and server share cannot hide here either. Tests of
//! what a user of the client sees are in `real_servers`, `cuts` and `suite_client`.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::inbox::{Inbox, Message};
use crate::orphans::living;
use crate::sandbox::Sandbox;
use protomcp_testing::{eventually, patience};

/// A running `pmcp` and its session.
///
/// All methods take `&self`, so that several threads of a test can make calls. Dropping it kills `pmcp` with SIGKILL if
/// it still runs, and then fails the test if a process that `pmcp` started stays alive, or if `pmcp` ever wrote a line
/// to its standard output that is not JSON-RPC.
#[derive(Debug)]
pub struct Host {
    child: Mutex<Child>,
    pid: u32,
    stdin: Mutex<Option<ChildStdin>>,
    inbox: Arc<Inbox>,
    stderr: Arc<Mutex<String>>,
    /// Disconnects when standard error is read to its end.
    errors_end: Mutex<Receiver<()>>,
    next_id: AtomicU64,
    /// Set before a kill, which may cut a line.
    killed: Arc<AtomicBool>,
    sandbox: Sandbox,
}

impl Host {
    pub(crate) fn new(mut child: Child, sandbox: Sandbox) -> Self {
        let (inbox, killed) = (Arc::new(Inbox::default()), Arc::new(AtomicBool::new(false)));
        let stderr = Arc::new(Mutex::new(String::new()));
        let (lines, errors) =
            (child.stdout.take().expect("stdout is piped"), child.stderr.take().expect("stderr is piped"));
        let stdin = Mutex::new(child.stdin.take());
        thread::spawn({
            let inbox = Arc::clone(&inbox);
            let killed = Arc::clone(&killed);
            move || {
                let mut lines = BufReader::new(lines);
                loop {
                    let mut line = String::new();
                    match lines.read_line(&mut line) {
                        Ok(0) => break,
                        // The kill cut the last line.
                        Ok(_) if !line.ends_with('\n') && killed.load(Ordering::Relaxed) => break,
                        Ok(_) => inbox.push(line.trim_end_matches(['\r', '\n']).to_owned()),
                        Err(error) => {
                            inbox.push(format!("unreadable line: {error}"));
                            break;
                        }
                    }
                }
                inbox.close();
            }
        });
        let (open, errors_end) = channel();
        thread::spawn({
            let stderr = Arc::clone(&stderr);
            move || {
                collect(errors, &stderr);
                drop::<Sender<()>>(open);
            }
        });
        let errors_end = Mutex::new(errors_end);
        let next_id = AtomicU64::new(1);
        Self { pid: child.id(), child: Mutex::new(child), killed, stdin, inbox, stderr, errors_end, next_id, sandbox }
    }

    /// The process id of `pmcp`.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Writes bytes to its standard input verbatim.
    ///
    /// # Panics
    ///
    /// If this host has closed the input. A `pmcp` that has ended does not panic.
    pub fn bytes(&self, bytes: &[u8]) {
        let mut stdin = self.stdin.lock().expect("no writer panics");
        let pipe = stdin.as_mut().expect("the standard input is still open");
        // If `pmcp` has died, its answers do not come, and the test fails there.
        let _ = pipe.write_all(bytes).and_then(|()| pipe.flush());
    }

    /// Writes one line.
    pub fn line(&self, text: &str) {
        self.bytes(format!("{text}\n").as_bytes());
    }

    /// Sends a request and returns its id.
    pub fn request(&self, method: &str, params: &Value) -> u64 {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        id
    }

    /// Sends a notification.
    pub fn tell(&self, method: &str, params: &Value) {
        self.line(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// Answers a request of the server.
    pub fn reply(&self, request: &Message, result: &Value) {
        self.line(&json!({"jsonrpc": "2.0", "id": request.value["id"], "result": result}).to_string());
    }

    /// Waits for the response to a request.
    pub fn answer(&self, id: impl Into<Value>) -> Message {
        let id = id.into();
        self.inbox.find(&format!("the answer to {id}"), 0, |message| is_answer(message, &id))
    }

    /// The response to a request as the original line.
    pub fn answer_text(&self, id: impl Into<Value>) -> String {
        self.answer(id).text
    }

    /// The response to a request if it has arrived, without waiting.
    pub fn answered(&self, id: impl Into<Value>) -> Option<Message> {
        let id = id.into();
        self.seen().into_iter().find(|message| is_answer(message, &id))
    }

    /// Sends a request and returns the result.
    ///
    /// # Panics
    ///
    /// If the answer is a JSON-RPC error.
    pub fn ask(&self, method: &str, params: &Value) -> Value {
        let mut response = self.answer(self.request(method, params)).value;
        assert!(response.get("error").is_none(), "{method} failed: {response}");
        response["result"].take()
    }

    /// Sends a request and returns the JSON-RPC error.
    ///
    /// # Panics
    ///
    /// If there is a result.
    pub fn refused(&self, method: &str, params: &Value) -> Value {
        let mut response = self.answer(self.request(method, params)).value;
        assert!(response.get("result").is_none(), "{method} should have failed: {response}");
        response["error"].take()
    }

    /// Initializes the session in revision 2025-11-25 and returns the server's result.
    pub fn initialize(&self) -> Value {
        self.initialize_as("2025-11-25")
    }

    /// Initializes the session in the revision named.
    pub fn initialize_as(&self, version: &str) -> Value {
        let mut response = self.answer(self.begin(version)).value;
        assert!(response.get("error").is_none(), "initialize failed: {response}");
        response["result"].take()
    }

    /// Sends the messages that initialize the session, without waiting; returns the id of the request.
    pub fn begin(&self, version: &str) -> u64 {
        self.begin_with(version, &json!({}))
    }

    /// The same for a client with these capabilities.
    pub fn begin_with(&self, version: &str, capabilities: &Value) -> u64 {
        let info = json!({"name": "conformance", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": info});
        let id = self.request("initialize", &params);
        self.tell("notifications/initialized", &json!({}));
        id
    }

    /// The tools of the first page.
    pub fn tools(&self) -> Vec<Value> {
        self.ask("tools/list", &json!({}))["tools"].as_array().expect("tools is an array").clone()
    }

    /// The definition of one tool.
    pub fn tool(&self, name: &str) -> Value {
        self.tools().into_iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{name} is not listed"))
    }

    /// The names of the tools, in the order they are listed.
    pub fn names(&self) -> Vec<String> {
        self.tools().iter().map(|tool| tool["name"].as_str().expect("a name is a string").to_owned()).collect()
    }

    /// The names of the tools in the first list without an error that allows a retry: a server may take longer to start than a
    /// list waits for it.
    pub fn first_names(&self) -> Vec<String> {
        eventually("a tool list", || self.names_unless_retryable())
    }

    /// Waits until the tools are exactly these, through errors that allow a retry.
    pub fn until_names(&self, wanted: &[&str]) {
        eventually(&format!("the tool list {wanted:?}"), || {
            self.names_unless_retryable().filter(|names| names == wanted).map(drop)
        });
    }

    fn names_unless_retryable(&self) -> Option<Vec<String>> {
        let answer = self.answer(self.request("tools/list", &json!({}))).value;
        if answer["error"]["data"]["protomcp/error"]["retryable"] == true {
            return None;
        }
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("tools/list failed: {answer}"));
        Some(tools.iter().map(|tool| tool["name"].as_str().expect("a name is a string").to_owned()).collect())
    }

    /// Sends a call and returns its id.
    pub fn start_call(&self, name: &str, arguments: &Value) -> u64 {
        self.request("tools/call", &json!({"name": name, "arguments": arguments}))
    }

    /// Calls a tool and returns its result, error result or not.
    pub fn call(&self, name: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({"name": name, "arguments": arguments}))
    }

    /// Calls a tool that must succeed with one text block, and returns the text.
    pub fn text(&self, name: &str, arguments: &Value) -> String {
        let result = self.call(name, arguments);
        assert_ne!(result["isError"], true, "{name} failed: {result}");
        text_of(&result)
    }

    /// Calls a tool that must fail, and returns the text of its error result.
    pub fn error_text(&self, name: &str, arguments: &Value) -> String {
        let result = self.call(name, arguments);
        assert_eq!(result["isError"], true, "{name} should have failed: {result}");
        text_of(&result)
    }

    /// The index of the next message, to wait from later.
    pub fn now(&self) -> usize {
        self.inbox.len()
    }

    /// All messages so far.
    pub fn seen(&self) -> Vec<Message> {
        self.inbox.all()
    }

    /// All notifications with this method from index `place` on.
    pub fn notifications(&self, method: &str, place: usize) -> Vec<Message> {
        self.seen().into_iter().skip(place).filter(|message| message.method() == method).collect()
    }

    /// Waits for a message from index `place` on.
    pub fn wait_for(&self, what: &str, place: usize, wanted: impl Fn(&Message) -> bool) -> Message {
        self.inbox.find(what, place, wanted)
    }

    /// Waits for a notification with this method, from index `place` on.
    pub fn notified(&self, method: &str, place: usize) -> Message {
        self.wait_for(method, place, |message| message.method() == method)
    }

    /// The same for the notification that the tool list has changed.
    pub fn list_changed(&self, place: usize) -> Message {
        self.notified("notifications/tools/list_changed", place)
    }

    /// Everything on standard error so far.
    pub fn stderr(&self) -> String {
        self.stderr.lock().expect("no reader panics").clone()
    }

    /// Waits until standard error contains `text`, and returns all of it.
    pub fn stderr_with(&self, text: &str) -> String {
        eventually(&format!("{text:?} on stderr"), || Some(self.stderr()).filter(|all| all.contains(text)))
    }

    /// Closes its standard input.
    pub fn hang_up(&self) {
        self.stdin.lock().expect("no writer panics").take();
    }

    /// Sends `pmcp` a signal.
    pub fn signal(&self, signal: Signal) {
        if signal == Signal::KILL {
            self.killed.store(true, Ordering::Relaxed);
        }
        // It may have ended already; then there is nothing to do.
        let _ = kill_process(pid(self.pid), signal);
    }

    /// Waits until it has ended and both of its streams are read to their ends: the last lines arrive after the status.
    ///
    /// # Panics
    ///
    /// If another process keeps a stream open.
    pub fn exit(&self) -> ExitStatus {
        let status = eventually("the end of pmcp", || self.exited());
        assert!(self.inbox.closes(), "pmcp has ended, and another process keeps its stdout open");
        let end = self.errors_end.lock().expect("no waiter panics").recv_timeout(patience());
        let has_ended = end == Err(RecvTimeoutError::Disconnected);
        assert!(has_ended, "pmcp has ended, and another process keeps its stderr open");
        status
    }

    /// Its exit status, if it has ended.
    pub fn exited(&self) -> Option<ExitStatus> {
        self.child.lock().expect("no waiter panics").try_wait().expect("a child can be waited for")
    }

    /// Waits until no process is left that `pmcp` started.
    pub fn no_orphans(&self) {
        eventually_gone(self.sandbox.marker(), self.pid);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        self.killed.store(true, Ordering::Relaxed);
        // Both fail if it has already ended, which is fine.
        let _ = child.kill();
        let _ = child.wait();
        drop(child);
        if thread::panicking() {
            show(&self.stderr());
            for orphan in living(self.sandbox.marker()) {
                let _ = kill_process(pid(orphan.pid), Signal::KILL);
            }
            return;
        }
        eventually_gone(self.sandbox.marker(), self.pid);
        assert!(
            self.inbox.junk().is_empty(),
            "pmcp wrote lines to stdout that are not JSON-RPC: {:?}",
            self.inbox.junk()
        );
    }
}

/// The text of a result's only block.
fn text_of(result: &Value) -> String {
    let blocks = result["content"].as_array().expect("content is an array");
    assert_eq!(blocks.len(), 1, "one block was expected: {result}");
    blocks[0]["text"].as_str().unwrap_or_else(|| panic!("a text block was expected: {result}")).to_owned()
}

fn is_answer(message: &Message, id: &Value) -> bool {
    message.method().is_empty() && message.value.get("id") == Some(id)
}

fn eventually_gone(marker: &str, except: u32) {
    eventually(&format!("the end of all processes marked {marker}: {:?}", living(marker)), || {
        living(marker).iter().all(|orphan| orphan.pid == except).then_some(())
    });
}

fn pid(pid: u32) -> Pid {
    i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id is positive")
}

fn collect(mut stream: impl Read, all: &Mutex<String>) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        all.lock().expect("no reader panics").push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
}

#[expect(clippy::print_stderr, reason = "a failed test shows what pmcp had to say")]
fn show(stderr: &str) {
    let start = stderr.char_indices().rev().nth(6000).map_or(0, |(at, _)| at);
    eprintln!("--- stderr of pmcp ---\n{}\n----------------------", &stderr[start..]);
}
