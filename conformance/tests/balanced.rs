//! Three `pmcp` that share their sessions in a `redis-server`, behind a haproxy that sends each request to the next one.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use protomcp_conformance::{Balancer, Redis, Sandbox, Web, eventually, patience, suite};
use rustix::process::Signal;
use serde_json::{Value, json};

#[test]
fn the_official_suite_passes_through_a_balancer() {
    let (redis, (socket, address)) = (Redis::start(), Balancer::socket());
    let servers = Balancer::servers(&address, &redis);
    let _balancer = Balancer::start(redis.sandbox(), socket, &servers);
    suite::assert_passes(&format!("http://{address}/mcp"), suite::SERVER_RUNS, &[]);
}

/// The calls of all clients in one phase of the update.
const CALLS: usize = 200;

/// Clients with and without a session.
const CLIENTS: usize = 6;

#[test]
fn no_request_fails_while_servers_are_updated() {
    let (redis, (socket, address)) = (Redis::start(), Balancer::socket());
    let start = |port: u16| {
        let sandbox = Sandbox::new();
        sandbox.copy("py/basics.py");
        Web::launch(sandbox.clone(), Balancer::server(&address, &redis, &sandbox, "basics.py", port))
    };
    let mut servers = [(); 3].map(|()| start(0));
    let balancer = Balancer::start(redis.sandbox(), socket, &servers);
    let (calls, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let client = Client { address: &address, is_stateful: number % 2 == 0 };
                let (calls, is_over) = (&calls, &is_over);
                scope.spawn(move || client.work(calls, is_over))
            })
            .collect();
        let go_on = || {
            let before = calls.load(Ordering::Relaxed);
            eventually("the clients go on", || {
                let failed = clients.iter().any(thread::ScopedJoinHandle::is_finished);
                (failed || calls.load(Ordering::Relaxed) >= before + CALLS).then_some(())
            });
        };
        go_on();
        for (name, server) in ["a", "b", "c"].into_iter().zip(&mut servers) {
            let place = balancer.now();
            server.process().signal(Signal::TERM);
            balancer.sees(name, "DOWN", place);
            // Requests that were on their way.
            go_on();
            // A balancer that looks often is faster than any delay that would be long enough for a busy machine.
            server.process().signal(Signal::TERM);
            assert!(server.process().exit().success(), "{}", server.process().stderr());
            go_on();
            let place = balancer.now();
            *server = start(server.port());
            balancer.sees(name, "UP", place);
            go_on();
        }
        is_over.store(true, Ordering::Relaxed);
        for client in clients {
            let (made, failed) = client.join().expect("a client does not panic");
            assert_eq!(failed, None, "after {made} calls");
        }
    });
}

/// A client of the balancer, with a connection for each request.
struct Client<'a> {
    address: &'a str,
    is_stateful: bool,
}

impl Client<'_> {
    /// Calls until the end, or until a request fails.
    fn work(&self, calls: &AtomicUsize, is_over: &AtomicBool) -> (usize, Option<String>) {
        let session = self.is_stateful.then(|| self.open());
        for made in 0.. {
            if is_over.load(Ordering::Relaxed) {
                return (made, None);
            }
            let text = format!("call {made}");
            let response = self.call(session.as_deref(), &text);
            if !response.starts_with("HTTP/1.1 200") || !response.contains(&format!("\"{text}\"")) {
                return (made, Some(response));
            }
            calls.fetch_add(1, Ordering::Relaxed);
        }
        unreachable!("it goes on until the end")
    }

    fn call(&self, session: Option<&str>, text: &str) -> String {
        let mut params = json!({"name": "echo", "arguments": {"text": text}});
        let header = match session {
            Some(session) => format!("Mcp-Session-Id: {session}\r\nMcp-Protocol-Version: 2025-11-25\r\n"),
            None => {
                params["_meta"] = json!({
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                    "io.modelcontextprotocol/clientInfo": {"name": "conformance", "version": "1"},
                });
                "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n".to_owned()
            }
        };
        self.post(&header, &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
    }

    /// Opens a session.
    fn open(&self) -> String {
        let opened = self.post(
            "",
            &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "web", "version": "1"}
            }}),
        );
        let id = opened.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        let id = id.unwrap_or_else(|| panic!("no session in {opened}")).trim().to_owned();
        let header = format!("Mcp-Session-Id: {id}\r\n");
        let told = self.post(&header, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert!(told.starts_with("HTTP/1.1 202"), "{told}");
        id
    }

    /// The whole response to a message, or the reason why there is none.
    fn post(&self, headers: &str, message: &Value) -> String {
        let body = message.to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            self.address,
            body.len()
        );
        exchange(self.address, &request).unwrap_or_else(|error| format!("no response: {error}"))
    }
}

fn exchange(address: &str, request: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(patience()))?;
    stream.write_all(request.as_bytes())?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}
