//! Files with secrets, by their names and their contents. A bundle is for others.

mod names;
mod passwords;

use std::path::{Path, PathBuf};

use protomcp_install::BundleManifest;
use protomcp_trace::has_key;
use protomcp_types::one_line;

use crate::client::bundle::secrets::names::is_secret;
use crate::client::bundle::secrets::passwords::line_of_password;

/// The part of a file that is searched for keys and passwords, in bytes from its beginning.
const MAX_SEARCHED: usize = 1 << 20;
/// The shortest value of a variable that is looked for, in bytes. A shorter one occurs by chance.
const MIN_VALUE: usize = 8;
/// Directories with published code of others.
const PACKAGES: [&str; 2] = ["node_modules", "site-packages"];

/// The rules for one bundle.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    /// Files and directories that the user has allowed.
    allowed: Vec<PathBuf>,
    /// Variables that the host asks its user for, with the values that they have here.
    values: Vec<(String, String)>,
}

impl Secrets {
    pub(super) fn new(allowed: &[PathBuf], values: Vec<(String, String)>) -> Self {
        let allowed = allowed.iter().filter_map(|path| std::path::absolute(path).ok()).collect();
        Self { allowed, values: values.into_iter().filter(|(_, value)| value.len() >= MIN_VALUE).collect() }
    }

    /// The reason for which a file is not put into a bundle. `inside` is its place in the folder of the tool file,
    /// without links. In packages only some names count, and the values of variables: their code is published, and
    /// their tests have keys.
    pub(super) fn check(&self, path: &Path, inside: &Path, data: &[u8]) -> Result<(), String> {
        if self.is_allowed(path) {
            return Ok(());
        }
        let shown = path.display().to_string();
        // A line break in a name could pose as another reason.
        let shown = one_line(&shown);
        let is_published = inside.iter().any(|part| PACKAGES.iter().any(|name| part == *name));
        if is_secret(path, is_published) || is_secret(inside, is_published) {
            return Err(format!(
                "{shown} looks like a secret by its name: leave it out, or pass --allow-secret {shown}"
            ));
        }
        if let Some(variable) = self.variable_in(data) {
            return Err(format!(
                "{shown} has the value of {variable}, for which the host asks its user: take it out, \
                 or pass --allow-secret {shown}"
            ));
        }
        if is_published {
            return Ok(());
        }
        let text = text_of(&data[..data.len().min(MAX_SEARCHED)]);
        if has_key(&text) {
            return Err(format!("{shown} has a key in its text: take it out, or pass --allow-secret {shown}"));
        }
        match line_of_password(&text) {
            None => Ok(()),
            Some(line) => {
                Err(format!("{shown} has a password in line {line}: take it out, or pass --allow-secret {shown}"))
            }
        }
    }

    /// The reason for which a manifest is not written. `registry` are the name and the URL for the registry.
    pub(super) fn check_manifest(
        &self,
        manifest: &BundleManifest,
        registry: Option<&(String, String)>,
    ) -> Result<(), String> {
        let mut given = vec![&manifest.name, &manifest.version, &manifest.description, &manifest.author];
        given.extend(manifest.settings.iter().map(|setting| &setting.description));
        given.extend(registry.into_iter().flat_map(|(name, url)| [name, url]));
        let tools = manifest.tools.iter().flat_map(|(name, description)| [name, description]);
        if let Some(variable) =
            given.iter().copied().chain(tools.clone()).find_map(|text| self.variable_in(text.as_bytes()))
        {
            return Err(format!(
                "the manifest would have the value of {variable}, for which the host asks its user: take it out of the \
                 flags, and of the descriptions of tools"
            ));
        }
        if given.iter().any(|text| has_key(text) || line_of_password(text).is_some()) {
            return Err("a flag has a key or a password, which the manifest would show: take it out".to_owned());
        }
        // Passwords of literals are in the tool file, which is searched, too.
        if tools.into_iter().any(|text| has_key(text)) {
            return Err("the description of a tool has a key, which the manifest would show: take it out".to_owned());
        }
        Ok(())
    }

    /// The variable whose value is in the data.
    fn variable_in(&self, data: &[u8]) -> Option<&str> {
        let is_in = |value: &str| data.windows(value.len()).any(|part| part == value.as_bytes());
        self.values.iter().find(|(_, value)| is_in(value)).map(|(variable, _)| variable.as_str())
    }

    fn is_allowed(&self, path: &Path) -> bool {
        std::path::absolute(path).is_ok_and(|path| self.allowed.iter().any(|allowed| path.starts_with(allowed)))
    }
}

