//! The names of the fields of one message.

use std::collections::{BTreeMap, BTreeSet};

use super::names::{folded, snake_case};

/// A name for each key. A key that is a name of a field already keeps it; numbers tell the others apart.
///
/// Runtimes of protobuf look fields up by their names and by their JSON names, which are the keys, in one table, together
/// with the names of groups: an optional field `id` makes the group `_id`. So the name of a field is not the key of
/// another one, and its group is not a key.
pub(crate) fn field_names<'k>(keys: &[&'k str]) -> BTreeMap<&'k str, String> {
    let all: BTreeSet<&str> = keys.iter().copied().collect();
    let is_free =
        |key: &str, name: &str| (name == key || !all.contains(name)) && !all.contains(format!("_{name}").as_str());
    let mut taken = BTreeSet::new();
    let mut names = BTreeMap::new();
    for key in keys.iter().copied().filter(|key| snake_case(key) == *key && is_free(key, key)) {
        if taken.insert(folded(key)) {
            names.insert(key, key.to_owned());
        }
    }
    for key in keys.iter().copied() {
        if names.contains_key(key) {
            continue;
        }
        let first = snake_case(key);
        let others = (2..).map(|number: usize| format!("{first}_{number}"));
        let mut free = std::iter::once(first.clone()).chain(others).filter(|name| is_free(key, name));
        if let Some(name) = free.find(|name| taken.insert(folded(name))) {
            names.insert(key, name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_names_keep_them() {
        for (keys, expected) in [
            (&["foo-bar", "foo_bar"][..], &["foo_bar_2", "foo_bar"][..]),
            (&["fooBar", "foo_bar"], &["foo_bar_2", "foo_bar"]),
            (&["foo_bar", "fooBar"], &["foo_bar", "foo_bar_2"]),
            (&["foo.bar", "foo bar", "foo_bar_2", "foo_bar"], &["foo_bar_3", "foo_bar_4", "foo_bar_2", "foo_bar"]),
            (&["f", "", "ü", "f_2"], &["f", "f_3", "f_4", "f_2"]),
            (&["a", "A", "a_", "_b"], &["a", "a_2", "a_3", "b_2"]),
            (&["_id"], &["id_2"]),
            (&["id", "_id"], &["id_2", "id_3"]),
            (&["foo1", "foo_1"], &["foo1", "foo_1_2"]),
        ] {
            let names = field_names(keys);
            let given: Vec<&str> = keys.iter().map(|key| names[key].as_str()).collect();
            assert_eq!(given, expected, "{keys:?}");
        }
    }
}
