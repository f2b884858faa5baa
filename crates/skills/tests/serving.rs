//! Skills in front of a service, as clients of both eras see them.

use protomcp_server::{Context, Handler, Layer, Server, ServerInfo, ServerRequest, Service};
use protomcp_skills::{SkillTree, Skills, SkillsLayer};
use protomcp_testing::{JsonPeer, run_paused};
use protomcp_transport::lines::Lines;
use protomcp_types::{
    CacheHint, ErrorObject, ListResources, ListResourcesResult, Params, ReadResource, ReadResourceResult, Resource,
    ResourceContents, SKILLS_EXTENSION, ServerCapabilities,
};
use serde_json::{Value, json};

use crate::scene::{Scene, document, members};

/// A server with one resource, or without any.
struct Notes {
    capabilities: ServerCapabilities,
}

impl Handler for Notes {
    fn info(&self) -> ServerInfo {
        let mut info = ServerInfo::new("notes", "1").with_capabilities(self.capabilities.clone());
        (info.cache.resources, info.cache.reads) = (CacheHint::public(7), CacheHint::private(9));
        info
    }

    async fn list_resources(&self, list: ListResources, _: Context) -> Result<ListResourcesResult, ErrorObject> {
        let page = |name: &str| ListResourcesResult::of([&Resource::new(format!("note:{name}"), name)]);
        match list.cursor.as_deref() {
            None => Ok(page("a").with_next("more")),
            Some("more") => Ok(page("b")),
            Some(cursor) => Err(ErrorObject::invalid_params(format!("invalid cursor {cursor:?}"))),
        }
    }

    async fn read_resource(&self, read: ReadResource, _: Context) -> Result<ReadResourceResult, ErrorObject> {
        match read.uri.as_str() {
            uri @ "note:a" => Ok(ReadResourceResult::of([ResourceContents::text(uri, "a")])),
            uri => Err(ErrorObject::resource_not_found(uri)),
        }
    }
}

/// A client of a server with these skills.
struct Client {
    peer: JsonPeer,
    /// Requests are of 2026-07-28.
    is_stateless: bool,
}

impl Client {
    async fn connect(skills: &Skills, capabilities: ServerCapabilities, is_stateless: bool) -> Self {
        let server = skills.serve(Server::from_handler(Notes { capabilities }));
        let (mut peer, reader, writer) = JsonPeer::connected(1 << 20);
        tokio::spawn(async move { server.serve(Lines::new(reader, writer)).await });
        if !is_stateless {
            peer.initialize("2025-11-25", json!({})).await;
            peer.hears_nothing().await;
        }
        Self { peer, is_stateless }
    }

    /// The result, or the code of the error.
    async fn ask(&mut self, method: &str, mut params: Value) -> Result<Value, i64> {
        if self.is_stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let id = self.peer.request(method, params).await;
        let (answer, _) = self.peer.until(id).await;
        answer["error"]["code"].as_i64().map_or_else(|| Ok(answer["result"].clone()), Err)
    }
}

fn skills(scene: &Scene) -> Skills {
    scene.skill("a").write("a/data.bin", b"\xff").write("a/dir/x.md", "x").skill("b");
    Skills::new(scene.tree())
}

fn resources() -> ServerCapabilities {
    ServerCapabilities::default().with_resources()
}

