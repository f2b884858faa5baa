//! The flags for what the server of a tool file says of itself.

use std::collections::BTreeMap;

use clap::Args;
use protomcp_bridge::Builder;
use protomcp_server::ServerInfo;
use protomcp_types::{RawJson, is_shown};

/// The longest text, in bytes. Hosts show it or give it to their model.
const MAX: usize = 64 * 1024;

/// Name, version and texts for hosts.
#[derive(Debug, Args)]
pub(super) struct IdentityFlags {
    /// Name of the server, which hosts show
    #[arg(long, value_name = "NAME", default_value = "protomcp", value_parser = text)]
    name: String,

    /// Version of the server
    #[arg(long, value_name = "VERSION", default_value = env!("CARGO_PKG_VERSION"), value_parser = text)]
    server_version: String,

    /// Instructions for the model of the host: when and how to use the tools
    #[arg(long, value_name = "TEXT", value_parser = prose)]
    instructions: Option<String>,

    /// Web page about the server
    #[arg(long, value_name = "URL", value_parser = website)]
    website: Option<String>,

    /// Icon of the server: an https:// URL of a picture, or a data: URI with the picture in it
    #[arg(long, value_name = "URL", value_parser = icon)]
    icon: Option<String>,
}

impl IdentityFlags {
    pub(super) fn apply(&self, builder: Builder) -> Builder {
        let Self { name, server_version, instructions, website, icon } = self;
        let mut info = ServerInfo::new(name, server_version);
        info.implementation.website_url.clone_from(website);
        info.implementation.icons = icon.as_ref().and_then(|src| RawJson::of(&[BTreeMap::from([("src", src)])]).ok());
        info.instructions.clone_from(instructions);
        builder.info(info)
    }
}

/// A text of one line.
fn text(text: &str) -> Result<String, String> {
    let hidden = text.chars().find(|c| !is_shown(*c));
    match (text.trim().len(), hidden) {
        (0, _) => Err("it is empty".into()),
        (length, _) if length > MAX => Err(format!("it has more than {MAX} bytes")),
        (_, Some(hidden)) => Err(format!("it has the control character U+{:04X}", u32::from(hidden))),
        (_, None) => Ok(text.to_owned()),
    }
}

/// A text with lines and tabs.
fn prose(prose: &str) -> Result<String, String> {
    text(&prose.replace("\r\n", " ").replace(['\n', '\t'], " ")).map(|_| prose.to_owned())
}

/// Clients refuse other schemes (MCP 2025-11-25, basic, "Icons").
fn icon(url: &str) -> Result<String, String> {
    if ["https://", "data:image/"].iter().any(|scheme| url.starts_with(scheme)) {
        text(url)
    } else {
        Err("expected a URL that begins with https:// or data:image/".into())
    }
}

fn website(url: &str) -> Result<String, String> {
    if ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme)) {
        text(url)
    } else {
        Err("expected a URL that begins with https:// or http://".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_no_control_characters() {
        for (given, as_text, as_prose) in [
            ("Tools of Zoë 🦀", true, true),
            ("a\nb\tc", false, true),
            ("a\r\nb", false, true),
            ("a\rb", false, false),
            ("a\u{1b}[31m", false, false),
            ("a\0", false, false),
            ("a\u{202e}b", false, false),
            ("a\u{2028}b", false, false),
            ("a\u{2029}b", false, false),
            ("a\u{200b}b", false, false),
            ("a\u{feff}b", false, false),
            ("a\u{e0041}b", false, false),
            ("👩\u{200d}💻", true, true),
            (" \n", false, false),
        ] {
            assert_eq!((text(given).is_ok(), prose(given).is_ok()), (as_text, as_prose), "{given:?}");
        }
        assert_eq!(text("a\u{202e}b").unwrap_err(), "it has the control character U+202E");
    }

    #[test]
    fn an_icon_is_a_url_that_clients_show() {
        for (url, is_shown) in [
            ("https://example.com/icon.png", true),
            ("data:image/svg+xml;base64,PHN2Zy8+", true),
            ("http://example.com/icon.png", false),
            ("data:text/html,<p>", false),
            ("icon.png", false),
            ("", false),
        ] {
            assert_eq!(icon(url).is_ok(), is_shown, "{url}");
        }
        assert!(icon(&format!("data:image/png,{}", "a".repeat(MAX))).is_err());
    }
}
