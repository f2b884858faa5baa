//! A layer that shows hosts adapted definitions, and takes calls by the adapted names.

use std::sync::Arc;

use protomcp_client::{Cursors, NextPage};
use protomcp_server::{Context, Layer, Server, ServerRequest, ServerResult, Service};
use protomcp_types::{ErrorObject, JsonObject, ListTools, RawJson, array, code};

use crate::adapt::Adaptation;
use crate::hosts::HostSelection;

/// Adapts the definitions of tools to hosts, and maps the names of calls back. Tools can also be called by their own names.
#[derive(Debug, Clone)]
pub struct HostLayer(Arc<Adaptation>);

/// A service behind a [`HostLayer`].
#[derive(Debug)]
pub struct ForHosts<S> {
    inner: S,
    adaptation: Arc<Adaptation>,
}

impl HostLayer {
    /// A layer for these hosts, which know the server under this name. Without hosts nothing changes.
    #[must_use]
    pub fn new(hosts: &HostSelection, server: impl Into<String>) -> Self {
        Self(Arc::new(Adaptation::new(hosts, server)))
    }

    /// The server with this layer around it.
    pub fn around<S: Service>(&self, server: Server<S>) -> Server<ForHosts<Arc<S>>> {
        let (own, adaptation) = (server.clone(), Arc::clone(&self.0));
        let definition =
            move |name: &str| own.tool_definition(&adaptation.own_name(name).unwrap_or_else(|| name.to_owned()));
        server.layer(self).with_tool_definitions(definition)
    }
}

impl<S: Service> Layer<S> for HostLayer {
    type Service = ForHosts<S>;

    fn layer(&self, inner: S) -> ForHosts<S> {
        ForHosts { inner, adaptation: Arc::clone(&self.0) }
    }
}

impl<S: Service> Service for ForHosts<S> {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        match request {
            _ if !self.adaptation.changes_anything() => self.inner.call(request, context).await,
            ServerRequest::ListTools(list) => {
                self.adapted(self.inner.call(ServerRequest::ListTools(list), context).await?)
            }
            ServerRequest::CallTool(mut call) => {
                if let Some(own) = self.adaptation.own_name(&call.name) {
                    call.name = own;
                    return self.inner.call(ServerRequest::CallTool(call), context).await;
                }
                match self.inner.call(ServerRequest::CallTool(call.clone()), context.clone()).await {
                    // The host has read the list before this program was started again.
                    Err(error) if error.code == code::INVALID_PARAMS => {
                        Box::pin(self.learn(&context)).await;
                        let Some(own) = self.adaptation.own_name(&call.name).filter(|own| *own != call.name) else {
                            return Err(error);
                        };
                        call.name = own;
                        self.inner.call(ServerRequest::CallTool(call), context).await
                    }
                    outcome => outcome,
                }
            }
            request => self.inner.call(request, context).await,
        }
    }
}

impl<S: Service> ForHosts<S> {
    /// The page with adapted definitions.
    fn adapted(&self, page: ServerResult) -> Result<ServerResult, ErrorObject> {
        let unreadable = |error| ErrorObject::internal(format!("the list of tools cannot be read: {error}"));
        let adapt = |tools: &RawJson| -> Result<RawJson, ErrorObject> {
            let tools: Vec<RawJson> = tools.to().map_err(unreadable)?;
            Ok(array(self.adaptation.definitions(&tools)))
        };
        match page {
            ServerResult::ListTools(mut page) => {
                page.tools = adapt(&page.tools)?;
                Ok(page.into())
            }
            // A service that writes its results itself.
            ServerResult::Body(body) => {
                let mut members = JsonObject::from_raw(&body.into_raw()).map_err(unreadable)?;
                if let Some(tools) = members.member("tools") {
                    let tools = adapt(tools)?;
                    members.insert("tools", tools);
                }
                Ok(ServerResult::Body(members.to_body()))
            }
            other => Ok(other),
        }
    }

    /// Reads the whole list, so that all names are known.
    async fn learn(&self, context: &Context) {
        let (mut cursor, mut cursors) = (None, Cursors::default());
        loop {
            let list = ServerRequest::ListTools(ListTools { cursor: cursor.take(), meta: None });
            let Ok(page) = self.inner.call(list, context.clone()).await else { return };
            let next = match &page {
                ServerResult::ListTools(page) => page.next_cursor.clone(),
                ServerResult::Body(body) => {
                    let members = JsonObject::from_raw(&body.clone().into_raw()).unwrap_or_default();
                    members.member("nextCursor").and_then(|next| next.to().ok())
                }
                _ => None,
            };
            let _adapted = self.adapted(page);
            match cursors.next(next) {
                Ok(NextPage::At(next)) => cursor = Some(next),
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use protomcp_types::{CallTool, ListToolsResult};

    use super::*;

    #[derive(Default)]
    struct Tools {
        called: Mutex<Vec<String>>,
    }

    impl Service for Tools {
        async fn call(&self, request: ServerRequest, _: Context) -> Result<ServerResult, ErrorObject> {
            let definition = r#"{"name":"group.get","inputSchema":{"type":"object","properties":{}}}"#;
            match request {
                ServerRequest::ListTools(list) if list.cursor.is_none() => {
                    Ok(ListToolsResult { tools: RawJson::EMPTY_ARRAY, next_cursor: Some("2".into()), meta: None }
                        .into())
                }
                ServerRequest::ListTools(_) => {
                    Ok(ListToolsResult::new(RawJson::parse(format!("[{definition}]")).unwrap()).into())
                }
                ServerRequest::CallTool(call) if call.name == "group.get" => {
                    self.called.lock().unwrap().push(call.name);
                    Ok(ServerResult::Empty)
                }
                ServerRequest::CallTool(call) => Err(ErrorObject::unknown_tool(&call.name)),
                _ => Ok(ServerResult::Empty),
            }
        }
    }

    #[tokio::test]
    async fn calls_arrive_under_their_own_names() {
        let hosts = HostSelection::default().with("claude").unwrap();
        let service = HostLayer::new(&hosts, "tools").layer(Tools::default());
        let call = |name: &str| service.call(ServerRequest::CallTool(CallTool::new(name)), Context::detached());
        // Before any list was read.
        assert!(call("group_get").await.is_ok() && call("group.get").await.is_ok() && call("group_get").await.is_ok());
        assert_eq!(call("group_put").await.unwrap_err().code, code::INVALID_PARAMS);
        assert_eq!(*service.inner.called.lock().unwrap(), ["group.get"; 3]);
        let list = ServerRequest::ListTools(ListTools { cursor: Some("2".into()), meta: None });
        let Ok(ServerResult::ListTools(page)) = service.call(list, Context::detached()).await else {
            panic!("no list")
        };
        assert!(page.tools.as_str().starts_with(r#"[{"name":"group_get","inputSchema""#), "{}", page.tools);
    }
}