#[test]
fn the_extension_is_declared_where_it_is_specified() {
    run_paused(async {
        let skills = skills(&Scene::new());
        for capabilities in [ServerCapabilities::default(), resources().with_task_extension()] {
            let mut client = Client::connect(&skills, capabilities.clone(), true).await;
            let found = client.ask("server/discover", json!({})).await.unwrap()["capabilities"].clone();
            assert_eq!(found["extensions"][SKILLS_EXTENSION], json!({"directoryRead": true}));
            assert_eq!(found["resources"]["listChanged"], true);
            assert_eq!(
                found["extensions"].as_object().unwrap().len(),
                1 + usize::from(capabilities.extensions.is_some())
            );
        }
        let (mut peer, reader, writer) = JsonPeer::connected(1 << 20);
        let server = skills.serve(Server::from_handler(Notes { capabilities: resources() }));
        tokio::spawn(async move { server.serve(Lines::new(reader, writer)).await });
        let info = json!({"name": "host", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        let id = peer.request("initialize", params).await;
        assert_eq!(peer.answer(id).await["result"]["capabilities"]["extensions"], Value::Null);
    });
}

#[test]
fn clients_of_both_eras_list_get_and_read_skills() {
    run_paused(async {
        let skills = skills(&Scene::new());
        for is_stateless in [true, false] {
            let mut client = Client::connect(&skills, resources(), is_stateless).await;
            let list = client.ask("skills/list", json!({})).await.unwrap();
            assert_eq!(members(&list["skills"]), ["skill://a/SKILL.md", "skill://b/SKILL.md"]);
            assert_eq!((&list["ttlMs"], &list["cacheScope"]), (&json!(7), &json!("public")));
            let one = client.ask("skills/get", json!({"uri": "skill://a/SKILL.md"})).await.unwrap();
            assert_eq!(one["skill"], list["skills"][0]);
            assert_eq!((&one["ttlMs"], &one["cacheScope"]), (&json!(9), &json!("private")));
            let read = client.ask("resources/read", json!({"uri": "skill://a/SKILL.md"})).await.unwrap();
            let text = document("a");
            let contents = json!([{"uri": "skill://a/SKILL.md", "mimeType": "text/markdown", "text": text}]);
            assert_eq!(read["contents"], contents);
            let read = client.ask("resources/read", json!({"uri": "skill://a/data.bin"})).await.unwrap();
            assert_eq!(read["contents"][0]["blob"], "/w==");
            let folder = client.ask("resources/directory/read", json!({"uri": "skill://a"})).await.unwrap();
            let children = ["skill://a/SKILL.md", "skill://a/data.bin", "skill://a/dir"];
            assert_eq!(members(&folder["resources"]), children);
            if is_stateless {
                for result in [&list, &one, &folder] {
                    assert_eq!(result["resultType"], "complete", "{result}");
                }
            }
        }
    });
}

#[test]
fn unknown_skills_folders_and_cursors_are_invalid_params() {
    run_paused(async {
        let skills = skills(&Scene::new());
        for is_stateless in [true, false] {
            let mut client = Client::connect(&skills, resources(), is_stateless).await;
            for (method, params) in [
                ("skills/get", json!({})),
                ("skills/get", json!({"uri": 7})),
                ("skills/get", json!({"uri": "skill://c/SKILL.md"})),
                ("skills/get", json!({"uri": "skill://a/dir/x.md"})),
                ("skills/get", json!({"uri": "skill://a"})),
                ("skills/list", json!({"cursor": "x"})),
                ("skills/list", json!({"cursor": 1})),
                ("resources/list", json!({"cursor": "skills-x"})),
                ("resources/directory/read", json!({})),
                ("resources/directory/read", json!({"uri": "skill://c"})),
                ("resources/directory/read", json!({"uri": "skill://a/"})),
                ("resources/directory/read", json!({"uri": "skill://a/SKILL.md"})),
                ("resources/directory/read", json!({"uri": "skill://a", "cursor": "x"})),
            ] {
                assert_eq!(client.ask(method, params.clone()).await, Err(-32602), "{method} {params}");
            }
            // The code for an unknown resource differs by revision.
            let unknown = client.ask("resources/read", json!({"uri": "skill://a/../b"})).await;
            assert_eq!(unknown, Err(if is_stateless { -32602 } else { -32002 }));
            assert_eq!(client.ask("skills/other", json!({})).await, Err(-32601));
        }
    });
}

#[test]
fn the_resources_of_the_service_come_first() {
    run_paused(async {
        let skills = skills(&Scene::new());
        let mut client = Client::connect(&skills, resources(), false).await;
        let first = client.ask("resources/list", json!({})).await.unwrap();
        assert_eq!((members(&first["resources"]), &first["nextCursor"]), (vec!["note:a"], &json!("more")));
        let last = client.ask("resources/list", json!({"cursor": "more"})).await.unwrap();
        assert_eq!(members(&last["resources"]), ["note:b", "skill://a/SKILL.md", "skill://b/SKILL.md"]);
        assert_eq!((&last["nextCursor"], &last["resources"][1]["description"]), (&Value::Null, &json!("About a.")));
        let read = client.ask("resources/read", json!({"uri": "note:a"})).await.unwrap();
        assert_eq!(read["contents"][0]["text"], "a");
    });
}

#[test]
fn many_skills_have_pages_of_their_resources() {
    run_paused(async {
        let scene = Scene::new();
        for number in 0..600 {
            let description = "d".repeat(1000);
            let name = format!("s{number:03}");
            scene.write(&format!("{name}/SKILL.md"), format!("---\nname: {name}\ndescription: {description}\n---\n"));
        }
        let skills = Skills::from(scene.tree());
        let mut client = Client::connect(&skills, resources(), false).await;
        let (mut cursor, mut uris, mut pages) = (json!("more"), Vec::new(), 0);
        while cursor != Value::Null {
            let page = client.ask("resources/list", json!({"cursor": cursor})).await.unwrap();
            uris.extend(members(&page["resources"]).into_iter().map(str::to_owned));
            cursor = page["nextCursor"].clone();
            pages += 1;
        }
        let expected = skills.tree().skills().map(|(uri, _)| uri.to_owned()).collect::<Vec<_>>();
        assert_eq!(uris[1..], expected);
        assert!(pages > 1, "{pages}");
    });
}

#[test]
fn a_replaced_tree_is_announced_to_clients() {
    run_paused(async {
        let scene = Scene::new();
        let skills = skills(&scene);
        let mut client = Client::connect(&skills, resources(), false).await;
        client.ask("resources/subscribe", json!({"uri": "skill://a/dir/x.md"})).await.unwrap();
        skills.replace(scene.tree());
        client.peer.hears_nothing().await;
        scene.write("a/dir/x.md", "y");
        let old = skills.replace(scene.tree());
        assert_eq!(old.read("skill://a/dir/x.md").unwrap().contents(), "x");
        let mut methods = [client.peer.next().await, client.peer.next().await];
        methods.sort_by_key(|message| message["method"].to_string());
        let updated = &methods[1];
        assert_eq!(methods[0]["method"], "notifications/resources/list_changed");
        assert_eq!(updated["method"], "notifications/resources/updated");
        assert_eq!(updated["params"]["uri"], "skill://a/dir/x.md");
        let read = client.ask("resources/read", json!({"uri": "skill://a/dir/x.md"})).await.unwrap();
        assert_eq!(read["contents"][0]["text"], "y");
        client.ask("resources/unsubscribe", json!({"uri": "skill://a/dir/x.md"})).await.unwrap();
        skills.replace(SkillTree::default());
        client.peer.expect("notifications/resources/list_changed").await;
        let gone = client.ask("resources/read", json!({"uri": "skill://a/SKILL.md"})).await;
        assert_eq!(gone, Err(-32002));
    });
}

#[test]
fn a_layer_without_skills_changes_nothing() {
    run_paused(async {
        let server = Server::from_handler(Notes { capabilities: resources() }).layer(SkillsLayer::default());
        let other = ServerRequest::Other { method: "skills/list".into(), params: Params::Absent };
        let outcome = server.service().call(other, Context::detached()).await;
        assert_eq!(outcome.unwrap_err().code, -32601);
        let skills = SkillsLayer::new(skills(&Scene::new())).layer(server.service().clone());
        let other = ServerRequest::Other { method: "skills/list".into(), params: Params::Absent };
        assert!(skills.call(other, Context::detached()).await.is_ok());
    });
}

#[test]
fn requests_wait_until_the_first_folders_are_known() {
    run_paused(async {
        let scene = Scene::new();
        scene.skill("a");
        let skills = Skills::held(SkillTree::default());
        let mut client = Client::connect(&skills, resources(), false).await;
        let read = json!({"uri": "skill://a/SKILL.md"});
        let waiting = [("skills/list", json!({})), ("resources/read", read)];
        let mut ids = Vec::new();
        for (method, params) in waiting {
            ids.push(client.peer.request(method, params).await);
        }
        client.peer.hears_nothing().await;
        assert!(client.ask("resources/read", json!({"uri": "note:a"})).await.is_ok(), "other requests do not wait");
        skills.replace(scene.tree());
        skills.release();
        for id in ids {
            let (answer, _) = client.peer.until(id).await;
            assert!(answer["result"].to_string().contains("skill://a/SKILL.md"), "{answer}");
        }
    });
}
