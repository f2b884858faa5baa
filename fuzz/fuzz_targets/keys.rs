//! Any key set: a token is valid if its key is in the set, whatever else the set holds, and invalid otherwise.

#![no_main]

use libfuzzer_sys::fuzz_target;
use protomcp_auth::{Algorithm, KeySet};
use protomcp_fuzz::auth::{KEY, TOKEN, expected};
use serde_json::Value;

fuzz_target!(|document: &[u8]| {
    let (expected, now) = expected();
    let is_good = |keys: &KeySet| keys.check(TOKEN, &Algorithm::ALL, &expected, now).is_ok();
    // A mark of the byte order at the start is skipped, as the product skips it.
    let json = document.strip_prefix(b"\xef\xbb\xbf").unwrap_or(document);
    let value: Option<Value> = serde_json::from_slice(json).ok();
    match KeySet::parse(document) {
        Ok(keys) => {
            let value = value.as_ref().expect("a key set is JSON");
            assert!(value["keys"].is_array());
            let has_key = value.to_string().contains("kZea0_xcJ0DaJKWxUqeBXo_kxIUjYwaoNCVd4ga0cYI");
            assert!(has_key || !is_good(&keys), "a stranger's key is taken");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let Some(Value::Object(mut members)) = value else { return };
    let Some(Value::Array(others)) = members.get_mut("keys") else { return };
    others.insert(0, serde_json::from_str(KEY).expect("a good key"));
    // A member that occurs twice is an error in the document; parsing it as a value keeps one.
    let keys = KeySet::parse(Value::Object(members).to_string().as_bytes()).expect("it has a key");
    assert!(is_good(&keys), "the key of the token is there");
});
