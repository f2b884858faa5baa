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
    let text = text.trim_start_matches('\u{feff}');
    let (code, is_closed) = code(text, language);
    let imports = |module: &str| match language {
        Language::Python => statements(&code).any(|statement| imports_python(statement, module)),
        // Lines that look like imports count where a string or a comment has no end: it began in a regular expression.
        Language::JavaScript => {
            let hidden = if is_closed { "" } else { text };
            let begins =
                |line: &&str| ["import", "}", "const ", "let ", "var "].iter().any(|word| line.starts_with(*word));
            code.lines().chain(hidden.lines().filter(begins)).any(|line| imports_javascript(line, module))
        }
    };
    let others = match language {
        Language::Python => PYTHON,
        Language::JavaScript => JAVASCRIPT,
    };
    others.iter().any(|module| imports(module)) && !imports("protomcp")
}

/// The text without comments and without the strings that cannot be the name of a module. False: the last one of several lines
/// has no end.
fn code(text: &str, language: Language) -> (String, bool) {
    let (mut code, mut rest, mut is_closed) = (String::new(), text, true);
    while let Some(at) = rest.find(['#', '/', '"', '\'', '`']) {
        let (before, found) = rest.split_at(at);
        let Token { kept, length, is_closed: has_end } = token(found, language);
        is_closed &= has_end;
        code.push_str(before);
        code.push_str(&found[..kept]);
        rest = &found[length..];
    }
    (code + rest, is_closed)
}

/// A comment, a string, or one character: the bytes that are code, and all of them.
struct Token {
    kept: usize,
    length: usize,
    /// False for one of several lines that reaches the end of the text.
    is_closed: bool,
}

fn token(text: &str, language: Language) -> Token {
    let hidden = |(length, is_closed): (usize, bool)| Token { kept: 0, length, is_closed };
    let to_line_end = || hidden((text.find('\n').unwrap_or(text.len()), true));
    let quotes: &[&str] = match language {
        Language::Python => &["\"\"\"", "'''", "\"", "'"],
        Language::JavaScript => &["\"", "'", "`"],
    };
    match (language, quotes.iter().copied().find(|quote| text.starts_with(*quote))) {
        (Language::Python, Some(quote)) => hidden(string(text, quote)),
        (Language::JavaScript, Some("`")) => hidden(string(text, "`")),
        (Language::JavaScript, Some(quote)) => {
            let (length, is_closed) = string(text, quote);
            Token { kept: length, length, is_closed }
        }
        (Language::Python, None) if text.starts_with('#') => to_line_end(),
        (Language::JavaScript, None) if text.starts_with("//") => to_line_end(),
        (Language::JavaScript, None) if text.starts_with("/*") => {
            hidden(text[2..].find("*/").map_or((text.len(), false), |end| (end + 4, true)))
        }
        _ => Token { kept: 1, length: 1, is_closed: true },
    }
}

/// The length of the string that the text begins with, and false if it lacks its end. One in single or double quotes ends with
/// its line at the latest.
fn string(text: &str, quote: &str) -> (usize, bool) {
    let is_one_line = matches!(quote, "\"" | "'");
    let mut at = quote.len();
    while let Some(next) = text[at..].chars().next() {
        if text[at..].starts_with(quote) {
            return (at + quote.len(), true);
        }
        match next {
            '\\' => at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
            '\n' if is_one_line => return (at, true),
            _ => at += next.len_utf8(),
        }
    }
    (text.len(), is_one_line)
}

/// The statements at the beginning of lines, and the statements of `try` and `except`.
fn statements(code: &str) -> impl Iterator<Item = &str> {
    let mut is_tried = false;
    let lines = code.lines().filter(move |line| {
        let is_indented = line.starts_with([' ', '\t']);
        if !is_indented && !line.is_empty() {
            is_tried = line.starts_with("try:") || line.starts_with("except");
        }
        !is_indented || is_tried
    });
    lines.flat_map(|line| line.split(';')).map(|statement| without_clause(statement.trim()))
}

/// The statement that follows `try:` or `except …:` on its line.
fn without_clause(statement: &str) -> &str {
    match statement.split_once(':') {
        Some((clause, rest)) if clause == "try" || clause.starts_with("except") => rest.trim_start(),
        _ => statement,
    }
}

/// `import module`, also among others, `from module import …` and `from module.part import …`.
fn imports_python(statement: &str, module: &str) -> bool {
    let is_meant = |named: &str| {
        let name = named.split_whitespace().next().unwrap_or_default();
        name.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    match statement.split_once(char::is_whitespace) {
        Some(("from", named)) => is_meant(named),
        Some(("import", list)) => list.split(',').any(is_meant),
        _ => false,
    }
}

/// The name of the module, or of a part of it, in quotes at the end of an import or in `require(…)`.
fn imports_javascript(line: &str, module: &str) -> bool {
    ['"', '\''].iter().any(|quote| {
        line.split_once(&format!("{quote}{module}")).is_some_and(|(before, rest)| {
            let before = before.trim_end();
            let is_import = ["from", "import", "import(", "require("].iter().any(|word| before.ends_with(word));
            is_import && rest.starts_with([*quote, '/'])
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
            ("import fastmcp, protomcp\n", false),
            ("import json, protomcp\nimport fastmcp\n", false),
            ("import json, fastmcp as fm\n", true),
            ("import json; import fastmcp\n", true),
            ("\"\"\"Unlike\nimport fastmcp\nthis is small.\"\"\"\nimport json\n", false),
            ("x = '''\nimport fastmcp\n'''\n", false),
            ("\"\"\"It is.\"\"\"\nimport fastmcp\n", true),
            ("# don't\nimport fastmcp\nx = \"\\\"\"\n", true),
            ("import os\nx = \"never closed\nimport fastmcp\n", true),
            ("try:\n    import fastmcp\nexcept ImportError:\n    raise\n", true),
            ("try:\n    import json\nexcept ImportError:\n    import fastmcp\n", true),
            ("try:\n    import protomcp\nexcept ImportError:\n    import fastmcp\n", false),
            ("def f():\n    import fastmcp\n", false),
            ("try:\n    f()\nexcept ValueError:\n    pass\nif x:\n    import fastmcp\n", false),
            ("\u{feff}from fastmcp import FastMCP\n", true),
            ("from\tfastmcp import FastMCP\n", true),
            ("import\tfastmcp\n", true),
            ("try: from fastmcp import FastMCP\nexcept ImportError: raise\n", true),
            ("try: import protomcp\nexcept ImportError: import fastmcp\n", false),
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
            ("/*\nimport \"@modelcontextprotocol/server\";\n*/\n", false),
            ("/* a */ import \"@modelcontextprotocol/server\"; // b\n", true),
            ("const url = \"https://a/*b\";\nimport \"@modelcontextprotocol/server\";\n", true),
            ("const help = `\nimport \"@modelcontextprotocol/server\";\n`;\n", false),
            ("const half = 1 / 2;\nimport \"@modelcontextprotocol/server\";\n/* open", true),
            ("import \"@modelcontextprotocol/server\";\nimport { tool } from \"protomcp\";", false),
            ("const tick = /`/;\nimport \"@modelcontextprotocol/server\";\n", true),
            ("const sign = /[/*]/;\nimport {\n  Server,\n} from \"@modelcontextprotocol/server\";\n", true),
            ("const tick = /`/;\nimport \"fastmcp\";\nimport { tool } from \"protomcp\";\n", false),
            ("/**\n * import \"@modelcontextprotocol/server\";\n", false),
        ] {
            assert_eq!(is_used_in(text, Language::JavaScript), expected, "{text:?}");
        }
    }
}
