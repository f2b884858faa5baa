//! Files with secrets, by their names and their contents. A bundle is for others.

use std::path::{Path, PathBuf};

use protomcp_trace::has_key;

/// The largest file whose text is searched for keys, in bytes.
const MAX_SEARCHED: usize = 1 << 20;
/// The shortest value of a variable that is looked for, in bytes. A shorter one occurs by chance.
const MIN_VALUE: usize = 8;

/// Files in which programs keep passwords.
const NAMES: [&str; 9] =
    [".npmrc", ".pypirc", ".netrc", "_netrc", ".git-credentials", ".htpasswd", ".pgpass", ".dockercfg", "credentials"];
/// The ends of the names of keys, and of files with several.
const ENDS: [&str; 8] = [".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".ppk", ".kdbx"];
/// The beginnings of the names of JSON files with credentials.
const JSON: [&str; 6] =
    ["credentials", "service-account", "service_account", "serviceaccount", "client_secret", "secrets"];
/// The ends of the names of files that show the form of `.env`.
const TEMPLATES: [&str; 4] = [".example", ".sample", ".template", ".dist"];

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

    /// The reason for which a file is not put into a bundle. In packages only the name counts: their code is
    /// published, and their tests have keys.
    pub(super) fn check(&self, path: &Path, data: &[u8]) -> Result<(), String> {
        if self.is_allowed(path) {
            return Ok(());
        }
        let shown = path.display();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        if is_secret(&name) {
            return Err(format!(
                "{shown} looks like a secret by its name: leave it out, or pass --allow-secret {shown}"
            ));
        }
        if path.components().any(|part| part.as_os_str() == "node_modules") {
            return Ok(());
        }
        let is_in = |value: &str| data.windows(value.len()).any(|part| part == value.as_bytes());
        if let Some((variable, _)) = self.values.iter().find(|(_, value)| is_in(value)) {
            return Err(format!(
                "{shown} has the value of {variable}, for which the host asks its user: take it out, \
                 or pass --allow-secret {shown}"
            ));
        }
        let is_small = data.len() <= MAX_SEARCHED;
        if is_small && std::str::from_utf8(data).is_ok_and(has_key) {
            return Err(format!("{shown} has a key in its text: take it out, or pass --allow-secret {shown}"));
        }
        Ok(())
    }

    fn is_allowed(&self, path: &Path) -> bool {
        std::path::absolute(path).is_ok_and(|path| self.allowed.iter().any(|allowed| path.starts_with(allowed)))
    }
}

/// True for the name, in lower case, of a file that is a secret.
fn is_secret(name: &str) -> bool {
    let is_one_of = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    let is_environment = name.starts_with(".env") && !is_one_of(&TEMPLATES);
    let is_ssh_key = name.starts_with("id_") && !name.contains('.');
    let is_json = name
        .strip_suffix(".json")
        .is_some_and(|stem| JSON.iter().any(|start| stem.starts_with(start)) || stem.ends_with("_credentials"));
    is_environment || is_ssh_key || is_json || is_one_of(&ENDS) || NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets() {
        for name in [
            ".env",
            ".env.local",
            ".envrc",
            "server.pem",
            "tls.key",
            "id_rsa",
            "id_ed25519",
            ".npmrc",
            "credentials.json",
            "credentials-2.json",
            "service-account-prod.json",
            "application_default_credentials.json",
            "credentials",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            ".env.example",
            "environment.json",
            "id_generator.py",
            "id_rsa.pub",
            "package.json",
            "keys.json",
            "credentials.js",
            "monkey",
            "key",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn a_directory_allows_its_files_and_short_values_pass() {
        let values = vec![("FLAG".to_owned(), "1".to_owned()), ("API_KEY".to_owned(), "open sesame".to_owned())];
        let secrets = Secrets::new(&["keys".into()], values);
        let why = |path: &str, text: &str| secrets.check(Path::new(path), text.as_bytes()).err().unwrap_or_default();
        assert_eq!(why("./keys/a.pem", ""), "");
        assert!(why("keys.pem", "").contains("by its name"));
        assert_eq!(why("a.py", "x = 1"), "");
        assert!(why("a.py", "x = 'open sesame'").contains("the value of API_KEY"));
        let key = "ghp_abcdefghijklmnopqrstuvwxyz";
        assert!(why("a.py", key).contains("has a key in its text"));
        assert_eq!(why("node_modules/a/b.js", key), "");
        assert!(why("node_modules/a/.npmrc", key).contains("by its name"));
        assert_eq!(why("a.py", &(key.to_owned() + &" ".repeat(MAX_SEARCHED))), "");
    }
}
