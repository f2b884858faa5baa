//! The roots that the client of a scenario has.

use std::collections::BTreeMap;

use protomcp_types::Root;
use serde::Deserialize;
use serde_json::Value;

use crate::scenario::variables::filled_text;

/// A root: its URI or path, or an object with its name, too.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected the URI of a root, or an object with its uri and name")]
pub(crate) enum RootText {
    Place(String),
    Named(NamedRoot),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamedRoot {
    uri: String,
    #[serde(default)]
    name: Option<String>,
}

/// The roots with the values of variables.
pub(crate) fn filled(roots: &[RootText], variables: &BTreeMap<String, Value>) -> Result<Vec<Root>, String> {
    let fill = |text: &String| filled_text(text, variables);
    let root = |root: &RootText| {
        let (uri, name) = match root {
            RootText::Place(uri) => (uri, None),
            RootText::Named(NamedRoot { uri, name }) => (uri, name.as_ref()),
        };
        Ok(Root { uri: fill(uri)?, name: name.map(fill).transpose()?, meta: None })
    };
    roots.iter().map(root).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_root_is_a_place_or_an_object() {
        let roots: Vec<RootText> = serde_saphyr::from_str("[file:///a, {uri: '{{b}}', name: B}]").unwrap();
        let roots = filled(&roots, &BTreeMap::from([("b".to_owned(), json!("/b"))])).unwrap();
        let shown: Vec<_> = roots.iter().map(|root| (root.uri.as_str(), root.name.as_deref())).collect();
        assert_eq!(shown, [("file:///a", None), ("/b", Some("B"))]);
        assert!(filled(&[RootText::Place("{{c}}".into())], &BTreeMap::new()).is_err());
        let error = serde_saphyr::from_str::<RootText>("{url: x}").unwrap_err().to_string();
        assert!(error.contains("expected the URI of a root"), "{error}");
    }
}
