//! The haproxy of `deploy/haproxy-replicas.cfg`, and servers as they run behind it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use protomcp_testing::eventually;
use rustix::io::{FdFlags, fcntl_setfd};

use crate::launch::Launch;
use crate::programs::{everything_tool, root};
use crate::redis::Redis;
use crate::sandbox::Sandbox;
use crate::web::Web;

/// The ports of the servers in the file.
const WRITTEN: [&str; 3] = ["127.0.0.1:8081", "127.0.0.1:8082", "127.0.0.1:8083"];

/// A haproxy that sends each request to the next one of three servers. It ends with its value.
#[derive(Debug)]
pub struct Balancer {
    process: Child,
    log: Arc<Mutex<String>>,
}

impl Balancer {
    /// The socket of a balancer that starts later, and its address: the servers have to know it.
    ///
    /// # Panics
    ///
    /// If no port is free.
    pub fn socket() -> (TcpListener, String) {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = socket.local_addr().expect("it is bound").to_string();
        (socket, address)
    }

    /// `pmcp run FILE` as it runs behind a balancer with this address, on this port, or on a free one (0).
    pub fn server(address: &str, redis: &Redis, sandbox: &Sandbox, file: &str, port: u16) -> Launch {
        let launch = redis.replica(sandbox, file).arg("--host").arg(own_address()).arg("--port").arg(port.to_string());
        let launch = launch.arg("--replica-url").arg(format!("http://{}:0", own_address())).arg("--health");
        let launch = launch.arg("--public-url").arg(format!("http://{address}/mcp"));
        launch.arg("--trusted-proxy").arg("127.0.0.1").arg("--drain-delay").arg("5m")
    }

    /// Three servers behind a balancer with this address, which have all that a client can use.
    ///
    /// # Panics
    ///
    /// If one does not announce its address.
    pub fn servers(address: &str, redis: &Redis) -> [Web; 3] {
        [(); 3].map(|()| {
            let (sandbox, program) = (Sandbox::new(), everything_tool());
            Web::launch(sandbox.clone(), Self::server(address, redis, &sandbox, &program.to_string_lossy(), 0))
        })
    }

    /// Starts haproxy with the file of `deploy/`, without a certificate, on this socket.
    ///
    /// # Panics
    ///
    /// If the file is not as expected, or haproxy is not installed.
    pub fn start(sandbox: &Sandbox, socket: TcpListener, servers: &[Web; 3]) -> Self {
        let written = fs::read_to_string(root().join("deploy/haproxy-replicas.cfg")).expect("the file is in deploy/");
        let bind = "bind :443 ssl crt /etc/haproxy/tools.pem alpn h2,http/1.1";
        assert!(written.contains(bind), "{written}");
        fcntl_setfd(&socket, FdFlags::empty()).expect("haproxy inherits the socket");
        let mut config = written.replace(bind, &format!("bind fd@{}", socket.as_raw_fd()));
        for (written, server) in WRITTEN.into_iter().zip(servers) {
            assert!(config.contains(written), "{config}");
            config = config.replace(written, &format!("{}:{}", own_address(), server.port()));
        }
        let file = sandbox.write("haproxy.cfg", config);
        let mut command = Command::new("/usr/sbin/haproxy");
        command.arg("-db").arg("-f").arg(file).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("haproxy starts");
        let (log, lines) = (Arc::new(Mutex::default()), process.stdout.take().expect("it is piped"));
        let written = Arc::clone(&log);
        thread::spawn(move || note(lines, &written));
        // No other program inherits it.
        drop(socket);
        Self { process, log }
    }

    /// The length of its log.
    pub fn now(&self) -> usize {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Waits until it has seen a change of a server, as its log says it after this place.
    ///
    /// # Panics
    ///
    /// If it does not see one in time.
    pub fn sees(&self, server: &str, change: &str, place: usize) {
        let text = format!("Server pmcp/{server} is {change}");
        eventually(&text, || self.log.lock().expect("no panic")[place..].contains(&text).then_some(()));
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Keeps what haproxy says about its servers.
fn note(lines: ChildStdout, log: &Mutex<String>) {
    for line in BufReader::new(lines).lines().map_while(Result::ok).filter(|line| line.starts_with("Server ")) {
        *log.lock().expect("no panic") += &(line + "\n");
    }
}

/// An address of this test alone: no other program takes a port there while a server is replaced.
fn own_address() -> String {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    format!("127.{}.{middle}.{low}", 64 + high)
}
