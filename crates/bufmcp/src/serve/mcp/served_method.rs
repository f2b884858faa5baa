//! The methods of MCP that proto-mcp has, with their requests and results as the server knows them.

use protomcp_server::{ServerRequest, ServerResult};
use protomcp_types::{
    CallTool, Complete, Empty, GetPrompt, ListPrompts, ListResourceTemplates, ListResources, ListTools, Method,
    ReadResource, Subscribe, Unsubscribe,
};
use serde::de::DeserializeOwned;

/// A method of which proto-mcp has a counterpart.
pub(in crate::serve) trait ServedMethod: Method<Result: DeserializeOwned + Send + 'static> {
    /// A request with these parameters.
    fn request(params: Self::Params) -> ServerRequest;

    /// The result; `None`: it belongs to another method.
    fn result(result: ServerResult) -> Option<Self::Result>;
}

macro_rules! served {
    ($($name:ident),*) => {
        $(impl ServedMethod for $name {
            fn request(params: Self) -> ServerRequest {
                ServerRequest::$name(params)
            }

            fn result(result: ServerResult) -> Option<Self::Result> {
                match result {
                    ServerResult::$name(result) => Some(result),
                    _ => None,
                }
            }
        })*
    };
}

macro_rules! served_empty {
    ($($name:ident),*) => {
        $(impl ServedMethod for $name {
            fn request(params: Self) -> ServerRequest {
                ServerRequest::$name(params)
            }

            fn result(result: ServerResult) -> Option<Empty> {
                matches!(result, ServerResult::Empty).then_some(Empty {})
            }
        })*
    };
}

served!(CallTool, Complete, GetPrompt, ListPrompts, ListResourceTemplates, ListResources, ListTools, ReadResource);
served_empty!(Subscribe, Unsubscribe);
