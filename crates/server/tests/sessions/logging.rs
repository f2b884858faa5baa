//! Log messages, and which of them a host wants.

use std::sync::{Arc, Mutex};

use protomcp_server::{
    Audience, Context, Limits, Owner, Server, ServerHandle, ServerInfo, ServerRequest, ServerResult, Service,
    SessionId, SessionObserver,
};
use protomcp_testing::run_paused;
use protomcp_transport::{Sink, Source, Transport, memory};
use protomcp_types::{CallToolResult, ErrorObject, Level, Message, Params, RawJson, RequestId, ServerCapabilities};

use super::handler::FixedTasks;
use super::transcript::{Stage, check, play};

fn line(level: &str) -> String {
    format!(r#"← {{"method":"notifications/message","params":{{"level":"{level}","logger":"tool","data":"{level}"}}}}"#)
}

#[test]
fn each_level_lets_through_itself_and_what_is_worse() {
    for (index, level) in Level::ALL.iter().enumerate() {
        let mut transcript = vec![
            "→ hello".to_owned(),
            format!(r#"→ {{"id":1,"method":"logging/setLevel","params":{{"level":"{level}"}}}}"#),
            r#"← {"id":1,"result":{}}"#.to_owned(),
            r#"→ {"id":2,"method":"tools/call","params":{"name":"log"}}"#.to_owned(),
        ];
        transcript.extend(Level::ALL[index..].iter().map(|level| line(level.as_str())));
        transcript.push(r#"← {"id":2,"result":{"content":[{"type":"text","text":"done"}]}}"#.to_owned());
        check(&transcript.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn before_the_host_says_anything_info_and_worse_are_sent() {
    check(&[
        "→ hello",
        r#"→ {"id":2,"method":"tools/call","params":{"name":"log"}}"#,
        &line("info"),
        &line("notice"),
        &line("warning"),
        &line("error"),
        &line("critical"),
        &line("alert"),
        &line("emergency"),
        r#"← {"id":2,"result":{"content":[{"type":"text","text":"done"}]}}"#,
    ]);
}

#[test]
fn a_bad_level_changes_nothing() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"logging/setLevel","params":{"level":"emergency"}}"#,
        r#"← {"id":1,"result":{}}"#,
        r#"→ {"id":2,"method":"logging/setLevel","params":{"level":"warn"}}"#,
        r#"← {"id":2,"error":{"code":-32602,"message":"invalid params: unknown log level \"warn\""}}"#,
        r#"→ {"id":3,"method":"logging/setLevel"}"#,
        r#"← {"id":3,"error":{"code":-32602,"message":"invalid params: level is missing"}}"#,
        r#"→ {"id":4,"method":"logging/setLevel","params":{"level":5}}"#,
        r#"← {"id":4,"error":{"code":-32602,"message":"invalid params: level: invalid type: integer `5`, expected a string at line 1 column 1"}}"#,
        r#"→ {"id":5,"method":"tools/call","params":{"name":"log"}}"#,
        &line("emergency"),
        r#"← {"id":5,"result":{"content":[{"type":"text","text":"done"}]}}"#,
    ]);
}

#[test]
fn levels_are_per_session_and_count_after_the_handshake() {
    play(Limits::default(), async |stage| {
        let (mut loud, mut quiet, mut new) = (stage.connect(), stage.connect(), stage.connect());
        loud.steps(&[
            "→ hello",
            r#"→ {"id":1,"method":"logging/setLevel","params":{"level":"debug"}}"#,
            r#"← {"id":1,"result":{}}"#,
        ])
        .await;
        quiet
            .steps(&[
                "→ hello",
                r#"→ {"id":1,"method":"logging/setLevel","params":{"level":"error"}}"#,
                r#"← {"id":1,"result":{}}"#,
            ])
            .await;
        new.steps(&[r#"→ {"id":1,"method":"ping"}"#, r#"← {"id":1,"result":{}}"#]).await;
        stage.server.handle().log(Audience::Everyone, Level::Debug, None, &RawJson::parse(r#"{"n":1}"#).unwrap());
        loud.steps(&[r#"← {"method":"notifications/message","params":{"level":"debug","data":{"n":1}}}"#]).await;
        stage.server.handle().log(Audience::Everyone, Level::Emergency, None, &RawJson::NULL);
        let both = [r#"← {"method":"notifications/message","params":{"level":"emergency","data":null}}"#];
        loud.steps(&both).await;
        quiet.steps(&both).await;
        new.steps(&["· 1000ms", "→ hello"]).await;
    });
}

/// Logs the levels that clients set, and answers with the level of the call.
#[derive(Clone, Default)]
struct Levels(Arc<Mutex<Vec<Level>>>);

impl SessionObserver for Levels {
    fn log_level_set(&self, _: SessionId, level: Level) {
        self.0.lock().unwrap().push(level);
    }
}

impl Service for Levels {
    async fn call(&self, _: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        let level = context.log_level().map_or("none", Level::as_str);
        Ok(CallToolResult::text(level).into())
    }
}

#[test]
fn services_and_observers_see_the_level() {
    run_paused(async {
        let levels = Levels::default();
        let sessions = ServerHandle::new(ServerInfo::new("levels", "1"), Limits::default());
        let server = Server::new(sessions, levels.clone()).observe(Arc::new(levels.clone()));
        let (ours, theirs) = memory::pair();
        let session = server.connect(theirs);
        let (mut source, mut sink) = ours.split();
        let mut answers = Vec::new();
        for (id, (method, params)) in (0..).zip([
            ("initialize", r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a"}}"#),
            ("tools/call", r#"{"name":"a"}"#),
            ("logging/setLevel", r#"{"level":"debug"}"#),
            ("logging/setLevel", r#"{"level":"debug"}"#),
            ("tools/call", r#"{"name":"a"}"#),
        ]) {
            let params = Params::of(&RawJson::parse(params).unwrap()).unwrap();
            sink.send(Message::request(RequestId::from(id), method, params), None).unwrap();
            if id == 0 {
                sink.send(Message::notification("notifications/initialized", Params::Absent), None).unwrap();
            }
            sink.flush().await.unwrap();
            answers.push(format!("{:?}", source.next().await.unwrap()));
        }
        assert!(answers[1].contains("info") && answers[4].contains("debug"), "{answers:?}");
        assert_eq!(*levels.0.lock().unwrap(), [Level::Debug], "the same level again is not news");
        drop(session);
    });
}

#[test]
fn a_server_that_does_not_declare_log_messages_sends_none() {
    play(Limits { max_notices: 1, ..Limits::default() }, async |stage| {
        let info = ServerInfo::new("quiet", "1").with_capabilities(ServerCapabilities::default().with_tools());
        let server = Server::with_sessions(ServerHandle::new(info, Limits::default()), Arc::clone(&stage.tools))
            .layer(FixedTasks);
        let mut host = Stage { server, tools: stage.tools }.connect();
        host.steps(&[
            "→ hello",
            r#"→ {"id":1,"method":"tools/call","params":{"name":"log"}}"#,
            r#"← {"id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#,
            r#"→ {"id":2,"method":"logging/setLevel","params":{"level":"debug"}}"#,
            r#"← {"id":2,"error":{"code":-32601,"message":"method not found: \"logging/setLevel\""}}"#,
            "· 1000ms",
        ])
        .await;
    });
}

#[test]
fn a_message_for_one_owner_reaches_the_sessions_of_no_other() {
    play(Limits::default(), async |stage| {
        let (mut ann, mut again, mut bob) = (stage.connect_as("ann"), stage.connect_as("ann"), stage.connect_as("bob"));
        for host in [&mut ann, &mut again, &mut bob] {
            host.steps(&["→ hello", "· 1ms"]).await;
        }
        let sessions = stage.server.handle();
        assert_eq!(sessions.sole_owner(), None);
        let owners: Vec<_> = sessions.views().into_iter().map(|view| view.owner).collect();
        assert_eq!(owners, ["ann", "ann", "bob"].map(|name| Owner::Principal(name.into())));
        sessions.log(Audience::Owner(owners[0].clone()), Level::Error, None, &RawJson::NULL);
        let heard = [r#"← {"method":"notifications/message","params":{"level":"error","data":null}}"#];
        ann.steps(&heard).await;
        again.steps(&heard).await;
        bob.steps(&["· 1000ms"]).await;
    });
}
