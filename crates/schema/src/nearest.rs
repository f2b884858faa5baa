//! The known name that a misspelt one most likely stands for.

/// The name closest to `wrong`, if one is close enough to be a misspelling. Case, `_`, `-` and blanks do not count.
#[must_use]
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Comparing takes time in proportion to the square of the length.
    if wrong.len() > LONGEST {
        return None;
    }
    let folded = fold(wrong);
    let allowed = (folded.chars().count() / 3).max(1);
    names
        .into_iter()
        .filter(|name| name.len() <= LONGEST)
        .map(|name| (strsim::osa_distance(&folded, &fold(name)), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// `; did you mean "…"?`, or nothing.
#[must_use]
pub fn did_you_mean<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(wrong, names).map(|name| format!("; did you mean {name:?}?")).unwrap_or_default()
}

/// `userName`, `user_name` and `user-name` are written as one name.
fn fold(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

/// The longest name that is compared, in bytes.
const LONGEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let names = ["name", "user_name", "count", "choices"];
        for (wrong, meant) in [
            ("nmae", Some("name")),
            ("Name", Some("name")),
            ("userName", Some("user_name")),
            ("cuont", Some("count")),
            ("choice", Some("choices")),
            ("password", None),
            ("", None),
            (&"n".repeat(65), None),
        ] {
            assert_eq!(nearest(wrong, names), meant, "{wrong}");
        }
        assert_eq!(did_you_mean("nam", names), "; did you mean \"name\"?");
        assert_eq!(did_you_mean("password", names), "");
    }
}
