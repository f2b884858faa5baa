//! Names of protobuf for names of JSON.

/// `WebSearch` for `web_search`, `web-search` and `webSearch`. Never empty, and never begins with a digit.
pub(crate) fn pascal_case(name: &str) -> String {
    let mut made = String::new();
    let mut begins = true;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() {
            begins = true;
        } else if std::mem::take(&mut begins) {
            made.push(c.to_ascii_uppercase());
        } else {
            made.push(c);
        }
    }
    if made.starts_with(|c: char| c.is_ascii_digit()) || made.is_empty() {
        made.insert(0, 'M');
    }
    made
}

/// `max_results` for `maxResults`, `max-results` and `max_results`. Never empty, and begins with a letter.
pub(crate) fn snake_case(key: &str) -> String {
    let mut made = String::new();
    let mut was_lower = false;
    for c in key.chars() {
        if !c.is_ascii_alphanumeric() {
            if !made.ends_with('_') && !made.is_empty() {
                made.push('_');
            }
            was_lower = false;
            continue;
        }
        if c.is_ascii_uppercase() && was_lower {
            made.push('_');
        }
        was_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
        made.push(c.to_ascii_lowercase());
    }
    let made = made.trim_end_matches('_');
    if made.starts_with(|c: char| c.is_ascii_alphabetic()) {
        made.to_owned()
    } else {
        format!("f_{made}").trim_end_matches('_').to_owned()
    }
}

/// The JSON name that a field gets without an option (protobuf, "ProtoJSON Format").
pub(crate) fn default_json_name(field: &str) -> String {
    let mut made = String::new();
    let mut is_upper = false;
    for c in field.chars() {
        if c == '_' {
            is_upper = true;
        } else if std::mem::take(&mut is_upper) {
            made.push(c.to_ascii_uppercase());
        } else {
            made.push(c);
        }
    }
    made
}

/// The form by which a compiler tells the fields of one message apart.
pub(crate) fn folded(field: &str) -> String {
    field.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_style_of_protobuf() {
        for (name, pascal, snake) in [
            ("web_search", "WebSearch", "web_search"),
            ("maxResults", "MaxResults", "max_results"),
            ("per-page", "PerPage", "per_page"),
            ("$ref", "Ref", "ref"),
            ("2fa", "M2fa", "f_2fa"),
            ("", "M", "f"),
            ("ü", "M", "f"),
            ("URL", "URL", "url"),
            ("_x_", "X", "x"),
            ("a.b c", "ABC", "a_b_c"),
        ] {
            assert_eq!((pascal_case(name).as_str(), snake_case(name).as_str()), (pascal, snake), "{name}");
        }
        assert_eq!(default_json_name("max_results_2"), "maxResults2");
    }
}
