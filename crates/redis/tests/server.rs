//! A `redis-server` of a test: started in its own folder, and ended with the test.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use protomcp_redis::{RedisStores, SealingKeys, StoreOptions, StoreUrl};
use protomcp_server::{LeaseName, NodeId, SealingSecret};
use protomcp_testing::eventually;
use redis::{Client, Connection, FromRedisValue};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// A lease that outlives the test.
pub(crate) const LONG: Duration = Duration::from_secs(600);

/// A server, which is killed on drop.
pub(crate) struct RedisServer {
    /// `None`: it was killed.
    process: Option<Child>,
    /// Stopped ones, which keep their connections and do not answer.
    stopped: Vec<Child>,
    folder: TempDir,
    arguments: Vec<String>,
    /// The port, if it listens on one.
    port: Option<u16>,
}

impl RedisServer {
    /// A server on a socket in its folder, without persistence.
    pub(crate) fn start(options: &[&str]) -> Self {
        Self::launch(options, None)
    }

    /// A server on a port of [`own_address`], too.
    pub(crate) fn on_port(options: &[&str]) -> Self {
        Self::launch(options, Some(next_port()))
    }

    /// A server with TLS on a port of [`own_address`], too.
    pub(crate) fn with_tls(certificate: &Path, key: &Path) -> Self {
        let (port, address) = (next_port(), own_address());
        let (port_text, certificate, key) = (port.to_string(), certificate.to_string_lossy(), key.to_string_lossy());
        let mut options =
            vec!["--bind", address.as_str(), "--tls-port", port_text.as_str(), "--tls-auth-clients", "no"];
        options.extend(["--tls-cert-file", &*certificate, "--tls-key-file", &*key]);
        let mut server = Self::launch(&options, None);
        server.port = Some(port);
        server
    }

    fn launch(options: &[&str], port: Option<u16>) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the server");
        let socket = folder.path().join("s");
        let mut arguments = vec!["--unixsocket".to_owned(), socket.display().to_string()];
        arguments.extend(["--port".to_owned(), port.unwrap_or(0).to_string()]);
        if port.is_some() {
            arguments.extend(["--bind".to_owned(), own_address()]);
        }
        arguments.extend(["--save", "", "--appendonly", "no", "--rdbcompression", "no"].map(str::to_owned));
        arguments.extend(options.iter().map(|option| (*option).to_owned()));
        let mut server = Self { process: None, stopped: Vec::new(), folder, arguments, port };
        server.run();
        server
    }

    fn run(&mut self) {
        let mut command = Command::new("redis-server");
        let log = File::create(self.folder.path().join("log")).expect("the folder is writable");
        command.args(&self.arguments).current_dir(self.folder.path()).stdin(Stdio::null()).stdout(log);
        self.process = Some(spawn(&mut command));
        let socket = self.socket();
        self.eventually("redis-server listens", || UnixStream::connect(&socket).ok());
        if let Some(port) = self.port {
            self.eventually("redis-server listens", || TcpStream::connect((own_address(), port)).ok());
        }
    }

    fn eventually<T>(&mut self, what: &str, mut look: impl FnMut() -> Option<T>) {
        let process = self.process.as_mut().expect("it runs");
        let log = self.folder.path().join("log");
        eventually(what, || {
            if let Some(ended) = process.try_wait().expect("it is a child") {
                panic!("redis-server has ended, {ended}: {}", fs::read_to_string(&log).unwrap_or_default());
            }
            look()
        });
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    /// The URL of its socket, with parameters.
    pub(crate) fn url_with(&self, parameters: &str) -> StoreUrl {
        let url = format!("redis+unix://{}?{parameters}", self.socket().display());
        url.parse().expect("it is the URL of a store")
    }

    pub(crate) fn url(&self) -> StoreUrl {
        self.url_with("")
    }

    /// Its address and port.
    pub(crate) fn address(&self) -> String {
        format!("{}:{}", own_address(), self.port.expect("it listens on a port"))
    }

    pub(crate) fn port(&self) -> u16 {
        self.port.expect("it listens on a port")
    }

    /// The answer to a command.
    pub(crate) fn ask<T: FromRedisValue>(&self, words: &[&str]) -> T {
        let (name, arguments) = words.split_first().expect("a command has a name");
        let mut command = redis::cmd(name);
        for argument in arguments {
            command.arg(*argument);
        }
        command.query(&mut self.connection()).unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    pub(crate) fn connection(&self) -> Connection {
        let client = Client::open(format!("redis+unix://{}", self.socket().display())).expect("it is a URL");
        client.get_connection().expect("the server answers")
    }

    /// All keys.
    pub(crate) fn keys(&self) -> Vec<String> {
        let (cursor, keys): (String, Vec<String>) = self.ask(&["SCAN", "0", "COUNT", "10000"]);
        assert_eq!(cursor, "0", "there are few keys");
        keys
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let process = self.process.as_ref().expect("it runs");
        let id = i32::try_from(process.id()).ok().and_then(Pid::from_raw).expect("it has an id");
        kill_process(id, signal).expect("it is a child");
    }

    pub(crate) fn kill(&mut self) {
        let mut process = self.process.take().expect("it runs");
        process.kill().expect("it is a child");
        process.wait().expect("it is a child");
    }

    /// Stops it, and starts another one at its socket. Its connections stay, and have no answer.
    pub(crate) fn replace(&mut self) {
        self.signal(Signal::STOP);
        self.stopped.extend(self.process.take());
        fs::remove_file(self.socket()).expect("it is in the folder of the test");
        self.run();
    }

    /// Starts it again, without its data.
    pub(crate) fn restart(&mut self) {
        self.run();
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        if self.process.is_some() {
            self.kill();
        }
        for process in &mut self.stopped {
            drop(process.kill());
            drop(process.wait());
        }
    }
}

/// A port of [`own_address`] that no other server of this process has.
fn next_port() -> u16 {
    // Below the ephemeral ports. A cluster uses the port 10,000 above as well.
    static NEXT: AtomicU16 = AtomicU16::new(17_000);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Starts a program of Debian's package `redis-server`.
pub(crate) fn spawn(command: &mut Command) -> Child {
    match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            panic!("redis-server is not installed: install the package redis-server of Debian (scripts/setup proxies)")
        }
        Err(error) => panic!("redis-server does not start: {error}"),
    }
}

/// An address of this machine that no other process listens on.
pub(crate) fn own_address() -> String {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    format!("127.{}.{middle}.{low}", 64 + high)
}

pub(crate) fn keys(secret: &str) -> SealingKeys {
    SealingKeys::new(&SealingSecret::new(secret.as_bytes()))
}

/// Stores of one process at a server.
pub(crate) async fn connect(server: &RedisServer, secret: &str) -> RedisStores {
    RedisStores::connect(&server.url(), keys(secret)).await.expect("the server answers")
}

/// Stores with another time for a request.
pub(crate) async fn connect_within(url: &StoreUrl, limit: Duration) -> RedisStores {
    let options = StoreOptions::default().with_time_limit(limit);
    RedisStores::connect_with(url, keys("secret"), options).await.expect("the server answers")
}

/// The first lease of a process.
pub(crate) fn lease(node: &str) -> LeaseName {
    LeaseName::first(NodeId::new(node))
}
