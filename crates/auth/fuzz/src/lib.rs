//! The one token that was ever signed, and what is expected of tokens.

mod fixture;

pub use fixture::{ISSUER, KEY, NOW, OTHER_AUDIENCE, RESOURCE, TOKEN, expected};
