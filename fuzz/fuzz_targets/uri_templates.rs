//! Any URI template and any URI: the template is read or refused, what it finds in a URI stands there, and what it makes it
//! finds again.
//!
//! The input is cut at its first line feed into the template and the URI.

#![no_main]

use libfuzzer_sys::fuzz_target;
use protomcp_types::UriTemplate;

fuzz_target!(|input: &str| {
    let (text, uri) = input.split_once('\n').unwrap_or((input, ""));
    let Ok(template) = UriTemplate::parse(text) else { return };
    assert_eq!(template.as_str(), text);
    assert_eq!(template.matches(uri), template.captures(uri).is_some());
    if let Some(found) = template.captures(uri) {
        for (name, value) in found.iter() {
            assert!(uri.contains(value), "{value:?} of {name:?} does not stand in {uri:?}");
            assert!(found.get(name).is_some());
        }
    }
    let made = template.expand(|_| Some("v"));
    // A list is made of one value, and a URI that is too long is not looked at.
    assert!(template.matches(&made) || text.contains('*') || made.len() > UriTemplate::MAX_URI, "{text:?} makes {made:?}");
});
