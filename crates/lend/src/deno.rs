//! Lending to Deno, through an import map.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::node::file_url;

/// The most bytes of a configuration that are searched.
const SEARCHED: u64 = 1 << 20;

/// The configurations that name packages, each with the words by which it does.
const CONFIGURATIONS: [(&str, &[&str]); 3] = [
    ("deno.json", &["\"imports\"", "\"importMap\"", "protomcp"]),
    ("deno.jsonc", &["\"imports\"", "\"importMap\"", "protomcp"]),
    ("package.json", &["\"protomcp\""]),
];

/// The option with the import map of the SDK in `folder`.
pub(crate) fn import_map(folder: &Path) -> OsString {
    let mut option = OsString::from("--import-map=");
    option.push(folder.join("import_map.json"));
    option
}

/// The entry of a configuration's imports for the SDK in `folder`.
pub(crate) fn entry(folder: &Path) -> String {
    format!("\"protomcp\": \"{}\"", file_url(&folder.join("modules/protomcp/src/index.js")))
}

/// True if a configuration in the folder of the file or above it has imports, which an import map would replace, or names
/// the SDK.
pub(crate) fn has_imports(file: &Path) -> bool {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    file.ancestors().skip(1).any(|folder| CONFIGURATIONS.iter().any(|(name, words)| names(&folder.join(name), words)))
}

fn names(configuration: &Path, words: &[&str]) -> bool {
    let mut text = Vec::new();
    let read = File::open(configuration).and_then(|file| file.take(SEARCHED).read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text);
    read.is_ok() && words.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn imports_of_a_project_are_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("project/deep/t.ts");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "").unwrap();
        assert!(!has_imports(&file));
        for (name, text, expected) in [
            ("deno.json", r#"{"imports": {"zod": "npm:zod"}}"#, true),
            ("deno.json", r#"{"importMap": "./map.json"}"#, true),
            ("deno.json", r#"{"fmt": {}}"#, false),
            ("deno.jsonc", r#"{"imports": {}} // none"#, true),
            ("package.json", r#"{"dependencies": {"protomcp": "1"}}"#, true),
            ("package.json", r#"{"name": "protomcp-tools", "dependencies": {"zod": "4"}}"#, false),
        ] {
            let configuration = folder.path().join("project").join(name);
            fs::write(&configuration, text).unwrap();
            assert_eq!(has_imports(&file), expected, "{name}: {text}");
            fs::remove_file(configuration).unwrap();
        }
    }

    #[test]
    fn the_import_map_matches_the_sdk() {
        assert_eq!(import_map(Path::new("/c d")), "--import-map=/c d/import_map.json");
        assert_eq!(entry(Path::new("/c d")), r#""protomcp": "file:///c%20d/modules/protomcp/src/index.js""#);
    }
}
