//! Members of MCP that messages have no field for, as JSON in `metadata`.

use std::collections::BTreeMap;

use protomcp_types::RawJson;

/// The entries of those members that there are.
pub(crate) fn json_entries<const N: usize>(members: [(&str, &Option<RawJson>); N]) -> BTreeMap<String, String> {
    let given = members.into_iter().filter_map(|(key, json)| Some((key, json.as_ref()?)));
    given.map(|(key, json)| (key.to_owned(), json.as_str().to_owned())).collect()
}

/// The member at this key, if it is JSON.
pub(crate) fn json_of(metadata: &BTreeMap<String, String>, key: &str) -> Option<RawJson> {
    metadata.get(key).and_then(|text| RawJson::parse(text.clone()).ok())
}

/// A text; an empty one is absent.
pub(crate) fn some_text(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}
