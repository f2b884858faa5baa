//! The one token that was ever signed, and the policy that it must meet.

mod fixture;

pub use fixture::{ISSUER, KEY, NOW, OTHER_AUDIENCE, RESOURCE, TOKEN, expected};
