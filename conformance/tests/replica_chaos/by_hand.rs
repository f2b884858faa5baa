//! Clients written by hand, which know what each response promises.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::replica_chaos::exchange::{Event, Response, send};
use crate::replica_chaos::ledger::{Calls, Ledger};
use crate::replica_chaos::{PAUSE, STEPS};

/// The outcome of a request.
enum Outcome {
    /// The result.
    Answered(Value),
    /// 503: the request has not begun.
    NotBegun(Duration),
    /// 404: the session is not known.
    Forgotten,
    /// 400: some events of the answer are not kept.
    Missing,
    /// The response was cut, and the call may have run.
    Cut(String),
    /// It may have run.
    Failed(String),
}

/// A client of 2026-07-28.
pub(crate) async fn without_session(address: String, mut calls: Calls) {
    let ledger = Arc::clone(&calls.ledger);
    let mut call = calls.next();
    while !ledger.is_over() {
        let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "work")];
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "by-hand", "version": "1"},
            "progressToken": 1,
        });
        let mut steps = Vec::new();
        let outcome = match send(&address, Method::POST, &headers, message(&call, &meta)).await {
            Err(why) => Outcome::Failed(why),
            Ok(response) if response.status == StatusCode::SERVICE_UNAVAILABLE && response.is_of_pmcp() => {
                ledger.fault(format!("{call}, which needs no store, got 503"));
                refused(&response)
            }
            Ok(mut response) => read(&mut response, &mut steps, &mut None).await,
        };
        match outcome {
            Outcome::NotBegun(pause) => sleep(pause).await,
            outcome => {
                note(&ledger, &calls.client, &call, &steps, &outcome);
                call = calls.next();
                sleep(PAUSE).await;
            }
        }
    }
}

/// A client of 2025-11-25.
pub(crate) async fn in_sessions(address: String, mut calls: Calls) {
    let ledger = Arc::clone(&calls.ledger);
    'sessions: while !ledger.is_over() {
        let losses = ledger.losses.load(Ordering::SeqCst);
        let Some(session) = open(&address).await else {
            sleep(PAUSE).await;
            continue;
        };
        // The processes that have answered, one after the other.
        let mut places: Vec<String> = Vec::new();
        let disturbances = ledger.disturbances.load(Ordering::SeqCst);
        let mut call = calls.next();
        while !ledger.is_over() {
            let mut steps = Vec::new();
            let outcome = work(&address, &session, &calls, &call, &mut steps).await;
            match &outcome {
                Outcome::NotBegun(pause) => {
                    sleep(*pause).await;
                    continue;
                }
                Outcome::Forgotten => {
                    if ledger.losses.load(Ordering::SeqCst) == losses {
                        ledger.fault(format!("the session of {call} is not known, and the store has lost nothing"));
                    }
                    continue 'sessions;
                }
                // A connection may be cut before the store has the beginning of its stream.
                Outcome::Missing if !steps.is_empty() && ledger.losses.load(Ordering::SeqCst) == losses => {
                    ledger.fault(format!("events of {call} are not kept, and the store has lost nothing"));
                }
                Outcome::Answered(result) => {
                    let text = result["content"][0]["text"].as_str().unwrap_or_default();
                    let place = text.rsplit(' ').next().unwrap_or_default();
                    if places.last().is_none_or(|last| last != place) {
                        places.push(place.to_owned());
                    }
                }
                Outcome::Missing | Outcome::Failed(_) | Outcome::Cut(_) => {}
            }
            note(&ledger, &calls.client, &call, &steps, &outcome);
            call = calls.next();
            sleep(PAUSE).await;
        }
        // A session moves if its server is disturbed, and is in one place until then.
        let disturbances = ledger.disturbances.load(Ordering::SeqCst) - disturbances;
        if places.len() > disturbances + 2 {
            ledger.fault(format!("{}: after {disturbances} disturbances a session was at {places:?}", calls.client));
        }
    }
}

