//! Lists of one server and of several.

use futures_util::TryStreamExt;
use protomcp_client::{ClientSession, Mode, RequestError};
use protomcp_gateway::{GatewayError, Sharing};
use protomcp_types::JsonObject;

use crate::stage::{Backend, ERAS, Stage, call, client, connect, everywhere, gateway, run};

pub(crate) async fn tools(session: &ClientSession) -> Vec<String> {
    let tools: Vec<_> = session.tools().try_collect().await.unwrap();
    tools.into_iter().map(|tool| tool.name.to_string()).collect()
}

#[test]
fn all_pages_of_the_server_are_one_list() {
    everywhere(client, async |stage| {
        let session = &stage.session;
        let mut names = tools(session).await;
        assert_eq!(names.len(), 11);
        names.sort();
        assert_eq!(names, tools(session).await, "the order is that of the names");
        let resources: Vec<_> = session.resources().try_collect().await.unwrap();
        assert_eq!(resources.iter().map(|resource| resource.uri.as_str()).collect::<Vec<_>>(), ["test:a", "test:b"]);
        let templates: Vec<_> = session.resource_templates().try_collect().await.unwrap();
        assert_eq!(templates[0].uri_template, "test:item/{id}");
        let prompts: Vec<_> = session.prompts().try_collect().await.unwrap();
        assert_eq!(prompts[0].name, "greet");
    });
}

#[test]
fn several_servers_are_one_with_prefixes() {
    for (ours, theirs) in ERAS {
        run(async {
            let (a, b) = (Backend::new(), Backend::new());
            let gateway = gateway()
                .upstream(b.upstream("b").prefix("b_").mode(theirs))
                .upstream(a.upstream("a").prefix("a_").mode(theirs).sharing(Sharing::Shared));
            let gateway = gateway.open().await.unwrap();
            let session = connect(&gateway, &client().mode(ours)).await;
            let server = session.server();
            assert_eq!(server.implementation.as_ref().unwrap().name, "gateway");
            assert_eq!(server.instructions.as_deref(), Some("b: be kind\n\na: be kind"));
            let names = tools(&session).await;
            assert_eq!((names.len(), names[0].as_str(), names[21].as_str()), (22, "a_add", "b_whoami"));
            assert_eq!(call(&session, "b_log").await, "logged");
            let prompt = session.get_prompt("a_greet", &JsonObject::new()).await.unwrap();
            assert!(prompt.messages.as_str().contains("hi"));
            for unknown in ["add", "c_add", "a_nothing"] {
                let refused = session.call_tool(unknown, &JsonObject::new()).await;
                assert!(matches!(refused, Err(RequestError::Refused(_))), "{unknown}");
            }
            session.read_resource("test:b").await.unwrap();
            assert!(session.read_resource("x:y").await.is_err());
        });
    }
}

#[test]
fn prefixes_tell_servers_apart() {
    run(async {
        let backend = Backend::new();
        for (one, other) in [("", ""), ("a_", "a_"), ("a_", "a_b_"), ("a_b_", "")] {
            let gateway = gateway()
                .upstream(backend.upstream("one").prefix(one))
                .upstream(backend.upstream("other").prefix(other));
            assert!(matches!(gateway.open().await, Err(GatewayError::AmbiguousPrefixes(..))), "{one:?} {other:?}");
        }
        assert!(matches!(gateway().open().await, Err(GatewayError::Empty)));
    });
}

#[test]
fn a_cursor_continues_the_same_list() {
    run(async {
        let stage = Stage::open(client(), (Mode::Stateful, Mode::Stateful), Sharing::PerSession).await;
        let refused = stage.session.list_tools(Some("nonsense".into())).await;
        assert!(matches!(refused, Err(RequestError::Refused(_))));
        let first = stage.session.list_tools(None).await.unwrap();
        assert_eq!((first.items.len(), first.next_cursor), (11, None));
    });
}
