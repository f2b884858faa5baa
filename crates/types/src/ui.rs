//! MCP Apps: pages of a server that a host shows next to the results of tools (extension [`UI_EXTENSION`], 2026-01-26).
//!
//! The members `ui` of the `_meta` of tools and resources, and the capability of a client that shows pages.

use serde::{Deserialize, Serialize};

use crate::capability::ClientCapabilities;
use crate::empty::Empty;
use crate::json_object::JsonObject;
use crate::raw::RawJson;

/// The name of the extension among the capabilities of a client.
pub const UI_EXTENSION: &str = "io.modelcontextprotocol/ui";

/// The media type of a page.
pub const UI_MIME_TYPE: &str = "text/html;profile=mcp-app";

/// The scheme of the URI of a page, with its separator.
pub const UI_SCHEME: &str = "ui://";

/// The name of the member in `_meta`.
const UI: &str = "ui";

/// The member `ui` in the `_meta` of a tool.
///
/// ```
/// use protomcp_types::{UiTool, UiVisibility};
///
/// let ui = UiTool::shown_by("ui://weather/view").visible_to([UiVisibility::App]);
/// let meta = r#"{"ui":{"resourceUri":"ui://weather/view","visibility":["app"]}}"#;
/// assert_eq!(ui.to_meta(None).as_str(), meta);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UiTool {
    /// The URI of the page that shows the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_uri: Option<String>,
    /// The callers of the tool; `None`: the model and the pages of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Vec<UiVisibility>>,
}

/// A caller of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UiVisibility {
    /// The model. Hosts hide tools from it that do not name it.
    Model,
    /// The pages of the server. Hosts refuse their calls of tools that do not name them.
    App,
}

/// The member `ui` in the `_meta` of a page: of its definition, and of its contents, which win.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UiResource {
    /// The origins that the page may use; `None`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csp: Option<UiCsp>,
    /// The abilities of the browser that the page asks for. Hosts may refuse them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<UiPermissions>,
    /// A dedicated origin for the page, in the form that the host prescribes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Asks for a border and a background, or for none; `None`: the host decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefers_border: Option<bool>,
}

/// The origins that a page may use, such as `https://*.example.com`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UiCsp {
    /// For requests of the page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connect_domains: Vec<String>,
    /// For scripts, styles, images, fonts and media.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_domains: Vec<String>,
    /// For frames in the page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frame_domains: Vec<String>,
    /// For the base of its URLs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub base_uri_domains: Vec<String>,
}

/// Abilities of the browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UiPermissions {
    /// The camera.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub camera: Option<Empty>,
    /// The microphone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microphone: Option<Empty>,
    /// The position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geolocation: Option<Empty>,
    /// Writing to the clipboard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clipboard_write: Option<Empty>,
}

impl UiTool {
    /// A tool whose results this page shows.
    #[must_use]
    pub fn shown_by(uri: impl Into<String>) -> Self {
        Self { resource_uri: Some(uri.into()), visibility: None }
    }

    /// Sets the callers.
    #[must_use]
    pub fn visible_to(mut self, callers: impl IntoIterator<Item = UiVisibility>) -> Self {
        self.visibility = Some(callers.into_iter().collect());
        self
    }

    /// The part of a `_meta`, if it has a valid one.
    #[must_use]
    pub fn of_meta(meta: &RawJson) -> Option<Self> {
        JsonObject::from_raw(meta).ok()?.member(UI)?.to().ok()
    }

    /// This `_meta`, or an empty one, with the member `ui`.
    #[must_use]
    pub fn to_meta(&self, meta: Option<&RawJson>) -> RawJson {
        with_ui(meta, self)
    }
}

impl UiResource {
    /// The part of a `_meta`, if it has a valid one.
    #[must_use]
    pub fn of_meta(meta: &RawJson) -> Option<Self> {
        JsonObject::from_raw(meta).ok()?.member(UI)?.to().ok()
    }

    /// This `_meta`, or an empty one, with the member `ui`.
    #[must_use]
    pub fn to_meta(&self, meta: Option<&RawJson>) -> RawJson {
        with_ui(meta, self)
    }
}

fn with_ui(meta: Option<&RawJson>, ui: &impl Serialize) -> RawJson {
    let mut meta = meta.and_then(|meta| JsonObject::from_raw(meta).ok()).unwrap_or_default();
    meta.insert(UI, RawJson::of(ui).expect("its keys are strings"));
    meta.to_body().into_raw()
}

impl ClientCapabilities {
    /// True if the host shows pages of [`UI_MIME_TYPE`]. It says so in every revision.
    #[must_use]
    pub fn shows_apps(&self) -> bool {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Settings {
            mime_types: Vec<String>,
        }
        let extensions = self.capability("extensions").and_then(|value| JsonObject::from_raw(value).ok());
        let settings = extensions.and_then(|all| all.member(UI_EXTENSION)?.to::<Settings>().ok());
        settings.is_some_and(|settings| settings.mime_types.iter().any(|known| known == UI_MIME_TYPE))
    }

    /// Adds the extension: the host shows pages of [`UI_MIME_TYPE`].
    #[must_use]
    pub fn with_apps(self) -> Self {
        let extensions = self.capability("extensions").and_then(|value| JsonObject::from_raw(value).ok());
        let settings = RawJson::of(&serde_json::json!({"mimeTypes": [UI_MIME_TYPE]})).expect("its keys are strings");
        let extensions = extensions.unwrap_or_default().with(UI_EXTENSION, settings);
        self.with("extensions", extensions.to_body().into_raw())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_shows_apps_if_it_names_the_media_type() {
        for (capabilities, shows) in [
            ("{}", false),
            (r#"{"extensions":{"io.modelcontextprotocol/ui":{}}}"#, false),
            (r#"{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/uri-list"]}}}"#, false),
            (
                r#"{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"],"a":1}}}"#,
                true,
            ),
        ] {
            let capabilities: ClientCapabilities = serde_json::from_str(capabilities).unwrap();
            assert_eq!(capabilities.shows_apps(), shows, "{capabilities:?}");
        }
        let tasks = RawJson::parse(r#"{"io.modelcontextprotocol/tasks":{}}"#).unwrap();
        let both = ClientCapabilities::new().with("extensions", tasks).with_apps();
        assert!(both.shows_apps() && both.has_extension("io.modelcontextprotocol/tasks"), "{both:?}");
    }

    #[test]
    fn the_meta_keeps_its_other_members() {
        let csp = UiCsp { connect_domains: vec!["https://api.example.com".into()], ..UiCsp::default() };
        let permissions = UiPermissions { clipboard_write: Some(Empty {}), ..UiPermissions::default() };
        let page = UiResource {
            csp: Some(csp),
            permissions: Some(permissions),
            domain: Some("a.example.com".into()),
            prefers_border: Some(false),
        };
        let meta = page.to_meta(Some(&RawJson::parse(r#"{"a":1,"ui":{"domain":"b"}}"#).unwrap()));
        let parsed: serde_json::Value = meta.to().unwrap();
        let expected = serde_json::json!({"a": 1, "ui": {
            "csp": {"connectDomains": ["https://api.example.com"]},
            "permissions": {"clipboardWrite": {}},
            "domain": "a.example.com",
            "prefersBorder": false,
        }});
        assert_eq!(parsed, expected);
        assert_eq!(UiResource::of_meta(&meta), Some(page));
        assert_eq!(UiTool::of_meta(&RawJson::parse(r#"{"ui":{"visibility":["someone"]}}"#).unwrap()), None);
    }
}
