//! A server with two users.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setpriority_process, setrlimit};
use serde_json::json;

use crate::issuer::Issuer;
use crate::neighbours::alice::{self, ATTACK, IDLE, OVER, Op, Phase};
use crate::neighbours::memory::{peak, reset_peak};
use crate::neighbours::report::Report;
use crate::neighbours::tls::Certificate;
use crate::neighbours::user::User;
use crate::programs::hostile_tools;
use crate::redis::Redis;
use crate::web::Web;
use protomcp_testing::{patience, tier};

/// The audience of tokens for the server.
pub const AUDIENCE: &str = "api://tools";

/// The way in which the server tells users apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// By the tokens of an authorization server.
    Tokens,
    /// By their addresses.
    Addresses,
}

/// The tool process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// A tool process without an SDK that follows its callers' instructions, with this many concurrent calls.
    Hostile(u32),
    /// A tool file of the fixtures, on the published Python SDK: one call at a time.
    Published(&'static str),
}

/// The variable parts of a scenario.
#[derive(Debug, Clone)]
pub struct Setup<'a> {
    /// The tool process.
    pub tool: Tool,
    /// Flags of `pmcp`.
    pub flags: &'a [&'a str],
    /// The way in which the server tells users apart.
    pub identity: Identity,
    /// The operations that alice does not try.
    pub skipped: &'a [Op],
    /// The signature algorithm of tokens; `opaque` if only the issuer can read them.
    pub alg: &'a str,
    /// True if the server speaks HTTPS.
    pub tls: bool,
    /// The soft limit of file descriptors at the start of `pmcp`.
    pub descriptors: Option<u64>,
    /// The time that one handler of mallory may occupy a slot that alice needs.
    pub turn: Duration,
    /// True if mallory uses another server, which shares its sessions with the one of alice.
    pub replicas: bool,
}

impl Setup<'_> {
    /// A tool process that takes 64 concurrent calls, and users with tokens.
    pub const DEFAULT: Self = Self {
        tool: Tool::Hostile(64),
        flags: &[],
        identity: Identity::Tokens,
        alg: "ES256",
        skipped: &[],
        tls: false,
        descriptors: None,
        turn: Duration::ZERO,
        replicas: false,
    };
}

impl Default for Setup<'_> {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A server with two users, or two servers with a store.
#[derive(Debug)]
pub struct Neighbours {
    /// The server of alice.
    pub web: Web,
    /// The server of mallory, if that is another one.
    pub other: Option<Web>,
    /// The user who works.
    pub alice: User,
    /// The user who attacks.
    pub mallory: User,
    skipped: Vec<Op>,
    turn: Duration,
    _store: Option<Redis>,
    _certificate: Option<Certificate>,
    /// Scenarios measure time, so they run one after the other.
    _alone: MutexGuard<'static, ()>,
}

