//! The SDKs that this program lends to tool files.

use std::env;

use protomcp_lend::{Bundles, Lender, SdkCache};

use crate::args::choices::Sdk;

/// Lends by the choice of the user, from the user's folder for caches.
pub(crate) fn lender(choice: Sdk) -> Lender {
    let cache = SdkCache::of_user(|name| env::var_os(name));
    Lender::new(choice.into(), bundles(), cache.ok())
}

#[cfg(feature = "bundled-sdks")]
fn bundles() -> Option<Bundles> {
    Some(Bundles::OWN)
}

#[cfg(not(feature = "bundled-sdks"))]
fn bundles() -> Option<Bundles> {
    None
}
