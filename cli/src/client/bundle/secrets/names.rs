//! Names of files that are secrets.

use std::path::Path;

/// Where a name counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Everywhere,
    /// Not in packages: their tests have keys, and some have certificates.
    OwnFiles,
}

/// Names in lower case, with one `*` at most. One with `/` has the directory, too.
#[rustfmt::skip]
const NAMES: [(Scope, &[&str]); 2] = [
    (Scope::Everywhere, &[
        ".env*", ".npmrc", ".pypirc", ".netrc", "_netrc", ".git-credentials", ".htpasswd", ".pgpass",
        ".dockercfg", ".git/config", ".kube/config", ".docker/config.json", "credentials", "credentials*.json",
        "*_credentials.json", "service-account*.json", "service_account*.json", "serviceaccount*.json",
        "client_secret*.json", "secrets*.json", "id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519",
        "id_ed25519_sk", ".vault-token", ".bash_history", ".zsh_history", ".python_history", ".node_repl_history",
    ]),
    (Scope::OwnFiles, &[
        "*.env", "kubeconfig", "secrets*.toml", "secrets*.yaml", "secrets*.yml", "token.json", "token.txt", "auth.json", "cookies.txt",
        "env.production", ".renviron",
        "*.tfstate", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.ppk", "*.kdbx",
    ]),
];
/// Names of files that show the form of a secret.
const TEMPLATES: [&str; 9] = [
    "*.example",
    "*.sample",
    "*.template",
    "*.dist",
    "*example.env",
    "*sample.env",
    "*template.env",
    "*.example.json",
    "*.sample.json",
];
/// The ends of the names of copies.
const COPIES: [&str; 5] = [".bak", ".backup", ".old", ".orig", "~"];

/// True for a file that is a secret by its name. `is_published`: it is in a package.
pub(super) fn is_secret(path: &Path, is_published: bool) -> bool {
    let mut parts = path.iter().rev().map(|part| part.to_string_lossy().to_ascii_lowercase());
    let name = parts.next().unwrap_or_default();
    let name = COPIES.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let with_directory = format!("{}/{name}", parts.next().unwrap_or_default());
    let does_fit = |pattern: &&str| fits(pattern, if pattern.contains('/') { with_directory.as_str() } else { name });
    let does_count = |scope: Scope| scope == Scope::Everywhere || !is_published;
    !TEMPLATES.iter().any(does_fit)
        && NAMES.iter().any(|(scope, names)| does_count(*scope) && names.iter().any(does_fit))
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((start, end)) => name.strip_prefix(start).is_some_and(|rest| rest.ends_with(end)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRETS: &[&str] = &[
        ".env",
        ".env.local",
        ".envrc",
        ".ENV.production",
        "prod.env",
        "config.env",
        "prod.env.bak",
        "server.pem",
        "tls.key",
        "tls.key.bak",
        "TLS.KEY~",
        "id_rsa",
        "id_rsa.old",
        "id_ed25519",
        ".npmrc",
        "credentials.json",
        "credentials-2.json",
        "service-account-prod.json",
        "application_default_credentials.json",
        "credentials",
        "secrets.toml",
        "secrets.yaml",
        "secrets.prod.yml",
        "secrets.json",
        "token.json",
        "auth.json",
        "terraform.tfstate",
        "terraform.tfstate.backup",
        "a/.git/config",
        ".kube/config",
        ".docker/config.json",
    ];

    const OTHERS: &[&str] = &[
        ".env.example",
        "example.env",
        "credentials.example.json",
        "secrets.toml.example",
        "environment.json",
        "env.py",
        "id_generator.py",
        "id_rsa.pub",
        "package.json",
        "keys.json",
        "tokens.json",
        "auth.py",
        "secrets.py",
        "credentials.js",
        "monkey",
        "key",
        "config",
        "config.json",
        "docker/config.json",
        "notes.bak",
    ];

    #[test]
    fn names_of_secrets() {
        for name in SECRETS {
            assert!(is_secret(Path::new(name), false), "{name}");
        }
        for name in OTHERS {
            assert!(!is_secret(Path::new(name), false), "{name}");
        }
    }

    #[test]
    fn some_names_do_not_count_in_packages() {
        for (name, expected) in [(".env", true), (".npmrc", true), ("cacert.pem", false), ("auth.json", false)] {
            assert_eq!(is_secret(&Path::new("node_modules/a").join(name), true), expected, "{name}");
        }
    }
}
