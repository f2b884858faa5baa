//! The roots that a client offers to its servers (MCP 2025-11-25, client/roots).

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use protomcp_types::Root;

/// The roots of a client, in the order in which they were added. `None`: the client does not offer roots.
#[derive(Debug, Default)]
pub(crate) struct Roots(Mutex<Option<Vec<Root>>>);

impl Roots {
    /// Offers roots, possibly none.
    pub(crate) fn offer(&self) {
        self.lock().get_or_insert_default();
    }

    pub(crate) fn are_offered(&self) -> bool {
        self.lock().is_some()
    }

    /// Adds a root, or replaces the one with the same URI. True if something has changed.
    pub(crate) fn add(&self, root: Root) -> bool {
        let mut roots = self.lock();
        let roots = roots.get_or_insert_default();
        match roots.iter_mut().find(|other| other.uri == root.uri) {
            Some(other) if *other == root => false,
            Some(other) => {
                *other = root;
                true
            }
            None => {
                roots.push(root);
                true
            }
        }
    }

    /// Offers these roots alone. True if something has changed.
    pub(crate) fn set(&self, all: Vec<Root>) -> bool {
        let mut roots = self.lock();
        let has_changed = roots.as_ref().is_none_or(|known| *known != all);
        *roots = Some(all);
        has_changed
    }

    /// Removes a root. True if it was there.
    pub(crate) fn remove(&self, uri: &str) -> bool {
        let mut roots = self.lock();
        let Some(roots) = roots.as_mut() else { return false };
        let before = roots.len();
        roots.retain(|root| root.uri != uri);
        roots.len() < before
    }

    pub(crate) fn list(&self) -> Vec<Root> {
        self.lock().clone().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<Root>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The URI of a root: a URI as it is, or the `file:` URI of a path. A relative path is relative to the current
/// directory.
pub(crate) fn uri(place: &str) -> String {
    if has_scheme(place) {
        return place.to_owned();
    }
    let path = std::path::absolute(Path::new(place)).unwrap_or_else(|_| Path::new(place).to_owned());
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(*byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// True for `file:///a` and other URIs (RFC 3986, 3.1). One letter before the colon is a drive.
fn has_scheme(place: &str) -> bool {
    let Some((scheme, _)) = place.split_once(':') else { return false };
    scheme.len() > 1
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_a_file_uri() {
        for (place, expected) in [
            ("file:///a b", "file:///a b"),
            ("https://a/b", "https://a/b"),
            ("/srv/my data/ü", "file:///srv/my%20data/%C3%BC"),
        ] {
            assert_eq!(uri(place), expected);
        }
        let here = uri("src");
        assert!(here.starts_with("file:///") && here.ends_with("/src"), "{here}");
    }

    #[test]
    fn removing_an_absent_root_changes_nothing() {
        let roots = Roots::default();
        let root = || Root { uri: "file:///a".into(), name: None, meta: None };
        assert!(!roots.remove("file:///a") && !roots.are_offered());
        assert!(roots.add(root()) && !roots.add(root()));
        assert!(roots.add(Root { name: Some("A".into()), ..root() }));
        assert_eq!(roots.list().len(), 1);
        assert!(roots.remove("file:///a") && !roots.remove("file:///a"));
        assert!(roots.are_offered() && roots.list().is_empty());
        assert!(roots.set(vec![root()]) && !roots.set(vec![root()]) && roots.set(Vec::new()));
    }
}
