//! The name that a mistyped one was meant to be.

/// The name that differs least, if that is at most a third of its letters.
pub(crate) fn nearest<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&typed, &name.to_lowercase());
    let near = names.into_iter().map(|name| (distance(name), name));
    near.filter(|(distance, name)| *distance <= 1.max(name.chars().count() / 3)).min().map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_mistake_has_a_suggestion() {
        let names = ["cursor", "claude-code", "claude-desktop", "zed"];
        for (typed, name) in [
            ("Cursor", Some("cursor")),
            ("curser", Some("cursor")),
            ("claude_code", Some("claude-code")),
            ("claud-desktop", Some("claude-desktop")),
            ("zde", Some("zed")),
            ("my-agent", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, names), name, "{typed}");
        }
    }
}
