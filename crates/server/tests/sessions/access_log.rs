//! The access log, as events of `tracing`.

use std::fmt::{Debug, Write};

use protomcp_server::{ACCESS_TARGET, Limits};
use protomcp_testing::Seen;
use tracing::field::{Field, Visit};
use tracing::subscriber::{DefaultGuard, set_default};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::stateless::{next, send};
use super::transcript::play;

/// Keeps the lines of the access log, without their times.
struct Lines(Seen);

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == ACCESS_TARGET {
            let mut text = Text(String::new());
            event.record(&mut text);
            self.0.push(text.0.trim_end());
        }
    }
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if !["message", "ms"].contains(&field.name()) {
            write!(self.0, "{}={value:?} ", field.name()).unwrap();
        }
    }
}

fn listen() -> (Seen, DefaultGuard) {
    let seen = Seen::default();
    let guard = set_default(tracing_subscriber::registry().with(Lines(seen.clone())));
    (seen, guard)
}

#[test]
fn each_request_is_one_line_when_it_is_answered() {
    play(Limits::default(), async |stage| {
        let (seen, _listening) = listen();
        let sessions = stage.server.handle();
        assert!(!sessions.logs_access());
        sessions.log_access();
        let mut host = stage.connect_as("ann");
        host.steps(&["→ hello"]).await;
        for (request, answer, line) in [
            (r#"{"id":1,"method":"ping"}"#, r#""result":{}"#, r#"method="ping" outcome="ok""#),
            (
                r#"{"id":2,"method":"tools/call","params":{"name":"fail"}}"#,
                r#""isError":true"#,
                r#"method="tools/call" name="fail" outcome="tool error""#,
            ),
            (
                r#"{"id":3,"method":"tools/call","params":{"name":"echo","arguments":[]}}"#,
                "-32602",
                r#"method="tools/call" name="echo" outcome="error" code=-32602"#,
            ),
            (
                r#"{"id":4,"method":"resources/read","params":{"uri":"file:///none"}}"#,
                "-32002",
                r#"method="resources/read" name="file" outcome="error" code=-32002"#,
            ),
            (r#"{"id":5,"method":"no/such"}"#, "-32601", r#"method="no/such" outcome="error" code=-32601"#),
        ] {
            seen.take();
            host.steps(&[&format!("→ {request}")]).await;
            let text = host.next().await.unwrap();
            assert!(text.contains(answer), "{text}");
            assert_eq!(seen.wait().await, [format!(r#"{line} session=1 subject="ann""#)]);
        }
    });
}

#[test]
fn a_request_without_an_answer_was_cancelled() {
    play(Limits::default(), async |stage| {
        let (seen, _listening) = listen();
        stage.server.handle().log_access();
        let mut host = stage.connect();
        host.steps(&["→ hello"]).await;
        assert_eq!(seen.wait().await, [r#"method="initialize" outcome="ok" session=1"#]);
        let wait = r#"→ {"id":1,"method":"tools/call","params":{"name":"wait"}}"#;
        let cancel = r#"→ {"method":"notifications/cancelled","params":{"requestId":1}}"#;
        host.steps(&[wait, cancel]).await;
        let line = r#"method="tools/call" name="wait" outcome="cancelled" session=1"#;
        assert_eq!(seen.wait().await, [line]);
        host.steps(&[r#"→ {"id":2,"method":"tools/call","params":{"name":"wait"}}"#, "· 1ms"]).await;
        host.abort();
        assert_eq!(seen.wait().await, [line]);
    });
}

#[test]
fn a_request_with_the_id_of_another_hides_it_not() {
    play(Limits::default(), async |stage| {
        let (seen, _listening) = listen();
        stage.server.handle().log_access();
        let mut host = stage.connect();
        host.steps(&["→ hello"]).await;
        assert_eq!(seen.wait().await, [r#"method="initialize" outcome="ok" session=1"#]);
        let wait = r#"→ {"id":1,"method":"tools/call","params":{"name":"wait"}}"#;
        host.steps(&[wait, r#"→ {"id":1,"method":"ping"}"#]).await;
        assert!(host.next().await.unwrap().contains("already in use"));
        assert_eq!(seen.wait().await, [r#"method="ping" outcome="error" code=-32600 session=1"#]);
        host.steps(&[r#"→ {"method":"notifications/cancelled","params":{"requestId":1}}"#]).await;
        assert_eq!(seen.wait().await, [r#"method="tools/call" name="wait" outcome="cancelled" session=1"#]);
    });
}

#[test]
fn requests_without_a_session_are_lines_too() {
    play(Limits::default(), async |stage| {
        let (seen, _listening) = listen();
        stage.server.handle().log_access();
        for (method, params, line) in [
            (
                "tools/call",
                r#""name":"fail","_meta":{«2026»}"#,
                r#"method="tools/call" name="fail" outcome="tool error""#,
            ),
            ("tools/list", r#""_meta":{«2026»}"#, r#"method="tools/list" outcome="ok""#),
            ("nothing", r#""_meta":{«2026»}"#, r#"method="nothing" outcome="error" code=-32601"#),
        ] {
            let mut replies = send(&stage, method, params);
            while next(&mut replies).await.is_some() {}
            assert_eq!(seen.take(), [line]);
        }
        drop(send(&stage, "tools/call", r#""name":"wait","_meta":{«2026»}"#));
        assert_eq!(seen.take(), [r#"method="tools/call" name="wait" outcome="cancelled""#]);
    });
}

#[test]
fn no_line_is_written_unless_it_is_wanted() {
    play(Limits::default(), async |stage| {
        let (seen, _listening) = listen();
        let mut host = stage.connect();
        host.steps(&["→ hello", r#"→ {"id":1,"method":"ping"}"#, r#"← {"id":1,"result":{}}"#]).await;
        assert_eq!(seen.take(), Vec::<String>::new());
    });
}
