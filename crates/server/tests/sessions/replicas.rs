//! Several servers with the same keys: retries that reach another process than the one that has asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use protomcp_server::{
    Claim, FencingToken, LeaseKeeper, LeaseName, LeaseStore, LeaseTerms, Limits, MemoryLeases, NodeId,
    RequestStateKeys, SessionSnapshot, StoreAnswer, StoreError, Stores,
};
use protomcp_session::{RequestBinding, RequestState};
use protomcp_testing::run_paused;
use protomcp_types::{JsonObject, Params, RawJson, Request, RequestId};
use serde_json::{Value, json};

use super::mrtr::{accept, again, ask, fails, says};
use super::stateless::{next, send};
use super::transcript::Stage;

const TTL: Duration = Duration::from_secs(600);

/// A process of this name, with a key of this byte.
fn server(name: &str, key: u8, leases: Option<Arc<dyn LeaseStore>>) -> Stage {
    let stores = leases.into_iter().fold(Stores::new(NodeId::new(name)), Stores::with_leases);
    let limits = Limits { ask_timeout: Duration::from_secs(60), ..Limits::default() };
    Stage::with_stores(limits, RequestStateKeys::shared([[key; 32]]), stores)
}

fn memory() -> Arc<MemoryLeases> {
    Arc::new(MemoryLeases::new(10, TTL))
}

fn call(tool: &str) -> Value {
    json!({"name": tool})
}

/// The error for programs.
fn reason(refused: &Value) -> &Value {
    &refused["error"]["data"]["protomcp/error"]
}

