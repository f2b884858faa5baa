//! Lists of one server and of several.

use std::time::Duration;

use futures_util::TryStreamExt;
use protomcp_client::{ClientSession, Mode, RequestError};
use protomcp_gateway::{GatewayError, Sharing};
use protomcp_typed::Tool;
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
        assert_eq!(names, tools(session).await, "they are sorted by name");
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
fn the_definition_of_a_tool_has_the_name_of_the_list() {
    run(async {
        let (a, b) = (Backend::new(), Backend::new());
        let (one, other) = (a.upstream("a").prefix("a_"), b.upstream("b").prefix(""));
        let gateway = gateway().upstream(one.sharing(Sharing::Shared)).upstream(other.sharing(Sharing::Shared));
        let gateway = gateway.open().await.unwrap();
        let session = connect(&gateway, &client().mode(Mode::Stateless)).await;
        let listed: Vec<_> = session.tools().try_collect().await.unwrap();
        let server = gateway.server();
        for tool in listed {
            let definition: protomcp_types::Tool = server.tool_definition(&tool.name).unwrap().to().unwrap();
            assert_eq!(definition.name, tool.name);
            assert_eq!(definition.input_schema, tool.input_schema);
        }
        assert!(server.tool_definition("a_nothing").is_none());
    });
}

#[test]
fn prefixes_tell_servers_apart() {
    run(async {
        let backend = Backend::new();
        for prefix in ["", "a_"] {
            let gateway = gateway()
                .upstream(backend.upstream("one").prefix(prefix))
                .upstream(backend.upstream("other").prefix(prefix));
            let error = gateway.open().await.unwrap_err();
            assert!(matches!(error, GatewayError::AmbiguousPrefixes { .. }), "{error:?}");
            let text = error.to_string();
            assert!(text.contains("\"one\" and \"other\"") && text.contains(&format!("\"{prefix}\"")), "{text}");
        }
        assert!(matches!(gateway().open().await, Err(GatewayError::Empty)));
    });
}

#[test]
fn the_longest_prefix_of_a_name_counts() {
    for order in [["google", "google_drive"], ["google_drive", "google"]] {
        run(async {
            let backends = order.map(|name| (name, Backend::new()));
            let mut builder = gateway();
            for (name, backend) in &backends {
                builder = builder.upstream(backend.upstream(name).prefix(format!("{name}_")));
                let who = name.to_string();
                let own = Tool::new("own", "Names the server").handler(move || std::future::ready(who.clone()));
                backend.registry.tools().insert(own).unwrap();
            }
            let (_, google) = backends.iter().find(|(name, _)| *name == "google").unwrap();
            google.registry.tools().insert(Tool::new("drive_own", "Hidden").handler(async || "hidden")).unwrap();
            let gateway = builder.open().await.unwrap();
            let session = connect(&gateway, &client().mode(Mode::Stateful)).await;
            let names = tools(&session).await;
            assert_eq!(names.iter().filter(|name| name.ends_with("_own")).count(), 2, "{names:?}");
            assert_eq!(call(&session, "google_own").await, "google");
            assert_eq!(call(&session, "google_drive_own").await, "google_drive");
        });
    }
}

#[test]
fn a_cursor_continues_the_same_list() {
    for (ours, sharing) in [(Mode::Stateful, Sharing::PerSession), (Mode::Stateless, Sharing::Shared)] {
        run(async {
            let stage = Stage::open(client(), (ours, Mode::Stateful), sharing).await;
            let refused = stage.session.list_tools(Some("nonsense".into())).await;
            assert!(matches!(refused, Err(RequestError::Refused(_))));
            // More than one page of the gateway.
            let tool = |number: usize| Tool::new(format!("t{number:04}"), "One of many").handler(async || "one");
            (0..1100).for_each(|number| assert!(!stage.backend.registry.tools().insert(tool(number)).unwrap()));
            tokio::time::sleep(Duration::from_secs(1)).await;
            let first = stage.session.list_tools(None).await.unwrap();
            let second = stage.session.list_tools(first.next_cursor.clone()).await.unwrap();
            let counts = [&first, &second].map(|page| page.items.len());
            assert_eq!((counts, second.next_cursor.as_ref()), ([1000, 111], None));
            let names = [&first, &second].into_iter().flat_map(|page| &page.items);
            let names: Vec<_> = names.map(|tool| tool.name.to_string()).collect();
            assert!(names.is_sorted_by(|one, other| one < other), "each once");
            // The list has been read to its end, and is read again.
            let again = stage.session.list_tools(first.next_cursor).await.unwrap();
            assert_eq!(again.items.len(), 111);
        });
    }
}
