//! Subscriptions, of a client of proto-mcp and of a host of JSON-RPC behind it.

use std::sync::Arc;

use protomcp_bufmcp::{BinaryBackend, BinaryCallError, BinaryClient, BinaryPeer, BinaryServer, StructSchemas};
use protomcp_client::{Client, Mode};
use protomcp_server::{Context, Handler, Limits, Server, ServerHandle, ServerInfo};
use protomcp_testing::in_time;
use protomcp_types::{ErrorObject, ListCapability, ServerCapabilities, Subscribe};
use tokio::io::{duplex, split};
use tokio::sync::mpsc::unbounded_channel;

use super::config;

/// Takes subscriptions to `t:a` and `t:b`.
struct Resources(ServerHandle);

impl Handler for Resources {
    fn info(&self) -> ServerInfo {
        ServerInfo::clone(self.0.info())
    }

    async fn subscribe(&self, request: Subscribe, _: Context) -> Result<(), ErrorObject> {
        match request.uri.as_str() {
            "t:a" | "t:b" => Ok(()),
            uri => Err(ErrorObject::resource_not_found(uri)),
        }
    }
}

/// A client of such a server, and the handle of the server.
async fn connect() -> (BinaryClient, ServerHandle) {
    let resources = Some(ListCapability { list_changed: false, subscribe: true });
    let capabilities = ServerCapabilities { resources, ..ServerCapabilities::default() };
    let info = ServerInfo::new("resources", "1").with_capabilities(capabilities);
    let sessions = ServerHandle::new(info, Limits::default());
    let server = BinaryServer::new(Server::with_sessions(sessions.clone(), Resources(sessions.clone())));
    let (ours, theirs) = duplex(4096);
    let ((reader, writer), (server_reader, server_writer)) = (split(ours), split(theirs));
    tokio::spawn(async move { server.serve(server_reader, server_writer, BinaryPeer::default()).await });
    (BinaryClient::connect(reader, writer, config()).await.unwrap(), sessions)
}

#[tokio::test]
async fn a_client_hears_of_the_resources_that_it_watches() {
    let (client, sessions) = connect().await;
    assert!(client.server().capabilities.resources.unwrap().supports_subscribe);
    let (told, mut hears) = unbounded_channel();
    client.on_update(move |uri| told.send(uri).unwrap());
    client.subscribe("t:a").await.unwrap();
    client.subscribe("t:b").await.unwrap();
    let unknown = client.subscribe("t:x").await.unwrap_err();
    assert!(matches!(unknown, BinaryCallError::Refused(fault) if fault.code == -32002));
    sessions.resource_updated("t:x");
    sessions.resource_updated("t:b");
    assert_eq!(in_time(hears.recv()).await, Ok(Some("t:b".to_owned())));
    client.unsubscribe("t:b").await.unwrap();
    for uri in ["t:b", "t:a"] {
        sessions.resource_updated(uri);
    }
    assert_eq!(in_time(hears.recv()).await, Ok(Some("t:a".to_owned())));
    // A handler for several sessions cannot tell whose subscription it is.
    let info = BinaryBackend::new(client, Arc::new(StructSchemas)).info();
    assert!(!info.capabilities.resources.unwrap().subscribe);
}

#[tokio::test]
async fn a_host_of_json_hears_of_them_as_well() {
    for mode in [Mode::Stateful, Mode::Stateless] {
        let (client, sessions) = connect().await;
        let (told, mut hears) = unbounded_channel();
        let host = Client::new("host", "1.0").mode(mode).on_resource_updated(move |uri, _| {
            let sent = told.send(uri);
            async move { sent.unwrap() }
        });
        let host = host.connect(client.into_transport(Arc::new(StructSchemas))).await.unwrap();
        host.subscribe("t:a").await.unwrap();
        assert!(host.subscribe("t:x").await.is_err());
        sessions.resource_updated("t:a");
        assert_eq!(in_time(hears.recv()).await, Ok(Some("t:a".to_owned())));
        host.subscribe("t:b").await.unwrap();
        sessions.resource_updated("t:b");
        assert_eq!(in_time(hears.recv()).await, Ok(Some("t:b".to_owned())));
    }
}