#[test]
fn a_retry_is_sent_to_the_process_that_holds_the_call() {
    run_paused(async {
        let leases = memory();
        let stage = |name: &str| server(name, 1, Some(Arc::clone(&leases) as Arc<dyn LeaseStore>));
        let (a, b) = (stage("a"), stage("b"));
        let keeper = |name: &str| {
            let leases = Arc::clone(&leases) as Arc<dyn LeaseStore>;
            LeaseKeeper::start(leases, NodeId::new(name), LeaseTerms::default())
        };
        let (of_a, of_b) = (keeper("a"), keeper("b"));
        assert_eq!((of_a.held().await.number, of_b.held().await.number), (1, 1));
        let (mut here, mut there) = (a.connect(), b.connect());
        let first = ask(&mut here, 1, "tools/call", &call("name 1")).await;
        let retry = again(&call("name 1"), &first, accept("ann"));
        for id in [1, 2] {
            let refused = ask(&mut there, id, "tools/call", &retry).await;
            fails(&refused, -32603);
            let error = reason(&refused);
            assert_eq!((&error["error_code"], &error["node"]), (&json!("WRONG_PROCESS"), &json!("a")), "{refused}");
        }
        says(&ask(&mut here, 2, "tools/call", &retry).await, r#"{"name":"ann"}"#);
        fails(&ask(&mut here, 3, "tools/call", &retry).await, -32602);

        of_a.resign().await;
        // The answer that named the process is shared for a second.
        tokio::time::advance(Duration::from_secs(1)).await;
        let refused = ask(&mut there, 3, "tools/call", &retry).await;
        fails(&refused, -32603);
        let error = reason(&refused);
        assert_eq!((&error["error_code"], &error["retryable"]), (&json!("REPLICA_GONE"), &json!(true)), "{refused}");
    });
}

#[test]
fn a_process_that_is_not_known_may_have_ended() {
    run_paused(async {
        let (a, b) = (server("a", 1, None), server("b", 1, None));
        let (mut here, mut there) = (a.connect(), b.connect());
        let first = ask(&mut here, 1, "tools/call", &call("name 1")).await;
        let retry = again(&call("name 1"), &first, accept("ann"));
        let refused = ask(&mut there, 1, "tools/call", &retry).await;
        fails(&refused, -32603);
        let error = reason(&refused);
        assert_eq!((&error["error_code"], &error["node"]), (&json!("WRONG_PROCESS"), &Value::Null), "{refused}");
        let remedy = (&error["retryable"], &error["suggestion"]);
        assert_eq!(
            remedy,
            (&json!(false), &json!("call again without the state if the call may run twice")),
            "{refused}"
        );
        says(&ask(&mut here, 2, "tools/call", &retry).await, r#"{"name":"ann"}"#);
        // A state that is used up looks the same there.
        let refused = ask(&mut there, 2, "tools/call", &retry).await;
        assert!(refused["error"]["message"].as_str().is_some_and(|text| text.contains("has run there")), "{refused}");
    });
}

/// The state is signed as the server with this key has signed it ten minutes ago.
#[test]
fn a_state_that_is_too_old_is_refused_as_such() {
    run_paused(async {
        let stage = server("a", 1, None);
        let mut host = stage.connect();
        let keys = RequestStateKeys::shared([[1; 32]]);
        let signed = |tool: &str, age: Duration| {
            let params = RawJson::parse(call(tool).to_string()).unwrap();
            let binding = RequestBinding::new("tools/call", JsonObject::from_raw(&params).unwrap(), None);
            let state = RequestState::Own("2".into());
            let token = keys.seal(&state, binding.bound(), SystemTime::now() - age, Duration::from_secs(60));
            again(&call("own"), &json!({"result": {"requestState": token}}), accept("ann"))
        };
        says(&ask(&mut host, 1, "tools/call", &signed("own", Duration::ZERO)).await, "state 2");
        let age = Duration::from_secs(600);
        for (id, tool, why) in [
            (2, "own", "is used up or too old, or its call gave way to others; call again"),
            (3, "other", "is not valid for this request"),
        ] {
            let refused = ask(&mut host, id, "tools/call", &signed(tool, age)).await;
            fails(&refused, -32602);
            assert_eq!(refused["error"]["message"], format!("invalid params: requestState {why}"));
        }
    });
}

#[test]
fn a_state_of_another_key_is_refused() {
    run_paused(async {
        let (a, b) = (server("a", 1, None), server("a", 2, None));
        let (mut here, mut there) = (a.connect(), b.connect());
        for tool in ["name 1", "own"] {
            let first = ask(&mut here, 1, "tools/call", &call(tool)).await;
            let refused = ask(&mut there, 1, "tools/call", &again(&call(tool), &first, accept("ann"))).await;
            fails(&refused, -32602);
            assert_eq!(refused["error"]["message"], "invalid params: requestState is not valid for this request");
        }
    });
}

#[test]
fn each_process_with_the_key_accepts_the_state_of_a_handler() {
    run_paused(async {
        let (a, b) = (server("a", 1, None), server("b", 1, None));
        let (mut here, mut there) = (a.connect(), b.connect());
        let call = call("own");
        let first = ask(&mut here, 1, "tools/call", &call).await;
        let second = ask(&mut there, 1, "tools/call", &again(&call, &first, accept("a"))).await;
        says(&ask(&mut here, 2, "tools/call", &again(&call, &second, accept("a"))).await, "state 2");
    });
}

#[test]
fn processes_with_default_stores_have_different_names() {
    run_paused(async {
        let names = [Stores::default(), Stores::default()].map(|stores| {
            let stage = Stage::with_stores(Limits::default(), RequestStateKeys::random(), stores);
            stage.server.handle().node().clone()
        });
        assert_ne!(names[0], names[1]);
    });
}

/// A store that does not answer, or is out of reach.
#[derive(Debug)]
pub(crate) struct Away {
    pub(crate) is_silent: bool,
    /// The number of questions for the processes.
    pub(crate) lookups: AtomicUsize,
}

impl Away {
    fn answer<T: Send + 'static>(&self) -> StoreAnswer<'_, T> {
        if self.is_silent {
            return Box::pin(std::future::pending());
        }
        Box::pin(async { Err(StoreError::Unavailable) })
    }
}

impl LeaseStore for Away {
    fn register<'a>(&'a self, _: &'a LeaseName, _: Duration) -> StoreAnswer<'a, bool> {
        self.answer()
    }

    fn renew<'a>(&'a self, _: &'a LeaseName, _: Duration) -> StoreAnswer<'a, bool> {
        self.answer()
    }

    fn announce<'a>(&'a self, _: &'a LeaseName, _: &'a str) -> StoreAnswer<'a, bool> {
        self.answer()
    }

    fn address<'a>(&'a self, _: &'a LeaseName) -> StoreAnswer<'a, Option<Arc<str>>> {
        self.answer()
    }

    fn resign<'a>(&'a self, _: &'a LeaseName) -> StoreAnswer<'a, ()> {
        self.answer()
    }

    fn live(&self) -> StoreAnswer<'_, Vec<LeaseName>> {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        self.answer()
    }

    fn open<'a>(&'a self, _: &'a str, _: &'a LeaseName) -> StoreAnswer<'a, Claim> {
        self.answer()
    }

    fn claim<'a>(&'a self, _: &'a str, _: &'a LeaseName) -> StoreAnswer<'a, Claim> {
        self.answer()
    }

    fn save<'a>(&'a self, _: &'a str, _: FencingToken, _: &'a SessionSnapshot) -> StoreAnswer<'a, bool> {
        self.answer()
    }

    fn release<'a>(&'a self, _: &'a str, _: FencingToken) -> StoreAnswer<'a, bool> {
        self.answer()
    }

    fn close<'a>(&'a self, _: &'a str, _: FencingToken) -> StoreAnswer<'a, bool> {
        self.answer()
    }
}

