//! A server with two users.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use crate::issuer::Issuer;
use crate::neighbours::alice::{self, ATTACK, IDLE, OVER, Op, Phase};
use crate::neighbours::memory::{peak, reset_peak};
use crate::neighbours::report::Report;
use crate::neighbours::tls::Certificate;
use crate::neighbours::user::User;
use crate::programs::hostile_tools;
use crate::wait::tier;
use crate::web::Web;

/// What stands for the server in tokens.
pub const AUDIENCE: &str = "api://tools";

/// How users are told from each other.
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
    /// One without an SDK that does what callers say, with as many calls at once as this.
    Hostile(u32),
    /// A tool file of the fixtures, on the published Python SDK: one call at a time.
    Published(&'static str),
}

/// What is different from one scenario to the next.
#[derive(Debug, Clone)]
pub struct Setup<'a> {
    /// The tool process.
    pub tool: Tool,
    /// Flags of `pmcp`.
    pub flags: &'a [&'a str],
    /// How users are told from each other.
    pub identity: Identity,
    /// What alice cannot or need not do.
    pub skipped: &'a [Op],
    /// How tokens are signed; `opaque` if only the issuer can read them.
    pub alg: &'a str,
    /// Whether it is HTTPS.
    pub tls: bool,
    /// The soft limit of descriptors that `pmcp` starts with.
    pub descriptors: Option<u64>,
    /// How long one handler of mallory's may keep a place that alice needs.
    pub turn: Duration,
}

impl Setup<'_> {
    /// A tool process that takes 64 calls at once, and users with tokens.
    pub const DEFAULT: Self = Self {
        tool: Tool::Hostile(64),
        flags: &[],
        identity: Identity::Tokens,
        alg: "ES256",
        skipped: &[],
        tls: false,
        descriptors: None,
        turn: Duration::ZERO,
    };
}

impl Default for Setup<'_> {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A server with two users.
#[derive(Debug)]
pub struct Neighbours {
    /// The server.
    pub web: Web,
    /// Who works.
    pub alice: User,
    /// Who does harm.
    pub mallory: User,
    skipped: Vec<Op>,
    turn: Duration,
    _certificate: Option<Certificate>,
    /// Scenarios measure time, so they run one after the other.
    _alone: MutexGuard<'static, ()>,
}

impl Neighbours {
    /// Starts `pmcp` for these two.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(setup: &Setup<'_>) -> Self {
        match setup.identity {
            Identity::Tokens => Self::start_with(setup, Some(&mut issuer())),
            Identity::Addresses => Self::start_with(setup, None),
        }
    }

    /// The same with an authorization server of one's own, which must not be busy yet.
    ///
    /// # Panics
    /// When it does not start.
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
        let web = match setup.tool {
            Tool::Hostile(calls) => Web::start_program(
                &hostile_tools(),
                &flags,
                &[("HOSTILE_CALLS", &calls.to_string()), ("TOOLS_SECRET", "s3cret")],
            ),
            Tool::Published(file) => Web::start(file, &flags),
        };
        let (mut alice, mut mallory) = (User::new(web.port(), 2), User::new(web.port(), 1));
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
            alice,
            mallory,
            _certificate: certificate,
            skipped: setup.skipped.to_vec(),
            turn: setup.turn,
            _alone: alone,
        }
    }

    /// Lets mallory attack while alice works. An attack without an end is ended.
    ///
    /// # Panics
    /// When alice is not served before it begins.
    pub fn suffer<A: Future<Output = ()>>(&self, attack: impl FnOnce(User) -> A) -> Report {
        self.suffer_for(tier(Duration::from_secs(5), Duration::from_secs(60)), attack)
    }

    /// The same for so long at most.
    ///
    /// # Panics
    /// When alice is not served before it begins.
    pub fn suffer_for<A: Future<Output = ()>>(&self, limit: Duration, attack: impl FnOnce(User) -> A) -> Report {
        let phase = Phase::default();
        phase.set(IDLE);
        let pid = self.web.process().pid();
        thread::scope(|scope| {
            let alice = scope.spawn(|| alice::work(&self.alice, &self.skipped, self.turn, &phase));
            thread::sleep(tier(Duration::from_millis(250), Duration::from_secs(5)));
            reset_peak(pid);
            let before = peak(pid);
            phase.set(ATTACK);
            // Also when the attack fails, for alice is waited for.
            let over = Over(&phase);
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
            let ended = runtime.block_on(async { tokio::time::timeout(limit, attack(self.mallory.clone())).await });
            drop(over);
            let work = alice.join().expect("alice does not panic");
            let grown = peak(pid).saturating_sub(before);
            // What is left of the attack ends here.
            drop(runtime);
            let report =
                Report { wanted: alice::wanted(&self.skipped), turn: self.turn, ended: ended.is_ok(), grown, work };
            report.keep();
            report
        })
    }

    /// What the server has counted of its answers and calls.
    pub fn counts(&self) -> String {
        let token = self.alice.token.as_ref().map(|token| format!("Bearer {token}")).unwrap_or_default();
        let headers: &[_] = if token.is_empty() { &[] } else { &[("authorization", token.as_str())] };
        let page = self.web.send("GET", "/metrics", headers, "").body;
        let wanted =
            |line: &&str| line.starts_with("pmcp_http_responses_total") || line.starts_with("pmcp_calls_total");
        page.lines().filter(wanted).map(|line| format!("{line}\n")).collect()
    }
}

/// A token of this user, for a server that is tested here.
///
/// # Panics
/// When the issuer is gone.
pub fn token(issuer: &mut Issuer, alg: &str, name: &str) -> String {
    let scope = "use";
    issuer.token(&json!({"alg": alg, "aud": AUDIENCE, "sub": name, "scope": scope, "exp": 4_000_000_000_u32}))
}

/// A soft limit of descriptors, for processes that are started while this lives.
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
        // It was allowed before.
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
