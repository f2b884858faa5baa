//! Made-up tokens.

use std::time::{Duration, Instant};

use protomcp_conformance::neighbours::{Neighbours, Setup, User, token};
use protomcp_conformance::{Issuer, tier};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

use crate::{SLACK, goes_on};

/// The delay of the issuer's replies.
const DELAY: Duration = Duration::from_millis(100);

/// Tokens of a key that does not exist, in aborted requests.
pub(crate) async fn make_keys_up(mallory: User) {
    let (start, mut number) = (Instant::now(), 0);
    while goes_on(start) {
        number += 1;
        make_key_up(&mallory, number).await;
    }
}

async fn make_key_up(mallory: &User, number: usize) {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let header = format!("{{\"alg\":\"ES256\",\"kid\":\"made-up-{number}\"}}");
    let forged = mallory.clone().with_token(format!("{}.e30.AAAA", base64(&header)));
    let Ok(mut stream) = mallory.socket().await else { return };
    let _ = stream.write_all(&forged.request("POST", "/mcp", &[], &ping)).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    let _ = stream.set_zero_linger();
}

/// Tokens that only the issuer could verify.
pub(crate) async fn make_tokens_up(mallory: User) {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let mut requests = JoinSet::new();
    for number in 0..1500 {
        let forged = mallory.clone().with_token(format!("made-up-{number}"));
        let request = forged.request("POST", "/mcp", &[], &ping);
        requests.spawn(async move {
            let Ok(mut connection) = forged.connect().await else { return };
            let _ = connection.write(&request).await;
            let _ = connection.response().await;
        });
    }
    let wait = async { while requests.join_next().await.is_some() {} };
    drop(tokio::time::timeout(Duration::from_secs(3), wait).await);
}

fn base64(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text)
}

#[test]
fn requests_that_are_broken_off_stop_no_renewal_of_keys() {
    let mut issuer = Issuer::start();
    let neighbours = Neighbours::start_with(&Setup::default(), Some(&mut issuer));
    neighbours
        .suffer_whole(async |mallory| {
            issuer.delay(Duration::from_millis(300));
            issuer.rotate();
            let (asked, mut number) = (issuer.asked(), 0);
            // The server asks again some time after it has asked before, and mallory's request is the first to need it.
            while issuer.asked() == asked {
                number += 1;
                make_key_up(&mallory, number).await;
            }
            // From here on alice arrives with tokens of the new key.
            let fresh = (0..tier(200, 2000)).map(|_| token(&mut issuer, "ES256", "alice")).collect();
            *neighbours.alice.fresh.lock().expect("it is not poisoned") = fresh;
            make_keys_up(mallory).await;
        })
        .ends()
        .serves()
        .grows_at_most(SLACK);
}

#[test]
fn tokens_that_are_made_up_keep_no_good_one_waiting() {
    let mut issuer = Issuer::start();
    issuer.delay(DELAY);
    let url = format!("{}/introspect", issuer.url());
    let flags = ["--oauth-introspect", &url, "--oauth-client-id", "tools", "--oauth-client-secret-env", "TOOLS_SECRET"];
    let setup = Setup { flags: &flags, alg: "opaque", turn: DELAY, ..Setup::default() };
    let neighbours = Neighbours::start_with(&setup, Some(&mut issuer));
    let fresh = (0..2000).map(|_| token(&mut issuer, "opaque", "alice")).collect();
    *neighbours.alice.fresh.lock().expect("it is not poisoned") = fresh;
    neighbours.suffer(make_tokens_up).serves().grows_at_most(SLACK);
}
