//! Requests of the server to its client.

use std::time::Duration;

use protomcp_server::{AskError, Context, InputRequests, Limits, SessionId};
use protomcp_types::{ListRoots, Ping};

use super::transcript::{call, check, check_with, play};

const ALL: &str =
    r#"→ hello 2025-11-25 {"sampling":{},"roots":{"listChanged":true},"elicitation":{"form":{},"url":{}}}"#;

fn said(id: u32, text: &str) -> String {
    format!(r#"← {{"id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#)
}

fn failed(id: u32, text: &str) -> String {
    format!(r#"← {{"id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}],"isError":true}}}}"#)
}

/// A call of this tool asks this; of what the host answers the tool says this.
#[track_caller]
fn check_question(tool: &str, question: &str, answers: &[(&str, &str)]) {
    let mut transcript = vec![ALL.to_owned()];
    for (index, (answer, _)) in answers.iter().enumerate() {
        let (id, number) = (index + 10, index + 1);
        transcript.push(format!("→ {}", call(id as u64, tool)));
        transcript.push(format!(r#"← {{"id":{number},{question}}}"#));
        transcript.push(format!(r#"→ {{"id":{number},{answer}}}"#));
        transcript.push(answers[index].1.replace("ID", &id.to_string()));
    }
    check(&transcript.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn the_model_of_the_host_is_asked_and_may_refuse() {
    check_question(
        "sample",
        r#""method":"sampling/createMessage","params":{"messages":[{"role":"user","content":"hi"}],"maxTokens":9}"#,
        &[
            (
                r#""result":{"role":"assistant","content":{"type":"text","text":"yo"},"model":"m","stopReason":"endTurn"}"#,
                r#"← {"id":ID,"result":{"content":[{"type":"text","text":"CreateMessageResult { role: Assistant, content: {\"type\":\"text\",\"text\":\"yo\"}, model: \"m\", stop_reason: Some(\"endTurn\"), meta: None }"}]}}"#,
            ),
            (
                r#""error":{"code":-1,"message":"the user said no"}"#,
                r#"← {"id":ID,"result":{"content":[{"type":"text","text":"the client refused: the user said no (-1)"}],"isError":true}}"#,
            ),
            (
                r#""result":{}"#,
                r#"← {"id":ID,"result":{"content":[{"type":"text","text":"the client's answer cannot be read: missing field `role` at line 1 column 2"}],"isError":true}}"#,
            ),
        ],
    );
}

#[test]
fn roots_and_users_are_asked() {
    check_question(
        "roots",
        r#""method":"roots/list","params":{}"#,
        &[(
            r#""result":{"roots":[{"uri":"file:///a"}]}"#,
            r#"← {"id":ID,"result":{"content":[{"type":"text","text":"ListRootsResult { roots: [Root { uri: \"file:///a\", name: None, meta: None }], meta: None }"}]}}"#,
        )],
    );
    check_question(
        "form",
        r#""method":"elicitation/create","params":{"message":"?","requestedSchema":{}}"#,
        &[(
            r#""result":{"action":"accept","content":{"a":1}}"#,
            r#"← {"id":ID,"result":{"content":[{"type":"text","text":"ElicitResult { action: Accept, content: Some({\"a\":1}), meta: None }"}]}}"#,
        )],
    );
    check_question(
        "page",
        r#""method":"elicitation/create","params":{"mode":"url","message":"?","url":"u","elicitationId":"7"}"#,
        &[(
            r#""result":{"action":"decline"}"#,
            r#"← {"id":ID,"result":{"content":[{"type":"text","text":"ElicitResult { action: Decline, content: None, meta: None }"}]}}"#,
        )],
    );
}

#[test]
fn a_host_is_not_asked_what_it_does_not_declare() {
    check(&[
        r#"→ hello 2025-11-25 {"elicitation":{}}"#,
        r#"→ {"id":1,"method":"tools/call","params":{"name":"sample"}}"#,
        &failed(1, "the client does not support sampling/createMessage"),
        r#"→ {"id":2,"method":"tools/call","params":{"name":"roots"}}"#,
        &failed(2, "the client does not support roots/list"),
        r#"→ {"id":3,"method":"tools/call","params":{"name":"page"}}"#,
        &failed(3, "the client does not support elicitation/create"),
        "· 1000ms",
    ]);
}

#[test]
fn two_hosts_are_each_asked_for_their_own_calls() {
    play(Limits::default(), async |stage| {
        let (mut one, mut two) = (stage.connect(), stage.connect());
        for host in [&mut one, &mut two] {
            host.steps(&[ALL, r#"→ {"id":1,"method":"tools/call","params":{"name":"roots"}}"#]).await;
        }
        let question = r#"← {"id":1,"method":"roots/list","params":{}}"#;
        one.steps(&[question]).await;
        two.steps(&[question, "· 10ms", r#"→ {"id":1,"result":{"roots":[]}}"#]).await;
        two.steps(&[&said(1, "ListRootsResult { roots: [], meta: None }")]).await;
        one.steps(&["· 10ms", r#"→ {"id":1,"result":{"roots":[{"uri":"x"}]}}"#]).await;
        one.steps(&[&said(
            1,
            r#"ListRootsResult { roots: [Root { uri: \"x\", name: None, meta: None }], meta: None }"#,
        )])
        .await;
    });
}

#[test]
fn answers_to_nothing_and_changed_roots_are_ignored() {
    check(&[
        ALL,
        r#"→ {"id":1,"result":{}}"#,
        r#"→ {"id":"1","error":{"code":1,"message":""}}"#,
        r#"→ {"method":"notifications/roots/list_changed"}"#,
        r#"→ {"id":1,"method":"tools/call","params":{"name":"ping 100"}}"#,
        r#"← {"id":1,"method":"ping","params":{}}"#,
        r#"→ {"id":2,"result":{}}"#,
        r#"→ {"id":"1","result":{}}"#,
        "· 10ms",
        r#"→ {"id":1,"result":{"_meta":{}}}"#,
        &said(1, "Empty"),
        r#"→ {"id":1,"result":{}}"#,
        "· 1000ms",
    ]);
}

#[test]
fn a_dropped_question_is_cancelled() {
    let taken_back = r#"← {"method":"notifications/cancelled","params":{"requestId":1}}"#;
    let asked = r#"← {"id":1,"method":"ping","params":{}}"#;
    // Time is up.
    check(&[
        ALL,
        r#"→ {"id":1,"method":"tools/call","params":{"name":"ping 100"}}"#,
        asked,
        "· 99ms",
        taken_back,
        &failed(1, "the client did not answer within 100ms"),
        r#"→ {"id":1,"result":{}}"#,
        "· 1000ms",
    ]);
    // The host cancels the call that asks.
    check(&[
        ALL,
        r#"→ {"id":1,"method":"tools/call","params":{"name":"ping 100"}}"#,
        asked,
        r#"→ {"method":"notifications/cancelled","params":{"requestId":1}}"#,
        taken_back,
        "· 1000ms",
    ]);
    // The call answers without waiting.
    check(&[
        ALL,
        r#"→ {"id":1,"method":"tools/call","params":{"name":"ask-and-go"}}"#,
        asked,
        taken_back,
        &said(1, "done"),
        "· 1000ms",
    ]);
}

#[test]
fn a_call_cannot_ask_after_its_answer() {
    play(Limits::default(), async |stage| {
        let mut late = stage.tools.late.subscribe();
        let mut host = stage.connect();
        host.steps(&[
            ALL,
            r#"→ {"id":1,"method":"tools/call","params":{"name":"go-and-ask"}}"#,
            &said(1, "done"),
            "· 1000ms",
        ])
        .await;
        assert_eq!(*late.wait_for(Option::is_some).await.unwrap(), Some(AskError::Gone));
    });
}

#[test]
fn a_client_that_has_closed_its_end_is_not_asked() {
    check(&[
        ALL,
        r#"→ {"id":1,"method":"tools/call","params":{"name":"ping 10000"}}"#,
        r#"← {"id":1,"method":"ping","params":{}}"#,
        "→ end",
        &failed(1, "the session or request has already ended"),
        "← end",
    ]);
    check(&[
        ALL,
        r#"→ {"id":1,"method":"tools/call","params":{"name":"late-ping"}}"#,
        "→ end",
        "· 9ms",
        &failed(1, "the session or request has already ended"),
        "← end",
    ]);
}

#[test]
fn while_the_server_shuts_down_questions_are_still_answered() {
    check(&[
        ALL,
        r#"→ {"id":1,"method":"tools/call","params":{"name":"ping 10000"}}"#,
        r#"← {"id":1,"method":"ping","params":{}}"#,
        "shut down",
        "· 1000ms",
        r#"→ {"id":1,"result":{}}"#,
        &said(1, "Empty"),
        "← end",
    ]);
    check(&[
        ALL,
        r#"→ {"id":1,"method":"tools/call","params":{"name":"ping 10000"}}"#,
        r#"← {"id":1,"method":"ping","params":{}}"#,
        "shut down",
        "· 4999ms",
        r#"← {"method":"notifications/cancelled","params":{"requestId":1}}"#,
        &failed(1, "the session or request has already ended"),
        "← end",
    ]);
}

#[test]
fn unanswered_questions_are_bounded() {
    let mut transcript = vec![ALL.to_owned()];
    // A withdrawn question frees its place.
    for (id, first) in [(100, 1), (101, 4)] {
        transcript.push(format!("→ {}", call(id, "ask-often 5")));
        transcript.extend((first..first + 3).map(|id| format!(r#"← {{"id":{id},"method":"ping","params":{{}}}}"#)));
        transcript.extend(
            (first..first + 3)
                .map(|id| format!(r#"← {{"method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)),
        );
        transcript.push(said(id as u32, "2 too many"));
        transcript.push("· 1ms".to_owned());
    }
    let steps: Vec<_> = transcript.iter().map(String::as_str).collect();
    check_with(Limits { max_questions: 3, ..Limits::default() }, &steps);
}

#[test]
fn questions_that_are_not_read_do_not_pile_up() {
    play(Limits { max_questions: 3, ..Limits::default() }, async |stage| {
        let mut host = stage.connect_with(64);
        host.send(&super::transcript::initialize("2025-11-25")).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        let (sessions, id) = (stage.server.handle(), SessionId::new(1));
        let mut too_many = 0;
        for _ in 0..100 {
            let answer = sessions.ask::<Ping>(id, &Ping {}).timeout(Duration::from_millis(10)).await;
            too_many += usize::from(answer == Err(AskError::TooMany));
        }
        assert_eq!(too_many, 97);
    });
}

#[test]
fn a_session_can_be_asked_without_a_call() {
    play(Limits::default(), async |stage| {
        let sessions = stage.server.handle().clone();
        let soon = Duration::from_secs(1);
        let (mut knows, mut fresh, mut plain) = (stage.connect(), stage.connect(), stage.connect());
        knows.steps(&[ALL]).await;
        plain.steps(&["→ hello"]).await;
        let ids: Vec<_> = sessions.views().into_iter().filter(|view| view.client.capabilities.has_roots()).collect();
        assert_eq!((sessions.views().len(), ids.len()), (2, 1));
        let (knows_id, fresh_id, plain_id) = (ids[0].id, SessionId::new(2), sessions.views()[1].id);
        let ask = |id| sessions.ask::<ListRoots>(id, &ListRoots::default()).timeout(soon).into_future();

        assert_eq!(ask(SessionId::new(99)).await, Err(AskError::Gone));
        assert_eq!(ask(fresh_id).await, Err(AskError::NoSession));
        assert_eq!(ask(plain_id).await, Err(AskError::NotSupported("roots/list")));
        let answer = tokio::spawn(ask(knows_id));
        knows.steps(&[r#"← {"id":1,"method":"roots/list","params":{}}"#, r#"→ {"id":1,"result":{"roots":[]}}"#]).await;
        assert!(answer.await.unwrap().unwrap().roots.is_empty());

        // Before the handshake is complete only a ping is for sure.
        let roots = super::transcript::initialize("2025-11-25")
            .replace(r#""capabilities":{}"#, r#""capabilities":{"roots":{}}"#);
        fresh.send(&roots).await;
        fresh.next().await;
        assert_eq!(ask(fresh_id).await, Err(AskError::Gone));
        let answer = tokio::spawn(sessions.ask::<Ping>(fresh_id, &Ping {}).timeout(soon).into_future());
        fresh.steps(&[r#"← {"id":1,"method":"ping","params":{}}"#, r#"→ {"id":1,"result":{}}"#]).await;
        assert!(answer.await.unwrap().is_ok());

        let answer = tokio::spawn(ask(knows_id));
        knows.steps(&[r#"← {"id":2,"method":"roots/list","params":{}}"#]).await;
        knows.abort();
        assert_eq!(answer.await.unwrap(), Err(AskError::Gone));
        assert_eq!(sessions.views().len(), 2);
        plain.steps(&["· 1000ms"]).await;
    });
}

#[test]
fn an_answer_may_come_in_a_batch() {
    check(&[
        "→ hello 2025-03-26",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"ping 100"}}"#,
        r#"← {"id":1,"method":"ping","params":{}}"#,
        r#"→ [{"jsonrpc":"2.0","id":1,"result":{}}]"#,
        &said(1, "Empty"),
        "· 1000ms",
    ]);
}

#[tokio::test]
async fn a_detached_context_cannot_ask() {
    let context = Context::detached();
    let roots = context.ask::<ListRoots>(&ListRoots::default()).await;
    assert_eq!(roots, Err(AskError::NotSupported("roots/list")));
    assert_eq!(context.ask::<Ping>(&Ping {}).await, Err(AskError::Gone));
}

#[tokio::test]
async fn a_handler_that_may_ask_is_not_much_larger_for_it() {
    let context = Context::detached();
    let asking = [
        size_of_val(&context.ask::<ListRoots>(&ListRoots::default())),
        size_of_val(&context.ask::<ListRoots>(&ListRoots::default()).key("roots")),
        size_of_val(&context.ask_all(InputRequests::new().with::<ListRoots>("roots", &ListRoots::default()))),
    ];
    assert!(asking.iter().all(|bytes| *bytes <= 512), "{asking:?}");
}

#[test]
fn a_handler_with_state_at_the_client_is_called_again() {
    let form = |number: u32| {
        format!(
            r#"← {{"id":{number},"method":"elicitation/create","params":{{"message":"who?","requestedSchema":{{}}}}}}"#
        )
    };
    let accept =
        |number: u32| format!(r#"→ {{"id":{number},"result":{{"action":"accept","content":{{"name":"a"}}}}}}"#);
    let steps = [
        ALL.to_owned(),
        format!("→ {}", call(7, "own")),
        form(1),
        accept(1),
        form(2),
        accept(2),
        said(7, "state 2"),
        // The host refuses, or goes on with something else.
        format!("→ {}", call(8, "own")),
        form(3),
        r#"→ {"id":3,"error":{"code":-1,"message":"no"}}"#.to_owned(),
        failed(8, "the client refused: no (-1)"),
        format!("→ {}", call(9, "own")),
        form(4),
        r#"→ {"method":"notifications/cancelled","params":{"requestId":9}}"#.to_owned(),
        r#"← {"method":"notifications/cancelled","params":{"requestId":4}}"#.to_owned(),
        "· 5000ms".to_owned(),
    ];
    check(&steps.iter().map(String::as_str).collect::<Vec<_>>());
    // A client without the capability is not asked.
    let own = format!("→ {}", call(7, "own"));
    check(&["→ hello", &own, &failed(7, "the client does not support elicitation/create")]);
}

#[test]
fn a_handler_that_wants_to_come_back_for_ever_is_stopped() {
    let own = format!("→ {}", call(7, "own-for-ever"));
    check(&[
        "→ hello",
        &own,
        r#"← {"id":7,"error":{"code":-32603,"message":"the server has asked 32 times and does not answer"}}"#,
    ]);
}
