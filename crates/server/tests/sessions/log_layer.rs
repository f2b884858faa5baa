//! The program's own log, as hosts see it.

use protomcp_server::{Limits, LogLayer, ServerHandle};
use tracing::subscriber::set_default;
use tracing_subscriber::layer::SubscriberExt;

use super::transcript::{Host, play};

fn listen(sessions: &ServerHandle) -> tracing::subscriber::DefaultGuard {
    set_default(tracing_subscriber::registry().with(LogLayer::new(sessions.clone())))
}

fn line(level: &str, logger: &str, data: &str) -> String {
    format!(
        r#"← {{"method":"notifications/message","params":{{"level":"{level}","logger":"{logger}","data":{data}}}}}"#
    )
}

async fn set_level(host: &mut Host, level: &str) {
    host.steps(&[
        &format!(r#"→ {{"id":1,"method":"logging/setLevel","params":{{"level":"{level}"}}}}"#),
        r#"← {"id":1,"result":{}}"#,
    ])
    .await;
}

#[test]
fn events_reach_hosts_with_their_fields() {
    play(Limits::default(), async |stage| {
        let _listening = listen(stage.server.handle());
        let mut host = stage.connect();
        tracing::error!(target: "early", "no client is there yet");
        host.steps(&["→ hello", "· 1ms"]).await;
        set_level(&mut host, "debug").await;
        let name = "x\"y";
        tracing::info!(target: "app::db", rows = 7, wide = u64::MAX, share = 0.5, none = f64::NAN, ok = true, name, path = ?Some(1), "read {}", "all");
        host.steps(&[&line(
            "info",
            "app::db",
            r#"{"message":"read all","rows":7,"wide":18446744073709551615,"share":0.5,"none":null,"ok":true,"name":"x\"y","path":"Some(1)"}"#,
        )])
        .await;
        tracing::warn!(target: "app", logger = "database", "slow");
        tracing::error!(target: "app", code = -1);
        tracing::trace!(target: "app", "t");
        host.steps(&[
            &line("warning", "database", r#"{"message":"slow"}"#),
            &line("error", "app", r#"{"code":-1}"#),
            &line("debug", "app", r#"{"message":"t"}"#),
            "· 1000ms",
        ])
        .await;
    });
}

#[test]
fn each_client_gets_its_level_and_none_gets_our_own_events() {
    play(Limits::default(), async |stage| {
        let _listening = listen(stage.server.handle());
        let (mut loud, mut quiet) = (stage.connect(), stage.connect());
        loud.steps(&["→ hello", "· 1ms"]).await;
        quiet.steps(&["→ hello", "· 1ms"]).await;
        set_level(&mut loud, "debug").await;
        set_level(&mut quiet, "error").await;
        tracing::debug!(target: "app", "d");
        tracing::error!(target: "protomcp_server::server", "ours");
        tracing::error!(target: "app", "e");
        loud.steps(&[&line("debug", "app", r#"{"message":"d"}"#), &line("error", "app", r#"{"message":"e"}"#)]).await;
        quiet.steps(&[&line("error", "app", r#"{"message":"e"}"#), "· 1000ms"]).await;
        // The session logs that it ignores this, which must not come back to it.
        loud.steps(&[r#"→ {"id":77,"result":{}}"#, "· 1000ms"]).await;
    });
}

#[test]
fn a_flood_is_cut_off_and_reported() {
    play(Limits { max_notices: 2, ..Limits::default() }, async |stage| {
        let _listening = listen(stage.server.handle());
        let mut host = stage.connect();
        host.steps(&["→ hello", "· 1ms"]).await;
        for number in 0..5 {
            tracing::info!(target: "app", number);
        }
        host.steps(&[
            &line("info", "app", r#"{"number":0}"#),
            &line("info", "app", r#"{"number":1}"#),
            r#"← {"method":"notifications/message","params":{"level":"warning","logger":"protomcp","data":"3 notifications were dropped: they came faster than they were read"}}"#,
            "· 1000ms",
        ])
        .await;
    });
}

#[test]
fn a_long_text_is_cut_at_a_character() {
    play(Limits::default(), async |stage| {
        let _listening = listen(stage.server.handle());
        let mut host = stage.connect();
        host.steps(&["→ hello", "· 1ms"]).await;
        let long = format!("x{}", "é".repeat(LogLayer::MAX_TEXT));
        let kept = format!("x{}…", "é".repeat(LogLayer::MAX_TEXT / 2 - 1));
        tracing::info!(target: "app", long);
        host.steps(&[&line("info", "app", &format!(r#"{{"long":"{kept}"}}"#))]).await;
        tracing::info!(target: "app", "{long}{long}");
        host.steps(&[&line("info", "app", &format!(r#"{{"message":"{kept}"}}"#))]).await;
    });
}

#[test]
fn events_stay_in_our_log_while_several_owners_are_connected() {
    play(Limits::default(), async |stage| {
        let _listening = listen(stage.server.handle());
        let (mut ann, mut bob) = (stage.connect_as("ann"), stage.connect_as("bob"));
        ann.steps(&["→ hello", "· 1ms"]).await;
        tracing::info!(target: "app", "about one of them");
        ann.steps(&["· 1000ms"]).await;
        bob.steps(&["→ hello", "· 1ms", "→ end", "← end"]).await;
        tracing::info!(target: "app", "about ann");
        ann.steps(&[&line("info", "app", r#"{"message":"about ann"}"#)]).await;
    });
}
