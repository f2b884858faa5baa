//! Servers in the process of a test, without a bridge: middleware around calls, and state for the next process.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use protomcp_sdk::{Config, Handover, Harness, HarnessError, Middleware, TestClient, Verdict};
use protomcp_server::Context;
use protomcp_testing::in_time;
use protomcp_typed::{JsonSchema, Registry, Tool, ToolError};
use protomcp_types::{CallToolResult, RawJson};
use serde::Deserialize;
use tokio::sync::Notify;

#[derive(Deserialize, JsonSchema)]
struct Pay {
    amount: u64,
}

fn text(result: &CallToolResult) -> &str {
    result.content.as_str()
}

async fn start(registry: &Registry, config: Config) -> Harness {
    Harness::with_config(registry.server(), TestClient::default(), config).await.expect("it starts")
}

#[tokio::test]
async fn calls_of_a_harness_pass_through_its_middleware() {
    let paid = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&paid);
    let pay = move |args: Pay| {
        let calls = counted.fetch_add(1, Ordering::SeqCst) + 1;
        async move {
            match args.amount {
                0 => Err(ToolError::new("nothing to pay")),
                amount => Ok(format!("paid {amount} in call {calls}")),
            }
        }
    };
    let registry =
        Registry::builder("shop", "1.0").tool(Tool::new("pay", "Pays").handler(pay)).build().expect("it is valid");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = |entry: &'static str| {
        let seen = Arc::clone(&seen);
        move || seen.lock().expect("no panic").push(entry)
    };
    let (outer, inner, last, first) = (log("outer"), log("inner"), log("outer after"), log("inner after"));
    let limits = Middleware::new("limits", 10)
        .before(move |call| {
            outer();
            let verdict = match call.argument::<u64>("amount") {
                Some(amount) if amount > 100 => Verdict::Reject("at most 100 at a time".into()),
                Some(7) => Verdict::Replace(RawJson::parse(r#"{"amount":8}"#).expect("it is JSON")),
                _ => Verdict::Continue,
            };
            async { verdict }
        })
        .after(move |_, _| {
            last();
            async { None }
        });
    let receipts = Middleware::new("receipts", 20)
        .before(move |call| {
            inner();
            assert_ne!(call.argument::<u64>("amount"), Some(7), "the outer one has replaced it");
            async { Verdict::Continue }
        })
        .after(move |call, result| {
            first();
            let note = format!("{} of {}", if result.is_error { "failure" } else { "receipt" }, call.tool);
            async move { Some(RawJson::text(&note)) }
        });
    // The order is the order of the priorities, not of the list.
    let harness = start(&registry, Config { middleware: vec![receipts, limits], ..Config::default() }).await;

    let result = harness.call("pay", r#"{"amount":7}"#).await.expect("it has a result");
    assert!(!result.is_error && text(&result).contains("receipt of pay"), "{}", text(&result));
    assert_eq!(std::mem::take(&mut *seen.lock().expect("no panic")), ["outer", "inner", "inner after", "outer after"]);

    let refused = harness.call("pay", r#"{"amount":101}"#).await.expect("it has a result");
    assert!(refused.is_error && text(&refused).contains("at most 100 at a time"), "{}", text(&refused));
    assert_eq!(std::mem::take(&mut *seen.lock().expect("no panic")), ["outer"]);
    assert_eq!(paid.load(Ordering::SeqCst), 1, "the tool has not run");

    let failed = harness.call("pay", r#"{"amount":0}"#).await.expect("it has a result");
    assert!(failed.is_error && text(&failed).contains("failure of pay"), "{}", text(&failed));
}

/// Both closures panic before there is a future.
#[tokio::test]
async fn a_panic_of_a_middleware_stays_in_its_call() {
    let pay = Tool::new("pay", "Pays").handler(async |args: Pay| format!("paid {}", args.amount));
    let registry = Registry::builder("shop", "1.0").tool(pay).build().expect("it is valid");
    let limits = Middleware::new("limits", 10).before(|call| {
        let amount = call.argument::<u64>("amount").expect("an amount");
        async move { if amount > 100 { Verdict::Reject("at most 100 at a time".into()) } else { Verdict::Continue } }
    });
    let receipts = Middleware::new("receipts", 20).after(|_, result| {
        assert!(!result.content.as_str().contains("13"), "on purpose");
        async { Some(RawJson::text("a receipt")) }
    });
    let harness = start(&registry, Config { middleware: vec![limits, receipts], ..Config::default() }).await;
    let refused = harness.call("pay", "{}").await.expect("the process goes on");
    assert!(refused.is_error && text(&refused).contains("it panicked"), "{}", text(&refused));
    for (arguments, expected) in [(r#"{"amount":13}"#, "paid 13"), (r#"{"amount":7}"#, "a receipt")] {
        let paid = harness.call("pay", arguments).await.expect("the process goes on");
        assert!(!paid.is_error && text(&paid).contains(expected), "{}", text(&paid));
    }
}

/// A server that counts, with the state in its second half.
async fn counter(give: impl Fn() -> u64 + Send + Sync + 'static) -> (Harness, Arc<AtomicUsize>) {
    let taken = Arc::new(AtomicUsize::new(0));
    let slot = Arc::clone(&taken);
    let take = move |count: u64| slot.store(usize::try_from(count).expect("it is small"), Ordering::SeqCst);
    let registry = Registry::builder("counter", "1.0").build().expect("it is valid");
    (start(&registry, Config { handover: Some(Handover::new(give, take)), ..Config::default() }).await, taken)
}

#[tokio::test]
async fn a_state_is_handed_over_or_the_reason_is_known() {
    let (old, _) = counter(|| 42).await;
    let (new, taken) = counter(|| 0).await;
    old.hand_over(&new).await.expect("the state is a number");
    assert_eq!(taken.load(Ordering::SeqCst), 42);
    // The old one still has it.
    old.hand_over(&new).await.expect("the state is a number");

    let (broken, _) = counter(|| panic!("on purpose")).await;
    let error = broken.hand_over(&new).await.expect_err("it panics").to_string();
    assert!(error.contains("it panicked: on purpose"), "{error}");

    let text = Handover::new(|| "forty-two".to_owned(), |_: String| {});
    let registry = Registry::builder("text", "1.0").build().expect("it is valid");
    let other = start(&registry, Config { handover: Some(text), ..Config::default() }).await;
    let error = other.hand_over(&new).await.expect_err("a text, and not a number").to_string();
    assert!(error.contains("the state cannot be read"), "{error}");

    let without = start(&registry, Config::default()).await;
    without.hand_over(&new).await.expect("there is nothing to hand over");
    assert_eq!(taken.load(Ordering::SeqCst), 42);
}

#[tokio::test]
async fn the_largest_state_is_handed_over_and_no_larger_one() {
    // A text in JSON has two quotes.
    for (length, fits) in [((1 << 20) - 2, true), ((1 << 20) - 1, false)] {
        let taken = Arc::new(AtomicUsize::new(0));
        let slot = Arc::clone(&taken);
        let take = move |state: String| slot.store(state.len(), Ordering::SeqCst);
        let registry = Registry::builder("large", "1.0").build().expect("it is valid");
        let handover = Handover::new(move || "x".repeat(length), take);
        let server = start(&registry, Config { handover: Some(handover), ..Config::default() }).await;
        match server.hand_over(&server).await {
            Ok(()) => assert_eq!((taken.load(Ordering::SeqCst), fits), (length, true)),
            Err(error) => {
                assert!(!fits, "{length}: {error}");
                assert!(error.to_string().contains("1048577 bytes, more than the limit of 1048576"), "{error}");
                assert_eq!(taken.load(Ordering::SeqCst), 0);
            }
        }
    }
}

#[tokio::test]
async fn the_state_is_read_when_a_cancelled_call_has_ended() {
    let (begun, end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let state = Arc::new(Mutex::new("begun"));
    let (begins, ends, changed) = (Arc::clone(&begun), Arc::clone(&end), Arc::clone(&state));
    let work = Tool::new("work", "Cleans up after its cancellation").handler(move |context: Context| {
        let (begins, ends, changed) = (Arc::clone(&begins), Arc::clone(&ends), Arc::clone(&changed));
        async move {
            begins.notify_one();
            context.cancelled().await;
            ends.notified().await;
            *changed.lock().expect("no panic") = "cleaned up";
            "done"
        }
    });
    let registry = Registry::builder("worker", "1.0").tool(work).build().expect("it is valid");
    let handover = Handover::new(move || (*state.lock().expect("no panic")).to_owned(), |_: String| {});
    let old = start(&registry, Config { handover: Some(handover), ..Config::default() }).await;
    let seen = Arc::new(Mutex::new(String::new()));
    let slot = Arc::clone(&seen);
    let handover = Handover::new(String::new, move |state: String| *slot.lock().expect("no panic") = state);
    let new = start(&registry, Config { handover: Some(handover), ..Config::default() }).await;

    let calling = async {
        let _: Result<CallToolResult, HarnessError> = old.call("work", "{}").await;
    };
    tokio::select! {
        () = calling => panic!("the call does not end by itself"),
        () = begun.notified() => {}
    }
    let mut handing_over = std::pin::pin!(old.hand_over(&new));
    tokio::select! {
        biased;
        _ = &mut handing_over => panic!("the call still runs"),
        () = tokio::task::yield_now() => {}
    }
    end.notify_one();
    in_time(handing_over).await.expect("it ends").expect("a state");
    assert_eq!(*seen.lock().expect("no panic"), "cleaned up");
}
