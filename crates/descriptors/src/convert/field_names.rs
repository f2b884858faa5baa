//! The names of the fields of one message.

use std::collections::{BTreeMap, BTreeSet};

use super::names::{folded, snake_case};

/// A name for each key. A key that is a name of a field already keeps it; numbers tell the others apart. `true` stands
/// for a field in its own group, see [`Shape::has_group`](super::model::Shape::has_group).
///
/// Runtimes of protobuf look fields up by their names and by their JSON names, which are the keys, in one table, together
/// with the names of groups: an optional field `id` makes the group `_id`. So the name of a field is not the key of
/// another one, and its group is not a key.
pub(crate) fn field_names<'k>(keys: &[(&'k str, bool)]) -> BTreeMap<&'k str, String> {
    let all: BTreeSet<&str> = keys.iter().map(|(key, _)| *key).collect();
    let is_free = |(key, has_group): (&str, bool), name: &str| {
        (name == key || !all.contains(name)) && !(has_group && all.contains(format!("_{name}").as_str()))
    };
    let mut taken = BTreeSet::new();
    let mut names = BTreeMap::new();
    for field in keys.iter().copied().filter(|field| snake_case(field.0) == field.0 && is_free(*field, field.0)) {
        if taken.insert(folded(field.0)) {
            names.insert(field.0, field.0.to_owned());
        }
    }
    for field in keys.iter().copied() {
        let (key, _) = field;
        if names.contains_key(key) {
            continue;
        }
        let first = snake_case(key);
        let others = (2..).map(|number: usize| format!("{first}_{number}"));
        let mut free = std::iter::once(first.clone()).chain(others).filter(|name| is_free(field, name));
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
            assert_eq!(named(keys, true), expected, "{keys:?}");
        }
    }

    #[test]
    fn only_a_field_in_a_group_gives_way_to_the_key_of_it() {
        for (keys, expected) in [
            (&["items", "_items"][..], &["items", "items_2"][..]),
            (&["_id"], &["id"]),
            (&["a", "_b"], &["a", "b"]),
            (&["foo-bar", "foo_bar"], &["foo_bar_2", "foo_bar"]),
        ] {
            assert_eq!(named(keys, false), expected, "{keys:?}");
        }
        let names = field_names(&[("id", true), ("_id", false)]);
        assert_eq!((names["id"].as_str(), names["_id"].as_str()), ("id_2", "id_3"));
    }

    fn named(keys: &[&str], has_group: bool) -> Vec<String> {
        let fields: Vec<(&str, bool)> = keys.iter().map(|key| (*key, has_group)).collect();
        let names = field_names(&fields);
        keys.iter().map(|key| names[key].clone()).collect()
    }
}