/// Makes one call, and asks for the rest of its answer as long as that is cut.
async fn work(address: &str, session: &str, calls: &Calls, call: &str, steps: &mut Vec<u64>) -> Outcome {
    let headers = [("mcp-session-id", session), ("mcp-protocol-version", "2025-11-25")];
    let mut response = match send(address, Method::POST, &headers, message(call, &json!({"progressToken": 1}))).await {
        Ok(response) => response,
        Err(why) => return Outcome::Failed(why),
    };
    let mut last = None;
    loop {
        calls.ledger.got(&calls.client, format!("{call}: {:?} after {steps:?} and {last:?}", response.status));
        let outcome = read(&mut response, steps, &mut last).await;
        let (Outcome::Cut(_), Some(id)) = (&outcome, last.clone()) else { return outcome };
        loop {
            let resumed = [&headers[..], &[("last-event-id", id.as_str())]].concat();
            match send(address, Method::GET, &resumed, String::new()).await {
                Ok(rest) if rest.status == StatusCode::OK => {
                    response = rest;
                    break;
                }
                Ok(refused) if refused.status == StatusCode::NOT_FOUND => return Outcome::Forgotten,
                // Later.
                Ok(refused) if refused.status.is_server_error() => {
                    calls.ledger.got(&calls.client, format!("{call}: {:?} after {id}", refused.status));
                }
                Err(why) => calls.ledger.got(&calls.client, format!("{call}: {why} after {id}")),
                Ok(_) => return Outcome::Missing,
            }
            sleep(PAUSE).await;
        }
    }
}

/// Reads to the answer, or to the end.
async fn read(response: &mut Response, steps: &mut Vec<u64>, last: &mut Option<String>) -> Outcome {
    match response.status {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => return Outcome::Forgotten,
        StatusCode::SERVICE_UNAVAILABLE => return refused(response),
        status => return Outcome::Failed(format!("status {status}")),
    }
    loop {
        match response.event().await {
            Err(why) => return Outcome::Cut(why),
            Ok(None) => return Outcome::Cut("the response was cut".to_owned()),
            Ok(Some(Event { id, message })) => {
                *last = id.or_else(|| last.take());
                match message {
                    Some(message) if message["method"] == "notifications/progress" => {
                        steps.push(message["params"]["progress"].as_f64().map_or(0, |step| step as u64));
                    }
                    Some(mut message) if message.get("result").is_some() => {
                        return Outcome::Answered(message["result"].take());
                    }
                    Some(message) if message.get("error").is_some() => return failure(&message["error"]),
                    _ => {}
                }
            }
        }
    }
}

/// An error in place of an answer.
fn failure(error: &Value) -> Outcome {
    let explained = &error["data"]["protomcp/error"];
    match explained["error_code"].as_str() {
        Some(code) if explained["retryable"] == true => Outcome::Failed(code.to_owned()),
        _ => Outcome::Failed(format!("not retryable: {error}")),
    }
}

/// 503, with the time after which the request can be sent again.
fn refused(response: &Response) -> Outcome {
    match response.retry_after() {
        Some(pause) => Outcome::NotBegun(pause),
        // The balancer has no server.
        None if !response.is_of_pmcp() => Outcome::NotBegun(PAUSE),
        None => Outcome::Failed("not retryable: 503 without Retry-After".to_owned()),
    }
}

fn note(ledger: &Ledger, client: &str, call: &str, steps: &[u64], outcome: &Outcome) {
    match outcome {
        Outcome::Answered(result) => {
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            if text.starts_with(&format!("{call} ")) {
                ledger.answered(client, call, steps, STEPS);
            } else if result["_meta"]["protomcp/error"]["retryable"] == true {
                ledger.failed(call, steps, text);
            } else {
                ledger.fault(format!("{call} has another answer: {result}"));
            }
        }
        Outcome::Failed(why) if why.starts_with("not retryable") => ledger.fault(format!("{call}: {why}")),
        Outcome::Failed(why) | Outcome::Cut(why) => ledger.failed(call, steps, why),
        Outcome::Missing => ledger.failed(call, steps, "its events are not kept"),
        Outcome::Forgotten | Outcome::NotBegun(_) => {}
    }
}

/// The call as a message.
fn message(call: &str, meta: &Value) -> String {
    let params = json!({"name": "work", "arguments": {"call": call, "steps": STEPS}, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": call, "method": "tools/call", "params": params}).to_string()
}

/// Opens a session; `None`: it cannot be opened now.
async fn open(address: &str) -> Option<String> {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "by-hand", "version": "1"}
    }});
    let mut response = send(address, Method::POST, &[], hello.to_string()).await.ok()?;
    let session = response.header("mcp-session-id")?;
    response.event().await.ok()??;
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    let told = send(address, Method::POST, &[("mcp-session-id", &session)], told).await.ok()?;
    (told.status == StatusCode::ACCEPTED).then_some(session)
}