impl Neighbours {
    /// Starts `pmcp` for these two users.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(setup: &Setup<'_>) -> Self {
        match setup.identity {
            Identity::Tokens => Self::start_with(setup, Some(&mut issuer())),
            Identity::Addresses => Self::start_with(setup, None),
        }
    }

    /// The same with a separate authorization server, which must not be busy yet.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start_with(setup: &Setup<'_>, issuer: Option<&mut Issuer>) -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut flags = vec!["--transport", "sse"];
        let url = issuer.as_ref().map(|issuer| issuer.url().to_owned());
        if let Some(url) = &url {
            flags.extend(["--oauth-issuer", url, "--oauth-audience", AUDIENCE]);
        }
        let certificate = setup.tls.then(Certificate::new);
        let files = certificate
            .as_ref()
            .map(|files| ["cert.pem", "key.pem"].map(|name| files.path(name).display().to_string()));
        if let Some([certificate, key]) = &files {
            flags.extend(["--tls-cert", certificate, "--tls-key", key]);
        }
        flags.extend(setup.flags);
        let _limit = setup.descriptors.map(SoftLimit::set);
        let store = setup.replicas.then(Redis::start);
        let (key, place) = store.as_ref().map(|store| (store.key(), store.url())).unzip();
        if let Some(key) = &key {
            flags.extend(["--sealing-key-file", key, "--replica-url", "http://127.0.0.1:0"]);
        }
        let start = || serve(setup.tool, &flags, place.as_deref());
        let web = start();
        let other = setup.replicas.then(start);
        let port = other.as_ref().map_or(web.port(), Web::port);
        let (mut alice, mut mallory) = (User::new(web.port(), 2), User::new(port, 1));
        if let Some(issuer) = issuer {
            (alice, mallory) = (
                alice.with_token(token(issuer, setup.alg, "alice")),
                mallory.with_token(token(issuer, setup.alg, "mallory")),
            );
        }
        let tls = certificate.as_ref().map(|certificate| Arc::clone(&certificate.client));
        (alice.tls, mallory.tls) = (tls.clone(), tls);
        Self {
            web,
            other,
            alice,
            mallory,
            _store: store,
            _certificate: certificate,
            skipped: setup.skipped.to_vec(),
            turn: setup.turn,
            _alone: alone,
        }
    }

    /// Lets mallory attack while alice works. An endless attack is aborted, and one that takes long on a busy machine.
    ///
    /// # Panics
    /// If alice is not served before the attack begins.
    pub fn suffer<A: Future<Output = ()>>(&self, attack: impl FnOnce(User) -> A) -> Report {
        self.suffer_for(tier(Duration::from_secs(5), Duration::from_secs(60)), attack)
    }

    /// The same with an attack that ends by itself, and is waited for.
    ///
    /// # Panics
    /// If alice is not served before the attack begins.
    pub fn suffer_whole<A: Future<Output = ()>>(&self, attack: impl FnOnce(User) -> A) -> Report {
        self.suffer_for(patience(), attack)
    }

    /// The same with a time limit.
    ///
    /// # Panics
    /// If alice is not served before the attack begins.
    pub fn suffer_for<A: Future<Output = ()>>(&self, limit: Duration, attack: impl FnOnce(User) -> A) -> Report {
        let phase = Phase::default();
        phase.set(IDLE);
        let pid = self.web.process().pid();
        thread::scope(|scope| {
            let alice = scope.spawn(|| alice::work(&self.alice, &self.skipped, self.turn, &phase));
            // For the times before the attack.
            thread::sleep(tier(Duration::from_millis(250), Duration::from_secs(5)));
            while !phase.has_begun() && !alice.is_finished() {
                thread::sleep(Duration::from_millis(10));
            }
            reset_peak(pid);
            let before = peak(pid);
            phase.set(ATTACK);
            // Alice is awaited, so this must also happen if the attack fails.
            let over = Over(&phase);
            // Elsewhere, the attack would not take the server's processors.
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .on_thread_start(|| setpriority_process(None, ATTACK_NICENESS).expect("niceness can be raised"))
                .enable_all()
                .build()
                .expect("a runtime");
            let ended = runtime.block_on(async { tokio::time::timeout(limit, attack(self.mallory.clone())).await });
            drop(over);
            let work = alice.join().expect("alice does not panic");
            let grown = peak(pid).saturating_sub(before);
            // The rest of the attack ends here.
            drop(runtime);
            let report =
                Report { wanted: alice::wanted(&self.skipped), turn: self.turn, ended: ended.is_ok(), grown, work };
            report.keep();
            report
        })
    }

    /// The server's counts of its answers and calls.
    pub fn counts(&self) -> String {
        let token = self.alice.token.as_ref().map(|token| format!("Bearer {token}")).unwrap_or_default();
        let headers: &[_] = if token.is_empty() { &[] } else { &[("authorization", token.as_str())] };
        let page = self.web.send("GET", "/metrics", headers, "").body;
        let wanted =
            |line: &&str| line.starts_with("pmcp_http_responses_total") || line.starts_with("pmcp_calls_total");
        page.lines().filter(wanted).map(|line| format!("{line}\n")).collect()
    }
}

/// Starts a server with these tools, and the store at this URL.
fn serve(tool: Tool, flags: &[&str], store: Option<&str>) -> Web {
    let store = store.map(|url| ("PMCP_STORE", url));
    match tool {
        Tool::Hostile(calls) => {
            let calls = calls.to_string();
            let own = [("HOSTILE_CALLS", calls.as_str()), ("TOOLS_SECRET", "s3cret")];
            let variables: Vec<_> = own.into_iter().chain(store).collect();
            Web::start_program(&hostile_tools(), flags, &variables)
        }
        Tool::Published(file) => Web::start_with(file, flags, store.as_slice()),
    }
}

/// A token of this user for the server under test.
///
/// # Panics
/// If the issuer has ended.
pub fn token(issuer: &mut Issuer, alg: &str, name: &str) -> String {
    let scope = "use";
    issuer.token(&json!({"alg": alg, "aud": AUDIENCE, "sub": name, "scope": scope, "exp": 4_000_000_000_u32}))
}

/// The niceness of the threads that attack.
const ATTACK_NICENESS: i32 = 10;

/// A soft limit of file descriptors, inherited by processes that start during its lifetime.
struct SoftLimit(Rlimit);

impl SoftLimit {
    fn set(limit: u64) -> Self {
        let before = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(limit), ..before }).expect("a limit can be lowered");
        Self(before)
    }
}

impl Drop for SoftLimit {
    fn drop(&mut self) {
        // This limit was allowed before.
        let _ = setrlimit(Resource::Nofile, self.0);
    }
}

/// Ends the attack when it is dropped.
struct Over<'a>(&'a Phase);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.set(OVER);
    }
}

/// An authorization server that all scenarios share. It ends with this process.
fn issuer() -> MutexGuard<'static, Issuer> {
    static ISSUER: OnceLock<Mutex<Issuer>> = OnceLock::new();
    ISSUER.get_or_init(|| Mutex::new(Issuer::start())).lock().unwrap_or_else(PoisonError::into_inner)
}
