//! Any `requestState`: only the two signed states are opened, and a state comes back as it was, from its own process alone.

#![no_main]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use libfuzzer_sys::fuzz_target;
use protomcp_session::{RequestBinding, RequestState, RequestStateError, RequestStateKeys};
use protomcp_types::{JsonObject, RawJson};

/// Seconds since 1970.
const NOW: u64 = 1_900_000_000;
const LIFETIME: Duration = Duration::from_secs(300);

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let keys = RequestStateKeys::shared([[1; 32]]);
    let params = RawJson::parse(r#"{"name":"ask"}"#.to_owned()).expect("it is JSON");
    let params = JsonObject::from_raw(&params).expect("it is an object");
    let binding = RequestBinding::new("tools/call", params, None);
    let now = UNIX_EPOCH + Duration::from_secs(NOW);
    let seal = |state: &RequestState| keys.seal(state, binding.bound(), now, LIFETIME);
    let open = |token: &str, now: SystemTime| keys.open(token, || *binding.bound(), now);

    let signed = [RequestState::Own("state".into()), RequestState::Parked(keys.parked(7, "a"))];
    let opened = open(text, now);
    assert!(opened.is_err() || signed.iter().any(|state| seal(state) == text), "a forged state: {opened:?}");

    let own = RequestState::Own(text.into());
    let token = seal(&own);
    assert_eq!(open(&token, now), Ok(own));
    assert_eq!(open(&token, now + LIFETIME + Duration::from_secs(2)), Err(RequestStateError::TooOld));

    let parked = keys.parked(7, text);
    assert!(keys.is_parked_in(&parked, text) && (text == "b" || !keys.is_parked_in(&parked, "b")));
    let state = RequestState::Parked(parked);
    assert_eq!(open(&seal(&state), now), Ok(state));
});