/// The text of a file, also if it has bytes that are none. With the mark of UTF-16 it is both: the mark may be by chance.
fn text_of(data: &[u8]) -> String {
    let text = String::from_utf8_lossy(data).into_owned();
    let unit: fn([u8; 2]) -> u16 = match data {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return text,
    };
    let units = data.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).chain(text.chars()).collect()
}

#[cfg(test)]
mod tests {
    use protomcp_install::BundleSetting;

    use super::*;

    const KEY: &str = "ghp_abcdefghijklmnopqrstuvwxyz";

    fn secrets() -> Secrets {
        let values = vec![("FLAG".to_owned(), "1".to_owned()), ("API_KEY".to_owned(), "open sesame".to_owned())];
        Secrets::new(&["keys".into()], values)
    }

    fn why(path: &str, data: &[u8]) -> String {
        let inside = Path::new(path).strip_prefix(".").unwrap_or(Path::new(path));
        secrets().check(Path::new(path), inside, data).err().unwrap_or_default()
    }

    #[test]
    fn a_directory_allows_its_files_and_short_values_pass() {
        assert_eq!(why("./keys/a.pem", b""), "");
        assert!(why("keys.pem", b"").contains("by its name"));
        assert_eq!(why("a.py", b"x = 1"), "");
        assert!(why("a.py", b"x = 'open sesame'").contains("the value of API_KEY"));
        assert!(why("a.py", KEY.as_bytes()).contains("has a key in its text"));
        let password = why("a.py", b"a = 1\npassword = 'hunter2hunter2'");
        assert!(password.contains("a.py has a password in line 2: "), "{password}");
    }

    #[test]
    fn packages_have_published_keys() {
        for folder in ["node_modules", "site-packages"] {
            let why = |name: &str, text: &str| why(&format!("{folder}/a/{name}"), text.as_bytes());
            assert_eq!(why("b.js", KEY), "", "{folder}");
            assert_eq!(why("cacert.pem", ""), "", "{folder}");
            assert!(why(".npmrc", "").contains("by its name"), "{folder}");
            assert!(why("b.js", "open sesame").contains("the value of API_KEY"), "{folder}");
        }
    }

    #[test]
    fn the_beginning_of_any_file_is_searched() {
        let spaces = " ".repeat(MAX_SEARCHED);
        for (data, is_found) in [
            ([KEY.as_bytes(), spaces.as_bytes()].concat(), true),
            ([spaces.as_bytes(), KEY.as_bytes()].concat(), false),
            ([&b"\xff\xfe "[..], KEY.as_bytes()].concat(), true),
            (format!("\u{feff}{KEY}").encode_utf16().flat_map(u16::to_le_bytes).collect(), true),
            (format!("\u{feff}{KEY}").encode_utf16().flat_map(u16::to_be_bytes).collect(), true),
        ] {
            assert_eq!(why("a.txt", &data).contains("has a key in its text"), is_found);
        }
    }

    #[test]
    fn the_target_of_a_link_counts() {
        let why = secrets().check(Path::new("notes.txt"), Path::new("data/.env"), b"");
        assert!(why.is_err_and(|why| why.contains("notes.txt looks like a secret by its name")));
    }

    #[test]
    fn the_texts_of_a_manifest_are_searched() {
        let manifest = |description: &str, setting: &str, tool: &str| BundleManifest {
            description: description.to_owned(),
            settings: vec![BundleSetting { variable: "API_KEY".into(), description: setting.to_owned() }],
            tools: vec![("greet".to_owned(), tool.to_owned())],
            ..BundleManifest::default()
        };
        let url = |url: &str| Some(("a/b".to_owned(), url.to_owned()));
        for (manifest, registry, reason) in [
            (manifest("Greets.", "The key", "Greets."), url("https://example.com/a.mcpb"), ""),
            (manifest(KEY, "The key", ""), None, "a flag has a key or a password"),
            (manifest("Greets.", KEY, ""), None, "a flag has a key or a password"),
            (manifest("Greets.", "", ""), url("https://ann:hunter2hunter2@example.com/"), "a flag has a key"),
            (manifest("Greets.", "open sesame", ""), None, "the value of API_KEY"),
            (manifest("Greets.", "", "Uses open sesame."), None, "the value of API_KEY"),
        ] {
            let why = secrets().check_manifest(&manifest, registry.as_ref()).err().unwrap_or_default();
            assert!(why.contains(reason) && why.is_empty() == reason.is_empty(), "{reason}: {why}");
        }
    }
}
