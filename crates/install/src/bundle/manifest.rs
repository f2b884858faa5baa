//! The manifest of a bundle (version 0.3), and the entry of a bundle in the public registry of servers.

use serde_json::{Map, Value, json};

/// The facts about a bundle.
#[derive(Debug, Clone, Default)]
pub struct BundleManifest {
    /// The name of the server, for programs.
    pub name: String,
    /// The version, such as 1.0.0.
    pub version: String,
    /// One sentence.
    pub description: String,
    /// The name of the author.
    pub author: String,
    /// The operating system of the program, by Rust's name for it (`std::env::consts::OS`).
    pub os: String,
    /// The path of the program in the bundle.
    pub program: String,
    /// Its arguments; `${__dirname}` is the directory of the bundle.
    pub arguments: Vec<String>,
    /// The settings that the host asks its user for.
    pub settings: Vec<BundleSetting>,
    /// The names and descriptions of the tools.
    pub tools: Vec<(String, String)>,
}

/// An environment variable of the server, whose value the user of a host enters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleSetting {
    /// The name of the variable.
    pub variable: String,
    /// The text next to the field.
    pub description: String,
}

impl BundleSetting {
    /// True if hosts should hide and protect the value.
    pub fn is_secret(&self) -> bool {
        let name = self.variable.to_ascii_uppercase();
        ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"].iter().any(|part| name.contains(part))
    }
}

impl BundleManifest {
    /// The text of `manifest.json`.
    pub fn json(&self) -> String {
        let mut environment = Map::new();
        let mut settings = Map::new();
        for setting in &self.settings {
            let id = setting.variable.to_ascii_lowercase();
            environment.insert(setting.variable.clone(), format!("${{user_config.{id}}}").into());
            let field = json!({
                "type": "string",
                "title": setting.variable,
                "description": setting.description,
                "required": true,
                "sensitive": setting.is_secret(),
            });
            settings.insert(id, field);
        }
        let tools = self.tools.iter().map(|(name, description)| match description.as_str() {
            "" => json!({ "name": name }),
            text => json!({ "name": name, "description": text }),
        });
        let os = match self.os.as_str() {
            "macos" => "darwin",
            "windows" => "win32",
            other => other,
        };
        let manifest = json!({
            "manifest_version": "0.3",
            "name": self.name,
            "version": self.version,
            "description": self.description,
            "author": { "name": self.author },
            "server": {
                "type": "binary",
                "entry_point": self.program,
                "mcp_config": {
                    "command": format!("${{__dirname}}/{}", self.program),
                    "args": self.arguments,
                    "env": environment,
                },
            },
            "tools": tools.collect::<Vec<_>>(),
            "user_config": settings,
            "compatibility": { "platforms": [os] },
        });
        format!("{manifest:#}\n")
    }
}

/// The text of `server.json` for the public registry: `name` in it, such as `io.github.ann/tools`, the URL from which the
/// bundle can be downloaded, and its SHA-256 in hexadecimal.
pub fn registry_entry(manifest: &BundleManifest, name: &str, url: &str, sha256: &str) -> String {
    let variables = manifest.settings.iter().map(|setting| {
        json!({
            "name": setting.variable,
            "description": setting.description,
            "isRequired": true,
            "isSecret": setting.is_secret(),
        })
    });
    let entry: Value = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": name,
        "description": manifest.description,
        "version": manifest.version,
        "packages": [{
            "registryType": "mcpb",
            "identifier": url,
            "fileSha256": sha256,
            "transport": { "type": "stdio" },
            "environmentVariables": variables.collect::<Vec<_>>(),
        }],
    });
    format!("{entry:#}\n")
}
