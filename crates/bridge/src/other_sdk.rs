//! Files that are MCP servers with another SDK, by their imports.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The most bytes of a file that are searched. Imports are at its beginning.
const SEARCHED: u64 = 64 * 1024;

/// The languages whose imports are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    JavaScript,
}

/// The modules of other SDKs that serve, and not those that only call.
const PYTHON: &[&str] = &["fastmcp", "mcp.server"];
const JAVASCRIPT: &[&str] =
    &["@modelcontextprotocol/sdk/server", "@modelcontextprotocol/server", "@modelcontextprotocol/node", "fastmcp"];

/// True if a file imports a server of another SDK and not ours. One that cannot be read does not.
pub(crate) fn is_used_by(path: &Path, language: Language) -> bool {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(SEARCHED).read_to_end(&mut bytes));
    read.is_ok() && is_used_in(&String::from_utf8_lossy(&bytes), language)
}

fn is_used_in(text: &str, language: Language) -> bool {
    let imports = |module: &str| match language {
        Language::Python => text.lines().any(|line| imports_python(line, module)),
        Language::JavaScript => text.lines().any(|line| imports_javascript(line, module)),
    };
    let others = match language {
        Language::Python => PYTHON,
        Language::JavaScript => JAVASCRIPT,
    };
    others.iter().any(|module| imports(module)) && !imports("protomcp")
}

/// `import module`, `from module import …` and `from module.part import …` at the beginning of a line.
fn imports_python(line: &str, module: &str) -> bool {
    let named = line.strip_prefix("from ").or_else(|| line.strip_prefix("import "));
    let rest = named.and_then(|named| named.trim_start().strip_prefix(module));
    rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
}

/// The name of the module, or of a part of it, in quotes at the end of an import or in `require(…)`.
fn imports_javascript(line: &str, module: &str) -> bool {
    ['"', '\''].iter().any(|quote| {
        line.split_once(&format!("{quote}{module}")).is_some_and(|(before, rest)| {
            let before = before.trim_end();
            let is_import = ["from", "import", "import(", "require("].iter().any(|word| before.ends_with(word));
            is_import && !before.trim_start().starts_with("//") && rest.starts_with([*quote, '/'])
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_other_sdks_are_known_by_their_imports() {
        for (text, expected) in [
            ("from fastmcp import FastMCP\n", true),
            ("import os\nimport fastmcp\n", true),
            ("import fastmcp as fm\n", true),
            ("from mcp.server.fastmcp import FastMCP\r\n", true),
            ("from mcp.server import Server\n", true),
            ("from mcp import ClientSession\n", false),
            ("from fastmcp_extra import x\n", false),
            ("    from fastmcp import FastMCP\n", false),
            ("# from fastmcp import FastMCP\n", false),
            ("from fastmcp import Client\nfrom protomcp import tool\n", false),
            ("import protomcp.runner\nimport fastmcp\n", false),
            ("", false),
        ] {
            assert_eq!(is_used_in(text, Language::Python), expected, "{text:?}");
        }
        for (text, expected) in [
            (r#"import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";"#, true),
            ("import {\n  McpServer,\n} from '@modelcontextprotocol/server';", true),
            (r#"const { McpServer } = require("@modelcontextprotocol/sdk/server/mcp.js")"#, true),
            (r#"const { McpServer } = await import("@modelcontextprotocol/server")"#, true),
            (r#"import { Client } from "@modelcontextprotocol/sdk/client/index.js";"#, false),
            (r#"import { x } from "@modelcontextprotocol/server-filesystem";"#, false),
            (r#"// import { McpServer } from "@modelcontextprotocol/server";"#, false),
            ("import \"@modelcontextprotocol/server\";\nimport { tool } from \"protomcp\";", false),
        ] {
            assert_eq!(is_used_in(text, Language::JavaScript), expected, "{text:?}");
        }
    }
}
