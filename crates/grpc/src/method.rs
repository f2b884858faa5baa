//! The methods of the server, by their paths.

/// A method of one of the services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Initialize,
    ListTools,
    CallTool,
    ListResources,
    ReadResource,
    ListPrompts,
    GetPrompt,
    Complete,
    ListTemplates,
    CallToolStream,
    Listen,
    HealthCheck,
    HealthList,
    HealthWatch,
    Reflection,
}

impl Method {
    /// The method at this path.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let (service, method) = path.strip_prefix('/')?.split_once('/')?;
        Some(match (service, method) {
            (SERVICE, "Initialize") => Self::Initialize,
            (SERVICE, "ListTools") => Self::ListTools,
            (SERVICE, "CallTool") => Self::CallTool,
            (SERVICE, "ListResources") => Self::ListResources,
            (SERVICE, "ReadResource") => Self::ReadResource,
            (PROMPTS, "ListPrompts") => Self::ListPrompts,
            (PROMPTS, "GetPrompt") => Self::GetPrompt,
            (PROMPTS, "Complete") => Self::Complete,
            (PROMPTS, "ListTemplates") => Self::ListTemplates,
            (STREAMS, "CallToolStream") => Self::CallToolStream,
            (STREAMS, "Listen") => Self::Listen,
            (HEALTH, "Check") => Self::HealthCheck,
            (HEALTH, "List") => Self::HealthList,
            (HEALTH, "Watch") => Self::HealthWatch,
            (REFLECTION | REFLECTION_ALPHA, "ServerReflectionInfo") => Self::Reflection,
            _ => return None,
        })
    }
}

/// The service of proto-mcp.
pub(crate) const SERVICE: &str = "buf.mcp.v1.MCPService";
/// The service of its extension `prompts`.
pub(crate) const PROMPTS: &str = "buf.mcp.v1.MCPPrompts";
/// The service of reports, and of changes of lists and resources.
pub(crate) const STREAMS: &str = "buf.mcp.v1.MCPStreams";
/// The services of `buf.mcp.v1`.
pub(crate) const SERVICES: [&str; 3] = [SERVICE, PROMPTS, STREAMS];
/// The health checks of gRPC.
pub(crate) const HEALTH: &str = "grpc.health.v1.Health";
/// The reflection of gRPC; its older version differs in the name alone.
pub(crate) const REFLECTION: &str = "grpc.reflection.v1.ServerReflection";
const REFLECTION_ALPHA: &str = "grpc.reflection.v1alpha.ServerReflection";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_a_service_and_a_method() {
        for (path, method) in [
            ("/buf.mcp.v1.MCPService/CallTool", Some(Method::CallTool)),
            ("/grpc.health.v1.Health/Check", Some(Method::HealthCheck)),
            ("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Some(Method::Reflection)),
            ("/buf.mcp.v1.MCPPrompts/GetPrompt", Some(Method::GetPrompt)),
            ("/buf.mcp.v1.MCPStreams/Listen", Some(Method::Listen)),
            ("/buf.mcp.v1.MCPService/CallToolStream", None),
            ("/buf.mcp.v1.MCPService/GetPrompt", None),
            ("/buf.mcp.v1.MCPService/Check", None),
            ("/buf.mcp.v1.MCPService/CallTool/", None),
            ("buf.mcp.v1.MCPService/CallTool", None),
            ("/mcp", None),
        ] {
            assert_eq!(Method::of(path), method, "{path}");
        }
    }
}