#[test]
fn a_store_that_is_away_holds_up_only_retries_from_elsewhere() {
    run_paused(async {
        for (is_silent, seconds) in [(true, 30), (false, 0)] {
            let stage = |name: &str| server(name, 1, Some(Arc::new(Away { is_silent, lookups: AtomicUsize::new(0) })));
            let (a, b) = (stage("a"), stage("b"));
            let (mut here, mut there) = (a.connect(), b.connect());
            let first = ask(&mut here, 1, "tools/call", &call("name 1")).await;
            let retry = again(&call("name 1"), &first, accept("ann"));
            let began = tokio::time::Instant::now();
            let refused = ask(&mut there, 1, "tools/call", &retry).await;
            fails(&refused, -32603);
            assert_eq!((began.elapsed().as_secs(), &reason(&refused)["retryable"]), (seconds, &json!(true)));
            says(&ask(&mut here, 2, "tools/call", &retry).await, r#"{"name":"ann"}"#);
            fails(&ask(&mut here, 3, "tools/call", &retry).await, -32602);
            assert_eq!(began.elapsed().as_secs(), seconds, "a call of this process needs no store");
        }
    });
}

#[test]
fn refused_retries_share_the_answer_of_the_store() {
    run_paused(async {
        let store = Arc::new(Away { is_silent: false, lookups: AtomicUsize::new(0) });
        let (a, b) = (server("a", 1, None), server("b", 1, Some(Arc::clone(&store) as Arc<dyn LeaseStore>)));
        let (mut here, mut there) = (a.connect(), b.connect());
        let first = ask(&mut here, 1, "tools/call", &call("name 1")).await;
        let retry = again(&call("name 1"), &first, accept("ann"));
        for (id, lookups) in [(1, 1), (2, 1), (3, 2)] {
            fails(&ask(&mut there, id, "tools/call", &retry).await, -32603);
            assert_eq!(store.lookups.load(Ordering::Relaxed), lookups, "retry {id}");
            if id == 2 {
                tokio::time::advance(Duration::from_secs(1)).await;
            }
        }
    });
}

#[test]
fn a_process_that_has_just_begun_is_not_taken_for_ended() {
    run_paused(async {
        let leases = memory();
        let stage = |name: &str| server(name, 1, Some(Arc::clone(&leases) as Arc<dyn LeaseStore>));
        let (a, b) = (stage("a"), stage("b"));
        let (mut here, mut there) = (a.connect(), b.connect());
        let first = ask(&mut here, 1, "tools/call", &call("name 1")).await;
        let retry = again(&call("name 1"), &first, accept("ann"));
        let refused = ask(&mut there, 1, "tools/call", &retry).await;
        assert_eq!(reason(&refused)["error_code"], "REPLICA_GONE", "{refused}");
        assert_eq!(leases.register(&LeaseName::first(NodeId::new("a")), TTL).await, Ok(true));
        tokio::time::advance(Duration::from_millis(1)).await;
        let refused = ask(&mut there, 2, "tools/call", &retry).await;
        assert_eq!(reason(&refused)["node"], "a", "{refused}");
    });
}

#[test]
fn a_retry_without_a_session_is_refused_as_well() {
    run_paused(async {
        let leases = memory();
        let lease = LeaseName::first(NodeId::new("a"));
        assert_eq!(leases.register(&lease, TTL).await, Ok(true));
        let stage = |name: &str| server(name, 1, Some(Arc::clone(&leases) as Arc<dyn LeaseStore>));
        let (a, b) = (stage("a"), stage("b"));
        let meta = r#""_meta":{«2026 {"elicitation":{}}»}"#;
        let call = format!(r#""name":"name 1",{meta}"#);
        let asked = next(&mut send(&a, "tools/call", &call)).await.unwrap();
        let asked: Value = serde_json::from_str(&asked).unwrap();
        let retry =
            format!(r#"{call},"requestState":{},"inputResponses":{}"#, asked["result"]["requestState"], accept("ann"));
        let refused = next(&mut send(&b, "tools/call", &retry)).await.unwrap();
        assert!(refused.contains("WRONG_PROCESS") && refused.contains(r#""node":"a""#), "{refused}");
        drop(send(&b, "tools/call", &retry));
        let answered = next(&mut send(&a, "tools/call", &retry)).await.unwrap();
        assert!(answered.contains(r#"{\"name\":\"ann\"}"#), "{answered}");
    });
}

#[test]
fn a_transport_finds_the_process_that_holds_a_call() {
    run_paused(async {
        let (leases, lease) = (memory(), LeaseName::first(NodeId::new("a")));
        assert_eq!(leases.register(&lease, TTL).await, Ok(true));
        let stage = |name: &str| server(name, 1, Some(Arc::clone(&leases) as Arc<dyn LeaseStore>));
        let (a, b) = (stage("a"), stage("b"));
        let mut here = a.connect();
        let first = ask(&mut here, 1, "tools/call", &call("name 1")).await;
        let request = |params: &Value| Request {
            id: RequestId::from(1),
            method: "tools/call".into(),
            params: Params::of(params).unwrap(),
        };
        let retry = request(&again(&call("name 1"), &first, accept("ann")));
        let (here, there) = (a.server.handle(), b.server.handle());
        assert_eq!(there.holder_of(&retry, None).unwrap().await, Some(lease.clone()));
        assert!(here.holder_of(&retry, None).is_none(), "it holds the call");
        assert!(there.holder_of(&retry, Some("bob".into())).is_none(), "the state is another principal's");
        assert!(there.holder_of(&request(&call("name 1")), None).is_none(), "it has no state");
        leases.resign(&lease).await.unwrap();
        // The answer of the store is shared for a second.
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(there.holder_of(&retry, None).unwrap().await, None, "it has ended");
    });
}
